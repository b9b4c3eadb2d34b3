/** Sync mode: which round a copy of a unit takes next, and where it is after that. */
import { addRound } from '../../../core/pass-metrics.ts';
import type { RoundUpdate } from '../update/update.ts';
import type { OldValues } from './pre-image.ts';
import type { TimedRounds } from './unit-rounds.ts';

export type RoundsPlace = Omit<TimedRounds, 'previous'>;

/** `here`: the timeline of this pserver; undefined while it goes back to a cut. */
export function whyNotNext(
  { version, ...at }: RoundsPlace,
  here: number | undefined,
  { timeline, round }: RoundUpdate,
): string | undefined {
  return (
    whyOtherTimeline(at.timeline, here) ??
    whyOtherTimeline(timeline, here) ??
    (version === round ? undefined : `round ${round} comes to a unit at version ${version}`)
  );
}

/** What is of another timeline is of no use here, and what is here of none there. */
export const whyOtherTimeline = (timeline: number, here: number | undefined): string | undefined =>
  timeline === here ? undefined : `the unit is on timeline ${timeline}, and this pserver on ${here ?? 'none'}`;

/** Exactly what its primary did, so that the bits are the same. */
export function afterRound(
  { metrics: before }: RoundsPlace,
  { timeline, round, batches }: RoundUpdate,
  previous: OldValues,
): TimedRounds {
  const version = round + 1;
  return { timeline, version, previous, metrics: addRound(before, version, batches) };
}
