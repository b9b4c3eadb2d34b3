/**
 * Adopts a parting snapshot before its shards are taken. A snapshot is found by the token of the owner that announced
 * it, as long as the heads name that token. The next owner changes the heads when it takes the shards. So it first
 * makes the snapshot its own newest file. Otherwise, if it died before its first checkpoint, its successor would load
 * an older file.
 */
import { type Generation, generationsOf, readEntry } from '../../../checkpoint/registry/entry.ts';
import { deleteDropped, publish } from '../../../checkpoint/registry/publish.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { Fence } from '../../../store/fence.ts';
import { retryUntilAnswered, storeWaitLogger } from '../../../store/retry-until-answered.ts';
import { restingFiles } from './resting-files.ts';

export interface AdoptOptions {
  readonly context: Pick<RoleContext, 'host' | 'store' | 'keys' | 'stop'>;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly keep: number;
}

/**
 * Puts the snapshot first in the entry of this index, unless the entry already contains it. Throws `LeaseGone` if
 * another process has the index.
 */
export async function adoptParting(options: AdoptOptions, snapshot: Generation): Promise<void> {
  const { context, fence, index, folder, keep } = options;
  const { store, keys, stop } = context;
  const { storage, clock, log } = context.host;
  const key = keys.checkpoint(index);
  const { entry } = await retryUntilAnswered({ clock, log, store, signal: stop }, () => readEntry(store, key));
  // An earlier owner of the index has adopted the snapshot, and may have saved newer files since.
  if (entry !== undefined && generationsOf(entry).some(({ uuid }) => uuid === snapshot.uuid)) return;
  const onWaiting = storeWaitLogger({ clock, log, store });
  const { complaint, dropped } = await publish({
    ...{ store, clock, onWaiting, signal: stop, fence, keys, index, keep, generation: snapshot },
    readStaying: () => restingFiles(context),
  });
  if (complaint !== undefined) log.warn(complaint);
  for (const { path, error } of await deleteDropped(storage, { folder, index }, dropped)) {
    log.warn(`${path} could not be deleted: ${(error as Error).message}`);
  }
  log.info(`parting snapshot ${snapshot.uuid} is the newest checkpoint now`);
}
