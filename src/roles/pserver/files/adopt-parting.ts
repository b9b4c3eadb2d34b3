/**
 * A parting snapshot is found by the token of the owner that announced it, for as long as the heads of the shards name
 * that token. The next owner changes the heads when it takes the shards. So before that it makes the snapshot its own
 * newest file: otherwise, if it were lost before its first checkpoint, its successor would load an older file.
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
 * Puts the snapshot first in the index's entry, unless the entry has it. Throws `LeaseGone` when the index is
 * another's.
 */
export async function adoptParting(options: AdoptOptions, snapshot: Generation): Promise<void> {
  const { context, fence, index, folder, keep } = options;
  const { store, keys, stop } = context;
  const { disk, clock, log } = context.host;
  const key = keys.checkpoint(index);
  const { entry } = await retryUntilAnswered({ clock, log, store, signal: stop }, () => readEntry(store, key));
  // An owner before this one adopted it, and may have saved since.
  if (entry !== undefined && generationsOf(entry).some(({ uuid }) => uuid === snapshot.uuid)) return;
  const onWaiting = storeWaitLogger({ clock, log, store });
  const { complaint, dropped } = await publish({
    ...{ store, clock, onWaiting, signal: stop, fence, keys, index, keep, generation: snapshot },
    readStaying: () => restingFiles(context),
  });
  if (complaint !== undefined) log.warn(complaint);
  for (const { path, error } of await deleteDropped(disk, { folder, index }, dropped)) {
    log.warn(`${path} could not be deleted: ${(error as Error).message}`);
  }
  log.info(`parting snapshot ${snapshot.uuid} is the newest checkpoint now`);
}
