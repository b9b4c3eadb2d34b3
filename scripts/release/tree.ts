/** The committed files in a folder of their own, in which a release is made: what is not committed is not released. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export class Tree {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** The tree of HEAD, with the installed packages and the cache of the checkout `root`. */
  static async open(root: string): Promise<Tree> {
    const tree = new Tree(await mkdtemp(join(tmpdir(), 'paddlet-release-')));
    const tar = tree.path('tree.tar');
    await run('git', ['archive', '--format=tar', '-o', tar, 'HEAD'], { cwd: root });
    await run('tar', ['-xf', tar, '-C', tree.folder]);
    await rm(tar);
    for (const shared of ['node_modules', '.cache']) {
      await mkdir(join(root, shared), { recursive: true });
      await symlink(join(root, shared), tree.path(shared));
    }
    return tree;
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  read(file: string): Promise<string> {
    return readFile(this.path(file), 'utf8');
  }

  write(file: string, text: string): Promise<void> {
    return writeFile(this.path(file), text);
  }

  /** Makes the executable and gives its path. */
  async build(arch: 'x64' | 'arm64'): Promise<string> {
    for (const step of [['build-kernels.ts'], ['build-page.ts'], ['build.ts', '--arch', arch]]) {
      const [script, ...options] = step;
      await run(process.execPath, [this.path('scripts', script!), ...options], { cwd: this.folder });
    }
    return this.path('dist', arch === process.arch ? 'paddlet' : `paddlet-${arch}`);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
