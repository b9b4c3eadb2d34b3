import { discardUnpublished, publishRestored } from '../../checkpoint/registry/publish-restored.ts';
import { removeFormer } from '../../checkpoint/registry/remove-former.ts';
import type { Restored } from '../../checkpoint/restore/restore.ts';
import { parseHead } from '../../cluster/placement/heads.ts';
import type { Publishing } from './source.ts';

/** Makes the new files the job's checkpoints, or removes them again when that fails. */
export async function publish(publishing: Publishing, restored: Restored): Promise<void> {
  await publishOrDiscard(publishing, restored);
  const { job, quiet, isOfPublished } = publishing;
  if (!isOfPublished) return;
  const { host, keys, checkpointFolder: folder } = job;
  for (const { path, error } of await removeFormer({ storage: host.storage, folder, keys, quiet })) {
    host.log.warn(`${path} is no longer needed, but could not be deleted: ${(error as Error).message}`);
  }
}

async function publishOrDiscard({ job, quiet }: Publishing, restored: Restored): Promise<void> {
  const { host, store, keys, signal, limitMs } = job;
  const { clock, storage } = host;
  try {
    signal.throwIfAborted();
    const { generations } = restored;
    const timestamp = clock.wallSeconds();
    const led = quiet.heads.map(({ key, value }) => parseHead(key, value).primary.index);
    await publishRestored({ store, keys, clock, signal, limitMs, quiet, generations, led, timestamp });
  } catch (error) {
    await discardUnpublished(error, { storage, store, keys, files: restored });
    throw error;
  }
}
