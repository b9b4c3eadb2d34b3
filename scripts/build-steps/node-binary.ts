/** The pinned Node binary that the executable is made of. */
import { execFile } from 'node:child_process';
import { access, chmod, copyFile, mkdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface NodeBinary {
  readonly path: string;
  readonly version: string;
}

/**
 * A copy of Node without its symbol table (110 MB in place of 128), kept in `cacheFolder`. It must be stripped before
 * the injection: afterwards it no longer starts. Without `strip`, or with one for another architecture, Node as it is.
 */
export async function nodeBinary(root: string, cacheFolder: string, arch: string): Promise<NodeBinary> {
  const folder = await nodeFolder(root, arch);
  const version = await packageVersion(folder);
  const original = join(folder, 'bin', 'node');
  const stripped = join(cacheFolder, `node-${version}-${arch}-stripped`);
  if (await isThere(stripped)) return { path: stripped, version };
  await mkdir(cacheFolder, { recursive: true });
  const partial = `${stripped}.${process.pid}`;
  await copyFile(original, partial);
  await chmod(partial, 0o755);
  const tool =
    arch === process.arch ? 'strip' : { x64: 'x86_64-linux-gnu-strip', arm64: 'aarch64-linux-gnu-strip' }[arch];
  try {
    await run(tool ?? 'strip', [partial]);
  } catch (error) {
    process.stderr.write(
      `build: ${tool} failed, the executable will be larger: ${(error as Error).message.split('\n')[0]}\n`,
    );
    return { path: original, version };
  }
  if ((await stat(partial)).size === 0) throw new Error(`${tool} left nothing of ${original}`);
  await rename(partial, stripped);
  return { path: stripped, version };
}

/** npm installs the package of this machine's architecture only; of another one it is fetched on its own. */
async function nodeFolder(root: string, arch: string): Promise<string> {
  if (arch === process.arch) return join(root, 'node_modules', `node-linux-${arch}`);
  const { stdout } = await run(join(root, 'scripts/fetch-node.sh'), [arch]);
  return stdout.trim();
}

async function packageVersion(folder: string): Promise<string> {
  return (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
