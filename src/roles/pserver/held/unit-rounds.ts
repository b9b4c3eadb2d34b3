/** Sync mode: what a unit takes along to another pserver beside the state of its shards. */
import type { PassMetrics } from '../../../core/pass-metrics.ts';
import type { RoundUpdate } from '../update/update.ts';
import type { OwnedHead } from './owned-heads.ts';
import type { OldValues } from './pre-image.ts';

/** Lanes are not in it: their trainers have them. */
export interface UnitRounds {
  readonly version: number;
  /** Undefined when the version before cannot be read any more. */
  readonly previous: OldValues | undefined;
  readonly metrics: readonly PassMetrics[];
}

/** On the timeline that the unit is on. */
export interface TimedRounds extends UnitRounds {
  readonly timeline: number;
}

/** What the moves of units ask of the rounds of a pserver. */
export interface MovedRounds {
  /** Undefined while all shards go back to a cut. */
  timeline(): number | undefined;
  /** Of a unit that is led, as far as it concerns these shards. */
  stateOf(unit: number, shards: readonly number[]): TimedRounds;
  /** The unit has come; its shards are owned already. */
  add(unit: number, rounds: UnitRounds): void;
  /** The unit has gone, and is owned no more. */
  remove(unit: number): void;
  /** The head names this pserver, but all have gone back to a cut since the copy was made: it is of no use. */
  outdated(led: OwnedHead): void;
  /** Units that came so, and are led, have yet to be loaded from the cut. */
  hasOutdated(): boolean;
}

/** What the copies of units ask of the rounds of a pserver. */
export interface CopiedRounds extends MovedRounds {
  /** All copies of these units, which are led here, have the round. */
  commit(units: readonly number[], round: RoundUpdate): void;
  /** The unit is led here, and has yet to be loaded from the cut. */
  isOutdated(unit: number): boolean;
}
