/** Sync mode: what a unit takes along to another pserver beside the state of its shards. */
import type { PassMetrics } from '../../core/pass-metrics.ts';

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
