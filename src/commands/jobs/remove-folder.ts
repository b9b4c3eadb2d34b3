/**
 * Removes what paddlet writes into a job's folder, and nothing else. The store comes last: while it is there, the job
 * can be named, and an interrupted deletion repeated.
 */
import { join } from 'node:path';
import { removeEmptyFolder } from '../../base/files.ts';
import type { Disk } from '../../base/seams.ts';
import { badRecordFolder } from '../../data/bad-record-files.ts';
import { logFolder, removeLogs } from '../base/job-logs.ts';
import { removeListed } from '../base/listed-bad-records.ts';

/** `isOwn`: paddlet made the folder, so a job.yaml in it is the copy of a job file that was piped in. */
export async function removeJobEntries(disk: Disk, folder: string, { isOwn }: { isOwn: boolean }): Promise<void> {
  removeLogs(folder);
  removeListed(folder);
  const checkpoints = join(folder, 'checkpoints');
  for (const part of [join(checkpoints, 'kept'), checkpoints]) {
    if ((await disk.inspect(part))?.kind !== 'folder') continue;
    for (const name of await disk.list(part)) await removeIfEmpty(disk, join(part, name));
  }
  for (const part of [checkpoints, logFolder(folder), badRecordFolder(folder)]) await removeIfEmpty(disk, part);
  if (isOwn) await disk.remove(join(folder, 'job.yaml'));
}

/** The names of the files that stay. The caller has the lock, whose file goes after the store. */
export async function removeEmptyStore(disk: Disk, folder: string): Promise<string[]> {
  for (const name of ['run.json', 'store.db', 'store.db-wal', 'store.db-shm', 'run.lock']) {
    await disk.remove(join(folder, name));
  }
  // SQLite removes the journal of the lock at its release.
  return (await disk.list(folder)).filter((name) => name !== 'run.lock-journal');
}

async function removeIfEmpty(disk: Disk, folder: string): Promise<void> {
  if ((await disk.inspect(folder))?.kind === 'folder') await removeEmptyFolder(disk, folder);
}
