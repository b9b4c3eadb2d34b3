/**
 * Serves parts of this pserver's checkpoint files to pservers that cannot read its folder (peer-disk.ts). Each request
 * opens and closes the file, so a reader that does not come back leaves nothing open.
 */
import { PaddletError } from '../../../base/errors.ts';
import { withFile } from '../../../base/files.ts';
import type { Storage } from '../../../base/seams.ts';
import { asCorrupt, openFile } from '../../../checkpoint/file/files.ts';
import { checkpointPath } from '../../../checkpoint/file/paths.ts';
import type { Header, Reply } from '../requests/requests.ts';
import type { FileReads } from './file-reads.ts';

/** The files that this pserver serves. */
export interface ServedFiles {
  readonly storage: Storage;
  readonly folder: string;
  readonly index: number;
  readonly reads: FileReads;
}

/** Throws `WrongRole`, `CheckpointMissing`, `CheckpointCorrupt`, and `NotReady` if the disk fails. */
export async function serveFile(
  { storage, folder, index, reads }: ServedFiles,
  { index: wanted, uuid, offset, maxBytes }: Header<'readFile'>,
): Promise<Reply> {
  if (wanted !== index) throw new PaddletError('WrongRole', `this is pserver ${index}, not ${wanted}`);
  // Refuses names that could lead out of the folder.
  const path = checkpointPath({ folder, index }, uuid);
  return asRefusal(path, async () =>
    withFile(await openFile(storage, path), async (file) => {
      reads.asked(uuid);
      const bytes = await file.size();
      const part = new Uint8Array(Math.max(0, Math.min(maxBytes, bytes - offset)));
      const count = await file.read(part, offset);
      return { header: { type: 'readFile', bytes }, segments: [part.subarray(0, count)] };
    }),
  );
}

/** Turns errors of the operating system into `NotReady`, since they are not bugs of this process. */
async function asRefusal(path: string, read: () => Promise<Reply>): Promise<Reply> {
  try {
    return await asCorrupt(path, read);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error instanceof PaddletError) throw error;
    throw new PaddletError('NotReady', `${path} cannot be read: ${error.message}`, { cause: error });
  }
}
