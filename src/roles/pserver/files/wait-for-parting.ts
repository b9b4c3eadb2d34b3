/**
 * Waits for parting snapshots. A pserver that has lost its index saves its copies of units in a parting snapshot and
 * ends. A pserver that is to take these units waits for the snapshot. Without it, some acknowledged updates would have
 * to be repaired.
 */
import { backoffMs } from '../../../base/backoff.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { countedOn } from '../../../cluster/placement/heads.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';
import { type FormerState, lastState } from './last-state.ts';
import type { FileWait } from './wait-for-files.ts';

export interface PartingWait extends FileWait {
  readonly limitMs: number;
}

/**
 * Waits until the last state of the shards is known, no process may still be writing it, or the limit is reached. If
 * another process has claimed the index of a process, its supervisor has probably ended that process. Does not wait for
 * units with one copy.
 */
export async function waitForParting(wait: PartingWait, former: FormerState, shards: readonly number[]): Promise<void> {
  const { context, waitSignal, onWaiting, limitMs } = wait;
  const { clock, log } = context.host;
  if (countedOn(former).length === 1) return;
  const untilMs = clock.monotonicMs() + limitMs;
  for (let failures = 0; clock.monotonicMs() < untilMs; failures++) {
    const writing = await mayBeWriting(wait, former, shards);
    if (writing.length === 0) break;
    const what = `what pserver ${writing.join(', ')} may be writing down of its copies`;
    onWaiting(what);
    if (failures === 0) log.info(`waiting for ${what}, for at most ${limitMs / 1000} s`);
    await pauseOrAborted(clock, backoffMs(failures), waitSignal);
  }
  onWaiting(undefined);
}

/** Indexes of the processes that have not announced a snapshot yet; empty if the last state is already complete. */
async function mayBeWriting(
  { context }: Pick<PartingWait, 'context'>,
  former: FormerState,
  shards: readonly number[],
): Promise<number[]> {
  const { store, keys } = context;
  const { exact, shards: found, partedAt } = await lastState(context, former, shards);
  if (exact && found.length === shards.length) return [];
  const claims = await retryStore(context, () => store.range({ prefix: keys.psPrefix }));
  const claimed = new Set(claims.entries.map(({ key }) => key));
  const isWriting = (index: number, token: string): boolean =>
    partedAt.get(token) === 0n && !claimed.has(keys.ps(index));
  return countedOn(former).flatMap(({ index, token }) => (isWriting(index, token) ? [index] : []));
}
