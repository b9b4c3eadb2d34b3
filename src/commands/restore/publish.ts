import { discardUnpublished, publishRestored } from '../../checkpoint/registry/publish-restored.ts';
import type { Restored } from '../../checkpoint/restore/restore.ts';
import { storeWaitLogger } from '../../store/retry-until-answered.ts';
import type { Publishing } from './source.ts';

/** Makes the new files the job's checkpoints, or removes them again when that fails. */
export async function publish({ job, quiet }: Publishing, restored: Restored): Promise<void> {
  const { host, store, keys, signal, ask } = job;
  const { clock, disk } = host;
  const access = { ...ask, store, keys, onWaiting: storeWaitLogger(ask) };
  try {
    signal.throwIfAborted();
    const { generations } = restored;
    await publishRestored({ ...access, quiet, generations, timestamp: clock.wallSeconds() });
  } catch (error) {
    await discardUnpublished(error, { disk, store, keys, files: restored });
    throw error;
  }
}
