/**
 * The job of a simulated schedule in sync mode. Its gradients depend on the values they are computed from, and its
 * optimizer keeps state, so a lane computed from another version, folded twice, or in another order gives other bits:
 * the digest at the end must be that of a plain loop.
 */
import { shuffled } from '../../src/core/shuffle.ts';
import { jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import { settleRecords } from '../../src/job/settle-records.ts';
import { noMetrics } from '../../src/model/metrics.ts';
import type { Batch, Model, PulledValues, StepResult } from '../../src/model/model.ts';
import { plainShare } from '../sync/plain-schedule.ts';
import type { Dice } from './dice.ts';
import type { ClusterShape } from './shape.ts';
import {
  digestOf,
  filesOf,
  JOB_NAME,
  PARAMETERS,
  PASSES,
  SHARED_ID,
  sizesOf,
  TASKS,
  type Workload,
} from './workload.ts';

interface Shape {
  readonly recordsPerTask: number;
  readonly batchSize: number;
  readonly lanes: number;
}

const SHAPES: readonly Shape[] = [
  { recordsPerTask: 6, batchSize: 3, lanes: 4 },
  { recordsPerTask: 5, batchSize: 2, lanes: 5 },
  { recordsPerTask: 4, batchSize: 4, lanes: 3 },
  { recordsPerTask: 3, batchSize: 2, lanes: 2 },
];
const MOMENTUM = 0.5;
/** Nearly every round has a share of its own. */
const SCHEDULE = { type: 'cosine', passes: 1.5, final: 0.1, warmup: { passes: 0.5, from: 0.2 } } as const;

export function createRoundWorkload(dice: Dice, cluster: ClusterShape): Workload {
  const shape = dice.pick(SHAPES);
  const { recordsPerTask, ...training } = shape;
  const total = TASKS * recordsPerTask - dice.whole(0, recordsPerTask - 1);
  const records = Array.from({ length: total }, () => true);
  if (dice.chance(0.3))
    for (const task of [dice.whole(0, TASKS - 2), TASKS - 1]) records[task * recordsPerTask] = false;
  const hasCheckpoints = dice.chance(0.8);
  const seed = dice.whole(0, 1000);
  const file = jobFileSchema.parse({
    name: JOB_NAME,
    data: { train: 'train', format: 'libsvm', recordsPerTask, maxBadRecords: 1 },
    model: { type: 'lr' },
    optimizer: { type: 'momentum', learningRate: 1, momentum: MOMENTUM },
    training: { ...training, mode: 'sync', passes: PASSES, seed, schedule: SCHEDULE },
    cluster: { ...sizesOf(cluster), leaseTtl: dice.pick(['1s', '2s', '3s']) },
    tasks: { maxFailures: 20 },
    checkpoint: hasCheckpoints ? { interval: dice.pick(['200ms', '1s', '5s']), everyPasses: 1 } : { interval: 'off' },
  });
  return {
    job: settleRecords(resolveJob(file), recordsPerTask),
    files: filesOf(records, dice),
    records,
    hopeless: new Set(),
    poison: undefined,
    createModel: () => createRoundModel(),
    expected: (passes) => expectedResult({ ...shape, seed }, records, passes),
    roundsOf: (pass) => roundsOf({ ...shape, seed }, pass, total).length,
  };
}

/** The share that a row has of a batch, pulled towards 4 from where it stands. */
const rowGradient = (count: number, records: number, value: number): number =>
  Math.fround((count / records) * (0.25 * value - 1));
const denseGradient = (value: number): number => Math.fround(0.125 * value - 1);

function createRoundModel(): Model {
  const metricsOf = (records: number) => ({ ...noMetrics, records });
  function step(batch: Batch, values: PulledValues): StepResult {
    const { records } = batch;
    const { count: distinct, rows } = batch.sparse[0]!;
    const counts = new Uint32Array(distinct);
    for (const row of rows) counts[row]! += 1;
    const [pulled] = values.sparse;
    return {
      dense: [Float32Array.from(values.dense[0]!, denseGradient)],
      sparse: [Float32Array.from(counts, (count, row) => rowGradient(count, records, pulled![row]!))],
      metrics: metricsOf(records),
    };
  }
  return {
    type: 'rounds',
    input: 'sparse',
    task: 'binary',
    parameters: PARAMETERS,
    lookups: [0],
    step,
    evaluate: ({ records }) => ({ metrics: metricsOf(records), scores: new Float32Array(records) }),
  };
}

interface Parameter {
  value: number;
  velocity: number;
}

/** One process, no roles: what the rounds make by their definition (docs/protocol.md, `getPlan` and `pushLane`). */
function expectedResult(shape: Shape & { readonly seed: number }, records: readonly boolean[], passes = PASSES) {
  const rows = new Map<number, Parameter>();
  const dense: Parameter = { value: 0, velocity: 0 };
  let applied = 0;
  let bad = 0;
  for (let pass = 0; pass < passes; pass++) {
    const rounds = roundsOf(shape, pass, records.length);
    for (const [round, lanes] of rounds.entries()) {
      const good = lanes.map((batch) => batch.filter((record) => records[record]!));
      applied += good.flat().length;
      bad += lanes.flat().length - good.flat().length;
      const batches = good.filter((batch) => batch.length > 0);
      applyRound(rows, dense, batches, plainShare(SCHEDULE, pass + round / rounds.length));
    }
  }
  const values = new Map([...rows].map(([id, { value }]) => [id, value]));
  return { applied, bad, discarded: 0, discardedTasks: 0, modelDigest: digestOf(values, dense.value) };
}

/** For each round the records of each lane. */
function roundsOf({ recordsPerTask, batchSize, lanes, seed }: Shape & { seed: number }, pass: number, total: number) {
  const order = [...shuffled(TASKS, seed, pass)];
  const laneBatches = Array.from({ length: lanes }, (_, lane) =>
    order
      .filter((_, place) => place % lanes === lane)
      .flatMap((task) => {
        const first = task * recordsPerTask;
        const all = Array.from({ length: Math.min(recordsPerTask, total - first) }, (_, i) => first + i);
        return Array.from({ length: Math.ceil(all.length / batchSize) }, (_, b) =>
          all.slice(b * batchSize, (b + 1) * batchSize),
        );
      }),
  );
  const rounds = Math.max(...laneBatches.map((batches) => batches.length));
  return Array.from({ length: rounds }, (_, round) => laneBatches.map((batches) => batches[round] ?? []));
}

function applyRound(
  rows: Map<number, Parameter>,
  dense: Parameter,
  lanes: readonly (readonly number[])[],
  rate: number,
): void {
  const total = lanes.flat().length;
  if (total === 0) return;
  const sums = new Map<number, number>();
  let denseSum = 0;
  for (const batch of lanes) {
    const counts = new Map<number, number>();
    for (const id of batch.flatMap((record) => [record + 1, SHARED_ID])) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) {
      const gradient = rowGradient(count, batch.length, rows.get(id)?.value ?? 0);
      sums.set(id, Math.fround((sums.get(id) ?? 0) + batch.length * gradient));
    }
    denseSum = Math.fround(denseSum + batch.length * denseGradient(dense.value));
  }
  for (const [id, sum] of sums) {
    const row = rows.get(id) ?? { value: 0, velocity: 0 };
    rows.set(id, row);
    update(row, Math.fround(sum / total), rate);
  }
  update(dense, Math.fround(denseSum / total), rate);
}

/** Momentum. */
function update(parameter: Parameter, gradient: number, rate: number): void {
  parameter.velocity = Math.fround(Math.fround(MOMENTUM * parameter.velocity) + gradient);
  parameter.value = Math.fround(parameter.value - Math.fround(Math.fround(rate) * parameter.velocity));
}
