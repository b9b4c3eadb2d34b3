/**
 * A process with a copy of units that has lost its index writes the copy down and ends. Another one that is to take the
 * units waits for that: without it some of what was acknowledged would have to be repaired.
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
 * Until the last state of the shards is known, no process is left that may be writing it, or the limit is reached. One
 * whose index another process has by now has ended, as far as its supervisor goes. Waits for no unit of one copy.
 */
export async function untilParted(wait: PartingWait, former: FormerState, shards: readonly number[]): Promise<void> {
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

/** Indexes of those that have announced nothing; none when nothing is missing without them. */
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
