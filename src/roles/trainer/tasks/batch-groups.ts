/** The mini-batches of a task that one pull serves: `pullEvery` of them, from the first push that is to be made. */
import type { TaskRecords } from '../../../data/source.ts';
import type { Batch, Model } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import { type IdUnion, uniteIds } from '../compute/id-union.ts';

export interface BatchGroup {
  /** Number of its first mini-batch in the task. */
  readonly first: number;
  readonly batches: readonly Batch[];
  readonly union: IdUnion;
  /** How many pushes will carry its gradients. */
  readonly pushes: number;
}

export interface GroupOptions {
  readonly model: Pick<Model, 'lookups'>;
  readonly router: IdRouter;
  readonly batchSize: number;
  readonly pushEvery: number;
  readonly pullEvery: number;
}

/** A task without records has one empty batch: its push says that the task is closed. */
export const countBatches = ({ records }: TaskRecords, batchSize: number): number =>
  Math.max(1, Math.ceil(records / batchSize));

/** Made one by one: each holds its batches. */
export function* groupsOf(records: TaskRecords, firstPush: number, options: GroupOptions): Generator<BatchGroup> {
  const { model, router, batchSize, pushEvery, pullEvery } = options;
  const end = countBatches(records, batchSize);
  const positionOf = (batch: number): number => Math.min(batch * batchSize, records.records);
  for (let first = firstPush * pushEvery; first < end; first += pullEvery) {
    const count = Math.min(pullEvery, end - first);
    const batches = Array.from({ length: count }, (_, i) =>
      records.batch(positionOf(first + i), positionOf(first + i + 1)),
    );
    const pushes = Math.floor((first + count - 1) / pushEvery) - Math.floor(first / pushEvery) + 1;
    yield { first, batches, union: uniteIds(router, model, batches), pushes };
  }
}
