/**
 * Checkpoints that are kept under a name, whatever the pservers keep: `<folder>/kept/<job>/<name>/<index>/<uuid>`. Each
 * is a second name of a published file, so a set takes no room while the first name is there, and is a checkpoint
 * folder of its own.
 */
import { join } from 'node:path';
import type { Disk } from '../../base/seams.ts';
import { makeDurableFolder, removeEmptyFolder } from '../file/files.ts';
import { checkpointPath, indexFolder } from '../file/paths.ts';

export interface KeptFile {
  readonly index: number;
  readonly uuid: string;
}

export interface KeptPlace {
  readonly disk: Disk;
  /** The checkpoint folder of the job, which several jobs may share. */
  readonly folder: string;
  readonly job: string;
}

const folderOf = ({ folder, job }: KeptPlace): string => join(folder, 'kept', job);

export const keptPath = (place: KeptPlace, name: string): string => join(folderOf(place), name);

/** What was there under that name is replaced. Throws the disk's own errors: `ENOENT` when a file is gone. */
export async function keepFiles(place: KeptPlace, name: string, files: readonly KeptFile[]): Promise<void> {
  const { disk, folder } = place;
  const kept = keptPath(place, name);
  await removeKept(disk, kept);
  for (const [index, ofIndex] of Map.groupBy(files, (file) => file.index)) {
    const into = indexFolder({ folder: kept, index });
    await makeDurableFolder(disk, into);
    for (const { uuid } of ofIndex) {
      const to = checkpointPath({ folder: kept, index }, uuid);
      await disk.link(checkpointPath({ folder, index }, uuid), to);
    }
    await disk.syncFolder(into);
  }
}

/** Removes the sets of the job that have none of these names. */
export async function removeKeptBut(place: KeptPlace, names: readonly string[]): Promise<void> {
  const { disk } = place;
  const folder = folderOf(place);
  if ((await disk.inspect(folder))?.kind !== 'folder') return;
  for (const name of await disk.list(folder)) {
    if (!names.includes(name)) await removeKept(disk, join(folder, name));
  }
}

async function removeKept(disk: Disk, folder: string): Promise<void> {
  if ((await disk.inspect(folder))?.kind !== 'folder') return;
  for (const index of await disk.list(folder)) {
    const inside = join(folder, index);
    for (const file of await disk.list(inside)) await disk.remove(join(inside, file));
    await removeEmptyFolder(disk, inside);
  }
  await removeEmptyFolder(disk, folder);
}
