/** An update as those get it who follow a unit that another pserver leads. */
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { DensePart, SparsePart } from '../../../tensor/parameters.ts';
import type { ForwardedRound } from '../unit-rounds.ts';

/** An update that the source has applied, for those who follow it. */
export type ForwardedUpdate =
  | {
      readonly type: 'push';
      readonly push: PushPosition;
      /** Shards that applied it; the source's others had it before. */
      readonly shards: readonly number[];
      readonly rateScale: number;
      /** May also have rows and blocks of other units. */
      readonly dense: readonly DensePart[];
      readonly sparse: readonly SparsePart[];
    }
  | {
      readonly type: 'close';
      readonly tasks: readonly { readonly pass: number; readonly task: number; readonly records: number }[];
    }
  | ForwardedRound;
