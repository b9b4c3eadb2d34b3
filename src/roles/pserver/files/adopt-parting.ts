/**
 * A snapshot that an owner announced in parting is found by its token, as long as the heads of the shards name it. They name
 * the next owner from the moment it takes them, so the snapshot becomes that owner's newest file before: else a loss of the
 * next owner, before its own first checkpoint, would lead back to an older file.
 */
import { type Generation, generationsOf, readEntry } from '../../../checkpoint/registry/entry.ts';
import { deleteDropped, publish } from '../../../checkpoint/registry/publish.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { Fence } from '../../../store/fence.ts';
import { retryUntilAnswered, storeWaitLogger } from '../../../store/retry-until-answered.ts';

export interface AdoptOptions {
  readonly context: Pick<RoleContext, 'host' | 'store' | 'keys' | 'stop'>;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly keep: number;
}

/** Puts the snapshot at the head of the index's entry, unless it is in it. Throws `LeaseGone` when the index is another's. */
export async function adoptParting(options: AdoptOptions, snapshot: Generation): Promise<void> {
  const { context, fence, index, folder, keep } = options;
  const { store, keys, stop } = context;
  const { disk, clock, log } = context.host;
  const key = keys.checkpoint(index);
  const { entry } = await retryUntilAnswered({ clock, log, store, signal: stop }, () => readEntry(store, key));
  // It was adopted before, and its adopter may have saved since.
  if (entry !== undefined && generationsOf(entry).some(({ uuid }) => uuid === snapshot.uuid)) return;
  const onWaiting = storeWaitLogger({ clock, log, store });
  const { complaint, dropped } = await publish({
    ...{ store, clock, onWaiting, signal: stop, fence, key, keep, generation: snapshot },
  });
  if (complaint !== undefined) log.warn(complaint);
  for (const { path, error } of await deleteDropped(disk, { folder, index }, dropped)) {
    log.warn(`${path} could not be deleted: ${(error as Error).message}`);
  }
  log.info(`parting snapshot ${snapshot.uuid} is the newest checkpoint now`);
}
