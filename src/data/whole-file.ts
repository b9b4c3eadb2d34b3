/** Atomic writes: a file is complete or missing, since it has a separate name until everything is on the disk. */
import { basename, dirname, join } from 'node:path';
import type { Host } from '../base/seams.ts';

const PARTIAL = '.partial';

export type Append = (block: Uint8Array) => Promise<void>;

/** Removes what processes have started to write under that name, those that still do included: they fail then. */
export async function removePartial(disk: Host['disk'], path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await disk.list(folder)) {
    if (name.startsWith(`.${basename(path)}.`) && name.endsWith(PARTIAL)) await disk.remove(join(folder, name));
  }
}

/** A file of that name is replaced. Throws errors of the file system, and what `write` throws. */
export async function writeWhole<T>(
  { disk, random }: Pick<Host, 'disk' | 'random'>,
  path: string,
  write: (append: Append) => Promise<T>,
): Promise<T> {
  // Hidden, so that a folder of data has no such file.
  const partial = join(dirname(path), `.${basename(path)}.${random.uuid()}${PARTIAL}`);
  const file = await disk.create(partial);
  try {
    let result: T;
    try {
      let offset = 0;
      result = await write(async (block) => {
        await file.write(block, offset);
        offset += block.length;
      });
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(partial, path);
    return result;
  } catch (error) {
    await disk.remove(partial);
    throw error;
  }
}
