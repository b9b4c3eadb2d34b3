/** Sync mode: checks whether a round is the next one of a copy of a unit, and computes the state after the round. */
import { addRound } from '../../../core/pass-metrics.ts';
import type { RoundUpdate } from '../update/update.ts';
import type { OldValues } from './pre-image.ts';
import type { TimedRounds } from './unit-rounds.ts';

export type RoundsPlace = Omit<TimedRounds, 'previous'>;

/**
 * Returns why the round is not the next one of the unit; undefined if it is. `here`: the timeline of this pserver;
 * undefined while its shards go back to a cut. The caller has checked that the unit is not from before a return to a
 * cut.
 */
export function whyNotNext(
  { version }: Pick<RoundsPlace, 'version'>,
  here: number | undefined,
  { timeline, round }: RoundUpdate,
): string | undefined {
  return (
    whyOtherTimeline(timeline, here) ??
    (version === round ? undefined : `round ${round} comes to a unit at version ${version}`)
  );
}

/** Returns why a state of `timeline` cannot be used here; undefined if it can. */
export const whyOtherTimeline = (timeline: number, here: number | undefined): string | undefined =>
  timeline === here ? undefined : `the unit is on timeline ${timeline}, and this pserver on ${here ?? 'none'}`;

/** Computes exactly what the primary computed, so that the copies are bit-identical. */
export function afterRound(
  { metrics: before }: RoundsPlace,
  { timeline, round, batches }: RoundUpdate,
  previous: OldValues,
): TimedRounds {
  const version = round + 1;
  return { timeline, version, previous, metrics: addRound(before, version, batches) };
}
