/** A disk of its own, small enough to be filled: a tmpfs. It takes the right to mount. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PAGE = Buffer.alloc(4096, 1);

export class SmallDisk {
  readonly folder: string;
  readonly #filler: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.#filler = join(folder, 'filler');
  }

  /** Throws when this process may not mount. */
  static mount(bytes: number): SmallDisk {
    const folder = mkdtempSync(join(tmpdir(), 'paddlet-small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'paddlet-test', folder], { stdio: 'pipe' });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    return new SmallDisk(folder);
  }

  /** The reason to skip tests that need one, or undefined. */
  static whyNot(): string | undefined {
    try {
      SmallDisk.mount(65_536).unmount();
      return undefined;
    } catch {
      return 'this process may not mount a tmpfs';
    }
  }

  /** Takes all the space that is left. */
  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (;;) writeSync(file, PAGE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  freeUp(): void {
    rmSync(this.#filler);
  }

  unmount(): void {
    execFileSync('umount', ['--lazy', this.folder]);
    rmSync(this.folder, { recursive: true });
  }
}
