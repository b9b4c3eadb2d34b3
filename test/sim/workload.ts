/**
 * The job of a simulated schedule. Its model adds 1 to one row per record (and to one row and one dense parameter that
 * all records share), so the final values are the account of what was applied.
 */
import { createHash } from 'node:crypto';
import { type Job, jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import { settleRecords } from '../../src/job/settle-records.ts';
import { noMetrics } from '../../src/model/metrics.ts';
import type { Batch, Model, PulledValues, StepResult } from '../../src/model/model.ts';
import type { Dice } from './dice.ts';
import type { SimulatedProcess } from './process.ts';
import type { ClusterShape } from './shape.ts';

/** A row that every record touches. */
export const SHARED_ID = 1_000_000;
export const DENSE = 3;
/** It and the shared row lie on one pserver, so that some pushes have nothing for the other one. */
const DENSE_NAME = 'all';

export interface Workload {
  readonly job: Job;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Good or bad, in the order of the data. */
  readonly records: readonly boolean[];
  /** Tasks that no trainer can do: too many bad records, or a record that kills it. */
  readonly hopeless: ReadonlySet<number>;
  /** The record that kills the trainer that computes it. */
  readonly poison: number | undefined;
  /** `onPoison` is called in the middle of a step. */
  readonly createModel: (onPoison: () => void, process: SimulatedProcess) => Model;
  /** Fields of the result that are known beforehand, after so many passes: those of the job unless given. */
  readonly expected: (passes?: number) => Readonly<Record<string, unknown>>;
  /** Sync mode: rounds of a pass. */
  readonly roundsOf?: (pass: number) => number;
  /** Of a job that is evaluated while it trains. */
  readonly kept?: { readonly scoreOf: (name: string) => number; readonly names: Set<string> };
}

export const PASSES = 2;
export const TASKS = 20;
export const JOB_NAME = 'account';
export const DATA_DIR = '/data';

interface Shape {
  readonly recordsPerTask: number;
  readonly batchSize: number;
  readonly pushEvery: number;
  readonly pullEvery: number;
}

/** Several batches in one push are weighted by their records; only halves of equal batches are exact in floats. */
const SHAPES: readonly Shape[] = [
  { recordsPerTask: 6, batchSize: 3, pushEvery: 1, pullEvery: 1 },
  { recordsPerTask: 5, batchSize: 2, pushEvery: 1, pullEvery: 2 },
  { recordsPerTask: 8, batchSize: 2, pushEvery: 2, pullEvery: 1 },
  { recordsPerTask: 8, batchSize: 2, pushEvery: 2, pullEvery: 3 },
];

export function createWorkload(dice: Dice, cluster: ClusterShape): Workload {
  const shape = dice.pick(SHAPES);
  const { recordsPerTask, ...training } = shape;
  const isExact = shape.pushEvery > 1;
  const kind = dice.pick(['sound', 'sound', 'sound', 'bad', 'rotten', 'poison'] as const);
  const total = TASKS * recordsPerTask - (isExact ? 0 : dice.whole(0, recordsPerTask - 1));
  const records = Array.from({ length: total }, () => true);
  const unlucky = dice.whole(0, TASKS - 2);
  if (kind === 'bad' && !isExact) for (const task of [unlucky, TASKS - 1]) records[task * recordsPerTask] = false;
  if (kind === 'rotten') for (let i = 0; i < 3; i++) records[unlucky * recordsPerTask + i] = false;
  // In the first push, so that nothing of its task is applied before the task is given up.
  const recordsAPush = shape.batchSize * shape.pushEvery;
  const poison = kind === 'poison' ? unlucky * recordsPerTask + dice.whole(0, recordsAPush - 1) : undefined;
  const hasCheckpoints = dice.chance(0.6);
  const file = jobFileSchema.parse({
    name: JOB_NAME,
    data: { train: 'train', format: 'libsvm', recordsPerTask, maxBadRecords: 1 },
    model: { type: 'lr' },
    optimizer: { type: 'sgd', learningRate: 1 },
    training: { ...training, passes: PASSES, seed: dice.whole(0, 1000) },
    cluster: { ...sizesOf(cluster), leaseTtl: dice.pick(['1s', '2s', '3s']) },
    tasks: {
      maxFailures: kind === 'rotten' || kind === 'poison' ? 6 : 20,
      maxDiscarded: 1,
      timeoutFloor: dice.pick(['1s', '3s', '30s']),
    },
    checkpoint: hasCheckpoints ? { interval: dice.pick(['200ms', '1s', '5s']), everyPasses: 1 } : { interval: 'off' },
  });
  const hopeless = new Set(kind === 'rotten' || kind === 'poison' ? [unlucky] : []);
  const facts = {
    job: settleRecords(resolveJob(file), recordsPerTask),
    files: filesOf(records, dice),
    records,
    hopeless,
    poison,
  };
  return {
    ...facts,
    createModel: (onPoison) => createAccountModel(poison, onPoison),
    expected: (passes) => ({ ...expectedAccount(facts, passes) }),
  };
}

/** The part of the job file that says how large the cluster is. */
export function sizesOf({ pservers, mostPservers, trainers, shards, units, replicas, minInSync }: ClusterShape) {
  const copies = { replicas, minInSync, minPservers: minInSync };
  return { pservers, maxPservers: mostPservers, trainers, shards, units, ...copies };
}

export function filesOf(records: readonly boolean[], dice: Dice): Map<string, Uint8Array> {
  const lines = records.map((good, i) => (good ? `${i % 2} ${i + 1}:1 ${SHARED_ID}:1\n` : `1 ${i + 1}:x\n`));
  const cut = dice.whole(1, lines.length - 1);
  const bytes = (some: readonly string[]): Uint8Array => new TextEncoder().encode(some.join(''));
  return new Map([
    [`${DATA_DIR}/train/a`, bytes(lines.slice(0, cut))],
    [`${DATA_DIR}/train/b`, bytes(lines.slice(cut))],
  ]);
}

function createAccountModel(poison: number | undefined, onPoison: () => void): Model {
  const poisonId = poison === undefined ? undefined : BigInt(poison + 1);
  const metricsOf = (records: number) => ({ ...noMetrics, records });
  function step(batch: Batch, _values: PulledValues): StepResult {
    const { records } = batch;
    const { ids, count, rows } = batch.sparse[0]!;
    const numbers = new BigUint64Array(ids.slice(0, 8 * count).buffer);
    if (poisonId !== undefined && numbers.includes(poisonId)) onPoison();
    const gradient = new Float32Array(count);
    for (const row of rows) gradient[row]! -= 1;
    return { dense: [new Float32Array(DENSE).fill(-records)], sparse: [gradient], metrics: metricsOf(records) };
  }
  return {
    type: 'account',
    input: 'sparse',
    task: 'binary',
    parameters: PARAMETERS,
    lookups: [0],
    step,
    evaluate: ({ records }) => ({ metrics: metricsOf(records), scores: new Float32Array(records) }),
  };
}

export const PARAMETERS: Model['parameters'] = {
  dense: [{ name: DENSE_NAME, shape: [DENSE], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'rows', width: 1, initializer: { type: 'zeros' } }],
};

interface ExpectedAccount {
  readonly applied: number;
  readonly bad: number;
  readonly discarded: number;
  readonly discardedTasks: number;
  readonly modelDigest: string;
}

/** What each record must have done in the end, worked out from the data alone. */
function expectedAccount(workload: Pick<Workload, 'records' | 'hopeless' | 'job'>, passes = PASSES): ExpectedAccount {
  const { records, hopeless, job } = workload;
  const { recordsPerTask } = job.data;
  const rows = new Map<number, number>();
  const sums = { shared: 0, applied: 0, bad: 0, discarded: 0 };
  for (let pass = 0; pass < passes; pass++) {
    for (let task = 0; task < TASKS; task++) {
      const first = task * recordsPerTask;
      const last = Math.min(first + recordsPerTask, records.length);
      for (let record = first; record < last; record++) {
        if (hopeless.has(task)) sums.discarded += 1;
        else if (records[record]!) {
          const amount = 1 / job.training.pushEvery;
          rows.set(record + 1, (rows.get(record + 1) ?? 0) + amount);
          sums.shared += amount;
          sums.applied += 1;
        } else sums.bad += 1;
      }
    }
  }
  if (sums.applied > 0) rows.set(SHARED_ID, sums.shared);
  const { applied, bad, discarded, shared } = sums;
  const discardedTasks = passes * hopeless.size;
  return { applied, bad, discarded, discardedTasks, modelDigest: digestOf(rows, shared) };
}

/** The model digest as docs/operations.md has it: dense parameters, then tables, by name; rows by id. */
export function digestOf(rows: ReadonlyMap<number, number>, dense: number): string {
  const hash = createHash('sha256');
  const floats = (values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
  hash.update(`dense ${DENSE_NAME} ${DENSE}\n`);
  hash.update(floats(Array.from({ length: DENSE }, () => dense)));
  hash.update('sparse rows 1\n');
  for (const [id, value] of [...rows].sort(([a], [b]) => a - b)) {
    hash.update(new Uint8Array(BigUint64Array.of(BigInt(id)).buffer));
    hash.update(floats([value]));
  }
  return hash.digest('hex');
}
