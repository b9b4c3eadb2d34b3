/** What a master that takes over makes of the saved queue. */
import { PaddletError } from '../../base/errors.ts';
import type { QueueConfig } from './events.ts';
import type { DiscardedTask, PassTotals, SavedQueue } from './state.ts';

export interface RestoredQueue {
  readonly ended: readonly PassTotals[];
  /** Keyed by task number. */
  readonly discards: ReadonlyMap<number, DiscardedTask>;
}

/** `StoreValueInvalid` when what was saved cannot be of this job. */
export function restoreQueue(config: QueueConfig, { state, discarded, totals }: SavedQueue): RestoredQueue {
  const tasks = config.taskRecords.length;
  if (state.pass >= config.passes) throw invalid(`pass ${state.pass}: the job has ${config.passes}`);
  const discards = new Map<number, DiscardedTask>();
  for (const discard of discarded) {
    if (discard.task >= tasks) throw invalid(`discarded task ${discard.task}: the job has ${tasks}`);
    // One of a later pass was saved without the change of pass that came before it: nothing rests on it yet.
    if (discard.pass <= state.pass) discards.set(discard.task, discard);
  }
  const ended: PassTotals[] = [];
  for (let number = 0; number < state.pass + (state.phase === 'ended' ? 1 : 0); number++) {
    const ofPass = totals.get(number);
    if (ofPass === undefined) throw invalid(`the totals of pass ${number}, which has ended, are missing`);
    ended.push(ofPass);
  }
  return { ended, discards };
}

const invalid = (what: string): PaddletError => new PaddletError('StoreValueInvalid', `saved task queue: ${what}`);
