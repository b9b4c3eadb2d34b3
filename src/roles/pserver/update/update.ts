/**
 * An update of units: a push, a close of tasks, or the sum of a round. It contains all decisions of the primary. All
 * copies of a unit get the same updates in the same order (docs/copies.md, "Copies").
 */
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { MetricSums } from '../../../model/model.ts';
import type { DensePart, RoundGradients, SparsePart } from '../../../tensor/parameters.ts';

export type Update = PushUpdate | CloseUpdate | RoundUpdate;

/** Async mode: the gradients of a push. */
export interface PushUpdate {
  readonly type: 'push';
  readonly push: PushPosition;
  /** Shards that apply the push, each once. Other shards already have the push, or are in other parts of it. */
  readonly shards: readonly number[];
  /** Factor of the learning rate. */
  readonly rateScale: number;
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

/** Closes discarded tasks in the ledgers. */
export interface CloseUpdate {
  readonly type: 'close';
  readonly tasks: readonly ClosedTask[];
}

export interface ClosedTask {
  readonly pass: number;
  readonly task: number;
  readonly records: number;
}

/** Sync mode: the sum of all lanes of a round. */
export interface RoundUpdate extends RoundGradients {
  readonly type: 'round';
  readonly timeline: number;
  /** Version of the unit before the round. After the round, the unit is at version `round` + 1. */
  readonly round: number;
  /** Mini-batches in the order of their lanes. Lanes without a mini-batch are left out. */
  readonly batches: readonly { readonly position: PushPosition; readonly metrics: MetricSums }[];
}
