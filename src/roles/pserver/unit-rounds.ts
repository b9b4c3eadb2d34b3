/** Sync mode: what a unit takes along to another pserver beside the state of its shards, and what goes after it. */
import type { PassMetrics } from '../../core/pass-metrics.ts';
import type { PushPosition } from '../../core/shard/ledger.ts';
import type { MetricSums } from '../../model/model.ts';
import type { RoundGradients } from '../../tensor/parameters.ts';
import type { OwnedHead } from './owned-heads.ts';

interface OldBlocks {
  readonly parameter: number;
  readonly blocks: Uint32Array;
  /** One after the other, f32. */
  readonly values: Uint8Array;
}

interface OldRows {
  readonly table: number;
  /** Each once, u64 little-endian. */
  readonly ids: Uint8Array;
  /** One row for each id; a row that did not exist has its initial value, as in the answer to a pull. */
  readonly values: Uint8Array;
}

/** What a round changed, as it was before. A parameter or table comes once. */
export interface OldValues {
  readonly dense: readonly OldBlocks[];
  readonly sparse: readonly OldRows[];
}

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

/** A round that all shards of a unit have applied. */
export interface ForwardedRound extends RoundGradients {
  readonly type: 'round';
  readonly timeline: number;
  /** The unit is at the version above it now. */
  readonly round: number;
  /** In the order of their lanes. Lanes without a mini-batch are left out. */
  readonly batches: readonly { readonly position: PushPosition; readonly metrics: MetricSums }[];
}

/** What the moves of units ask of the rounds of a pserver. */
export interface MovedRounds {
  /** Undefined while all shards go back to a cut. */
  timeline(): number | undefined;
  /** What the learning rate is multiplied by in that round: the same for all copies. */
  rateShareOf(round: number): number;
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
  commit(units: readonly number[], round: ForwardedRound): void;
  /** The unit is led here, and has yet to be loaded from the cut. */
  isOutdated(unit: number): boolean;
}
