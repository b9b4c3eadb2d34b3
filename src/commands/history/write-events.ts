/** The event file of a job: appears when it is whole, and takes the place of an older one of the same job alone. */
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type EventFile, eventFile, fileBegin } from './event-file.ts';

export interface WriteEvents extends EventFile {
  readonly folder: string;
  readonly job: string;
  readonly jobId: string;
}

/** TensorBoard takes files in the order of these seconds. */
const nameOf = ({ job, jobId, created }: WriteEvents): string =>
  `events.out.tfevents.${Math.floor(created)}.${job}.${jobId.slice(0, 8)}`;

/** The path. Throws `Usage` when another file has it. */
export async function writeEvents({ disk, random }: Host, events: WriteEvents): Promise<string> {
  const { folder } = events;
  const path = join(folder, nameOf(events));
  await disk.makeFolder(folder);
  if (await disk.exists(path)) await checkOwn(disk, path, fileBegin(events.created));
  // TensorBoard reads every file that has `tfevents` in its name.
  const partial = join(folder, `${random.uuid()}.part`);
  const file = await disk.create(partial);
  try {
    try {
      await file.write(eventFile(events), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(partial, path);
  } catch (error) {
    await disk.remove(partial);
    throw error;
  }
  await disk.syncFolder(folder);
  return path;
}

async function checkOwn(disk: Host['disk'], path: string, begin: Buffer): Promise<void> {
  const file = await disk.open(path);
  try {
    const found = Buffer.alloc(begin.length);
    await file.read(found, 0);
    if (found.equals(begin)) return;
  } finally {
    await file.close();
  }
  throw new PaddletError('Usage', `${path} already exists and belongs to another job`, {
    hint: 'choose another folder with --output',
  });
}
