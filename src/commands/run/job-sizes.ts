/** How large the model of a job is, and how much work a pass: what is known before anything is trained. */
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { createRoundPlan } from '../../core/rounds/plan.ts';
import { planUnits } from '../../core/units/plan.ts';
import { unitOf } from '../../core/units/units.ts';
import { type Column, vocabularyOf } from '../../data/columns/column.ts';
import { columnSpecOf, type Job } from '../../job/schema.ts';
import { blockCount, blockLength, blockShards, elementCount } from '../../tensor/blocks.ts';
import { optimizerLayout, type TrainedSpec } from '../../tensor/optimizer.ts';
import { rowBytes, rowLayout } from '../../tensor/stored-tables.ts';

export interface Work {
  readonly of: 'mini-batches' | 'rounds';
  /** In sync mode of the first pass: the others have another order of tasks. */
  readonly perPass: number;
  readonly total: number;
  /** False where rounds of many passes were not counted one by one. */
  readonly isExact: boolean;
}

/** Tasks of all passes, which are put in an order to count the rounds. */
const MOST_COUNTED = 1_000_000;

export function workOf({ training }: Job, taskRecords: Uint32Array): Work {
  const { mode, passes, batchSize, lanes, seed } = training;
  if (mode === 'sync') {
    const plan = createRoundPlan({ taskRecords, batchSize, passes, lanes, seed });
    const perPass = plan.roundsOf(0);
    const isExact = passes * taskRecords.length <= MOST_COUNTED;
    return { of: 'rounds', perPass, total: isExact ? plan.firstOf(passes) : passes * perPass, isExact };
  }
  const perPass = taskRecords.reduce((sum, records) => sum + Math.max(1, Math.ceil(records / batchSize)), 0);
  return { of: 'mini-batches', perPass, total: passes * perPass, isExact: true };
}

export interface ParameterSize {
  readonly name: string;
  readonly optimizer: string;
  /** Shape of a dense parameter. */
  readonly shape?: readonly number[];
  /** Bytes of a row of a table. */
  readonly rowBytes?: number;
  /** Undefined if the data can have any number of ids. */
  readonly rowsAtMost?: number;
  /** Bytes including optimizer state, as in checkpoints; for a table, the maximum. Undefined if unknown. */
  readonly bytes?: number;
}

const FLOAT_BYTES = 4;
const STEP_BYTES = 4;

export function parameterSizes(spec: TrainedSpec, record: JobRecord): ParameterSize[] {
  const rowsAtMost = featuresAtMost(record);
  const dense = spec.dense.map(({ name, shape, optimizer }): ParameterSize => {
    const { slots, steps } = optimizerLayout(optimizer);
    const floats = elementCount({ shape }) * (1 + slots.length);
    const bytes = FLOAT_BYTES * floats + (steps ? STEP_BYTES * blockCount({ shape }) : 0);
    return { name, optimizer: optimizer.type, shape, bytes };
  });
  const sparse = spec.sparse.map((table): ParameterSize => {
    const { name, width, optimizer, shardBytes } = table;
    const bytesOfRow = rowBytes(width, rowLayout(table));
    const bounds = [
      ...(rowsAtMost === undefined ? [] : [rowsAtMost]),
      ...(shardBytes === undefined ? [] : [record.job.cluster.shards * Math.floor(shardBytes / bytesOfRow)]),
    ];
    const most = Math.min(...bounds);
    const known = bounds.length === 0 ? {} : { rowsAtMost: most, bytes: most * bytesOfRow };
    return { name, optimizer: optimizer.type, rowBytes: bytesOfRow, ...known };
  });
  return [...dense, ...sparse];
}

/** Dense bytes with optimizer state that each of the pservers leads, once their units are spread. */
export function denseBytesByPserver({ dense }: TrainedSpec, { job, units }: JobRecord, pservers: number): number[] {
  const ofUnit = new Array<number>(units).fill(0);
  for (const one of dense) {
    const { slots } = optimizerLayout(one.optimizer);
    for (const [block, shard] of blockShards(one, job.cluster.shards).entries()) {
      ofUnit[unitOf(shard, units)]! += FLOAT_BYTES * blockLength(one, block) * (1 + slots.length);
    }
  }
  const plan = planUnits({
    units: ofUnit.map((bytes, unit) => ({ unit, bytes, leader: undefined, last: undefined })),
    pservers: Array.from({ length: pservers }, (_, index) => ({ index, leaving: false })),
  });
  const led = new Array<number>(pservers).fill(0);
  for (const [unit, index] of plan) led[index]! += ofUnit[unit]!;
  return led;
}

/** Different ids that features of the data can have; undefined when it may be any number. */
function featuresAtMost({ job, train }: JobRecord): number | undefined {
  const spec = columnSpecOf(job);
  if (spec === undefined) {
    const bound = Number(train.featureBound);
    return bound <= Number.MAX_SAFE_INTEGER ? bound : undefined;
  }
  const byVocabulary = new Map<string, number>();
  for (const column of spec.columns) {
    const [vocabulary, ids] = idsOf(column);
    byVocabulary.set(vocabulary, Math.max(ids, byVocabulary.get(vocabulary) ?? 0));
  }
  const all = [...byVocabulary.values()].reduce((sum, ids) => sum + ids, 0);
  return Number.isFinite(all) ? all : undefined;
}

/** The vocabulary of a column's ids, and the maximum number of its ids. A missing value has an id, too. */
function idsOf(column: Column): [string, number] {
  switch (column.type) {
    case 'number':
      return [column.name, (column.quantiles ?? 1) + 1];
    case 'category':
    case 'categories':
      return [vocabularyOf(column) ?? column.name, (column.buckets ?? Number.POSITIVE_INFINITY) + 1];
    case 'cross':
      return [column.name, column.buckets ?? Number.POSITIVE_INFINITY];
    default:
      return [column.name, 0];
  }
}
