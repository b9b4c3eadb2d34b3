/**
 * `data.recordsPerTask: auto`: the size of tasks. The number of processes must not matter: a job may be resized, and in
 * sync mode its result must not depend on them.
 */
import { LIMITS } from '../base/limits.ts';

export interface Batches {
  readonly batchSize: number;
  readonly lanes: number;
}

/** A task this large costs little to hand out. */
const USUAL_RECORDS = 8192;
const BATCHES_PER_TASK = 8;
/** With fewer tasks, some lanes or trainers would be idle for much of a pass. */
const TASKS_PER_LANE = 4;
/** Handing out and ending a task costs as much as several batches of a small model. */
const LEAST_BATCHES_PER_TASK = 4;

export function recordsPerTaskFor({ records, batchSize, lanes }: Batches & { readonly records: number }): number {
  const shared = Math.min(usual(batchSize), Math.ceil(records / (TASKS_PER_LANE * lanes)));
  const batchesPerLane = Math.floor(Math.ceil(records / batchSize) / lanes);
  const few = Math.min(LEAST_BATCHES_PER_TASK, batchesPerLane) * batchSize;
  return wholeBatches(Math.max(shared, few, Math.ceil(records / LIMITS.tasks)), batchSize);
}

/** The size of the tasks of large data, whose number of records is not known yet. */
export const recordsPerLargeTask = ({ batchSize }: Pick<Batches, 'batchSize'>): number =>
  wholeBatches(usual(batchSize), batchSize);

const usual = (batchSize: number): number => Math.max(USUAL_RECORDS, BATCHES_PER_TASK * batchSize);

/** Never 0. */
const wholeBatches = (records: number, batchSize: number): number =>
  Math.max(1, Math.ceil(records / batchSize)) * batchSize;
