/**
 * An update of units: a push, a close of tasks, or the sum of a round. The primary has decided what it does. All copies
 * of a unit get the same updates in the same order (docs/copies.md, "Copies").
 */
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { MetricSums } from '../../../model/model.ts';
import type { DensePart, RoundGradients, SparsePart } from '../../../tensor/parameters.ts';

export type Update = PushUpdate | CloseUpdate | RoundUpdate;

/** Async mode: the gradients of a push. */
export interface PushUpdate {
  readonly type: 'push';
  readonly push: PushPosition;
  /** Shards that apply it, each once. Other shards have it already, or are in other parts of it. */
  readonly shards: readonly number[];
  /** What the learning rate is multiplied by. */
  readonly rateScale: number;
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

/** Discarded tasks are closed in the ledgers. */
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
  /** After it, the unit is at the next version. */
  readonly round: number;
  /** In the order of their lanes. Lanes without a mini-batch are left out. */
  readonly batches: readonly { readonly position: PushPosition; readonly metrics: MetricSums }[];
}
