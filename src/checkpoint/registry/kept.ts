/**
 * Checkpoints that are kept under a name, whatever the pservers keep: `<folder>/kept/<job>/<name>/<index>/<uuid>`. Each
 * is a second name of a published file, so a set takes no room while the first name is there, and is a checkpoint
 * folder of its own.
 */
import { join } from 'node:path';
import type { Disk } from '../../base/seams.ts';
import { makeDurableFolder, removeEmptyFolder } from '../file/files.ts';
import { checkpointPath, indexFolder, jobTag } from '../file/paths.ts';

export interface KeptFile {
  readonly index: number;
  readonly uuid: string;
}

/** The sets of one job. */
export interface KeptPlace {
  readonly disk: Disk;
  /** The checkpoint folder of the job, which several jobs may share, even of one name. */
  readonly folder: string;
  readonly job: { readonly id: string; readonly name: string };
}

const folderOf = ({ folder, job }: Pick<KeptPlace, 'folder' | 'job'>): string =>
  join(folder, 'kept', `${job.name}.${jobTag(job.id)}`);

export const keptPath = (place: Pick<KeptPlace, 'folder' | 'job'>, name: string): string => join(folderOf(place), name);

/**
 * Adds the files to the set of that name. What a master before left there of the same point stays: of each shard the
 * newest copy counts. Throws the disk's own errors: `ENOENT` if a file does not exist.
 */
export async function keepFiles(place: KeptPlace, name: string, files: readonly KeptFile[]): Promise<void> {
  const { disk, folder } = place;
  const kept = keptPath(place, name);
  for (const [index, ofIndex] of Map.groupBy(files, (file) => file.index)) {
    const into = indexFolder({ folder: kept, index });
    await makeDurableFolder(disk, into);
    for (const { uuid } of ofIndex) {
      const to = checkpointPath({ folder: kept, index }, uuid);
      if (!(await disk.exists(to))) await disk.link(checkpointPath({ folder, index }, uuid), to);
    }
    await disk.syncFolder(into);
  }
}

/** Names of the sets that exist. */
export async function keptNames(place: KeptPlace): Promise<string[]> {
  const { disk } = place;
  const folder = folderOf(place);
  return (await disk.inspect(folder))?.kind === 'folder' ? disk.list(folder) : [];
}

export async function removeKept(place: KeptPlace, name: string): Promise<void> {
  const { disk } = place;
  const folder = keptPath(place, name);
  for (const index of await disk.list(folder)) {
    const inside = join(folder, index);
    for (const file of await disk.list(inside)) await disk.remove(join(inside, file));
    await removeEmptyFolder(disk, inside);
  }
  await removeEmptyFolder(disk, folder);
}

/** All sets of the job. */
export async function removeAllKept(place: KeptPlace): Promise<void> {
  for (const name of await keptNames(place)) await removeKept(place, name);
  await removeEmptyFolder(place.disk, folderOf(place));
}
