/** A live dispatch of a task, and the clock that runs while its trainer works on it. */
import type { Phase } from './task-events.ts';

export interface Attempt {
  readonly attempt: number;
  readonly trainer: string;
  executing: boolean;
  startPosition: number;
  position: number;
  phase: Phase;
  /** Time worked, waits left out, up to `countedAt`. */
  ranMs: number;
  countedAt: number;
}

export interface OpenTask {
  last: number;
  failures: number;
  attempts: Attempt[];
}

/** Phases in which the trainer itself is at work; in the others it waits for someone else and its clock stands still. */
export const WORKING: ReadonlySet<Phase> = new Set(['start', 'read', 'compute']);

/** Counts the work on the attempt up to `at`; waits are left out. */
export function countWork(attempt: Attempt, at: number): void {
  if (attempt.executing && WORKING.has(attempt.phase)) attempt.ranMs += at - attempt.countedAt;
  attempt.countedAt = at;
}

export function newAttempt(attempt: number, trainer: string, now: number): Attempt {
  return {
    attempt,
    trainer,
    executing: false,
    startPosition: 0,
    position: 0,
    phase: 'idle',
    ranMs: 0,
    countedAt: now,
  };
}
