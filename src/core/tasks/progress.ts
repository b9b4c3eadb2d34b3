/** What a trainer says of the attempts that it holds: which one it works on, and how far that has come. */
import { type Attempt, countWork } from './attempt.ts';
import type { QueueEvent } from './events.ts';
import type { TaskPass } from './pass.ts';
import type { Timeouts } from './timeouts.ts';

export interface Watched {
  readonly open: TaskPass['open'];
  readonly timeouts: Timeouts;
  readonly taskRecords: Uint32Array;
}

/** `current`: the attempt that it executes, if it is one of this queue and live. */
export function noteProgress(
  watched: Watched,
  { trainer, executing, phase }: Extract<QueueEvent, { type: 'progress' }>,
  current: Attempt | undefined,
  now: number,
): void {
  for (const attempt of watched.open.heldBy(trainer)) {
    countWork(attempt, now);
    attempt.phase = phase;
    attempt.executing = attempt === current;
    if (attempt.executing && !attempt.hasBegun) {
      attempt.hasBegun = true;
      attempt.movedAt = now;
      attempt.since = now;
    }
    if (attempt.executing && executing !== undefined) moved(watched, attempt, executing.position, now);
    watched.timeouts.watch(attempt);
  }
}

function moved({ open, taskRecords }: Watched, attempt: Attempt, reported: number, now: number): void {
  // A push has a record at least: no task comes further, whatever its trainer says.
  const position = Math.min(reported, Math.max(1, taskRecords[attempt.task]!));
  if (position > attempt.position) attempt.movedAt = now;
  attempt.position = Math.max(attempt.position, position);
  const entry = open.get(attempt.task)!;
  entry.position = Math.max(entry.position, attempt.position);
}
