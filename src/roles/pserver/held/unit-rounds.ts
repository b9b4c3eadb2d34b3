/** Sync mode: the rounds state that a unit takes along to another pserver, in addition to the state of its shards. */
import type { PassMetrics } from '../../../core/pass-metrics.ts';
import type { RoundUpdate } from '../update/update.ts';
import type { OwnedHead } from './owned-heads.ts';
import type { OldValues } from './pre-image.ts';

/** The rounds state of a unit, without lanes: trainers keep the lanes, and push them to the next primary. */
export interface UnitRounds {
  readonly version: number;
  /** Old values of what the last round changed; undefined if the previous version can no longer be read. */
  readonly previous: OldValues | undefined;
  readonly metrics: readonly PassMetrics[];
}

/** The rounds state of a unit, with the timeline of the unit. */
export interface TimedRounds extends UnitRounds {
  readonly timeline: number;
}

/** The functions of a pserver's rounds that moves of units use. */
export interface MovedRounds {
  /** The timeline of this pserver; undefined while its shards go back to a cut. */
  timeline(): number | undefined;
  /** Returns the rounds state of a unit that this pserver leads. The old values are limited to these shards. */
  stateOf(unit: number, shards: readonly number[]): TimedRounds;
  /** Adds a unit that this pserver now leads. Its shards must already be owned. */
  add(unit: number, rounds: UnitRounds): void;
  /** Removes a unit that this pserver no longer owns. */
  remove(unit: number): void;
  /**
   * Call this if a head names this pserver as primary, but all pservers have gone back to a cut since the copy was
   * made. Such a copy cannot be used.
   */
  outdated(led: OwnedHead): void;
  /** Whether this pserver leads outdated units that it has not loaded from the cut yet. */
  hasOutdated(): boolean;
}

/** The functions of a pserver's rounds that copies of units use. */
export interface CopiedRounds extends MovedRounds {
  /** Applies the round to these units, which this pserver leads. All in-sync copies must have the round. */
  commit(units: readonly number[], round: RoundUpdate): void;
  /** Whether this pserver leads the unit, but has not loaded it from the cut yet. */
  isOutdated(unit: number): boolean;
}
