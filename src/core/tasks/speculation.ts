/**
 * Which pending task an idle trainer should get a copy of: one that takes far longer than the tasks done so far did
 * (docs/design.md §4 "Speculation"; seeds/checkpointing.zh.md). Safe because the ledgers drop what both attempts push.
 */
import type { Attempt, OpenTask } from './attempt.ts';

/** An attempt is a straggler at this many times the mean time of a task. */
const FACTOR = 2;
/** Fewer finished tasks say nothing. */
const LEAST_FINISHED = 3;
/** Below this a copy costs more than it can save. */
const LEAST_MS = 200;
/** Live attempts that a task may have. */
const MOST_ATTEMPTS = 2;

export interface Pace {
  /** Notes how long a finished attempt took, waits included. */
  finished(tookMs: number): void;
  /** Age from which an attempt is a straggler; undefined while too little is known. */
  stragglerMs(): number | undefined;
}

export function createPace(): Pace {
  let finished = 0;
  let totalMs = 0;
  return {
    finished(tookMs) {
      finished += 1;
      totalMs += tookMs;
    },
    stragglerMs: () => (finished < LEAST_FINISHED ? undefined : Math.max(LEAST_MS, (FACTOR * totalMs) / finished)),
  };
}

export interface Straggler {
  readonly attempt: Attempt;
  /** When it becomes one, on the clock of `Attempt.since`. */
  readonly dueMs: number;
}

/** The oldest attempt that `trainer` could copy, whether it is a straggler yet or not. */
export function oldestToCopy(entries: Iterable<OpenTask>, trainer: string, stragglerMs: number): Straggler | undefined {
  let oldest: Attempt | undefined;
  for (const { attempts } of entries) {
    if (attempts.size === 0 || attempts.size >= MOST_ATTEMPTS) continue;
    for (const attempt of attempts) {
      if (attempt.trainer === trainer) continue;
      if (oldest === undefined || attempt.since < oldest.since) oldest = attempt;
    }
  }
  return oldest && { attempt: oldest, dueMs: oldest.since + stragglerMs };
}
