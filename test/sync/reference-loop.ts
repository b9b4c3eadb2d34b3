/**
 * What a job in sync mode computes, as one loop over its data: no roles, no sockets, no kernels, rows in a Map
 * (docs/modes.md). There are shards only if a table admits or evicts (limited-tables.ts). This is the definition of the
 * answer: whatever cluster the job runs on, whatever dies, the digests must be these. The loop reads data as the
 * trainers do; models, the plan, the gradient of a round, first values, optimizers and digests are written
 * independently, from the documents.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shuffledTask } from '../../src/core/shuffle.ts';
import type { DataPlace } from '../../src/data/place.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createRandom } from '../../src/host/random.ts';
import { type Job, jobFileSchema, resolveJob } from '../../src/job/schema.ts';
import type { Batch, MetricSums, Model } from '../../src/model/model.ts';
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';
import type { DenseSpec } from '../../src/tensor/spec.ts';
import { asPublished } from '../cluster/job/stored-job.ts';
import { freshState, initialValue, joined, type State, updateReference } from '../tensor/reference.ts';
import { areLimited, type LimitCounts, LimitedTables } from './limited-tables.ts';
import { type PlainBatch, plainPlan } from './plain-plan.ts';
import { plainShare, withShare } from './plain-schedule.ts';
import {
  EveryRow,
  isCounting,
  type PlainRound,
  type PlainTable,
  plainTables,
  type TableMemory,
} from './plain-tables.ts';
import { readJob } from './read-job.ts';

export interface ReferenceResult {
  readonly modelDigest: string;
  readonly stateDigest: string;
  /** Good records, each once a pass. */
  readonly applied: number;
  /** Sums over the mini-batches of each pass, in the order of rounds and lanes. */
  readonly passes: readonly MetricSums[];
  /** Rounds of each pass. */
  readonly rounds: readonly number[];
  /** Undefined: no table admits or evicts. */
  readonly limits?: LimitCounts | undefined;
}

/** Of a job as its file says it, with the data in a folder; nothing is written there. */
export async function referenceOf(jobFile: unknown, folder: string): Promise<ReferenceResult> {
  const cacheFolder = mkdtempSync(join(tmpdir(), 'paddlet-reference-'));
  const quiet = (): void => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  try {
    const host = { disk: createDisk(), clock: createClock(), random: createRandom(), log };
    return await referenceLoop(asPublished(resolveJob(jobFileSchema.parse(jobFile))), { host, folder, cacheFolder });
  } finally {
    rmSync(cacheFolder, { recursive: true, force: true });
  }
}

export async function referenceLoop(job: Job, place: DataPlace): Promise<ReferenceResult> {
  if (job.warmStart !== undefined) throw new Error('the reference loop begins with first values only');
  const { model, tasks } = await readJob(job, place);
  return trainPlainly(job, model, tasks);
}

/** What decides the answer, beside the data. */
export type PlainJob = Pick<Job, 'optimizer' | 'tables' | 'blocks'> & {
  readonly training: Pick<
    Job['training'],
    'batchSize' | 'passes' | 'lanes' | 'seed' | 'onBadGradient' | 'maxGradientNorm' | 'classWeights' | 'schedule'
  >;
  readonly data?: Pick<Job['data'], 'shuffle'>;
  /** Required if a table admits or evicts. */
  readonly cluster?: Pick<Job['cluster'], 'shards'>;
};

/** `tasksOf`: the records of each task, by pass if a test has other records in each pass, but as many. */
export function trainPlainly(
  job: PlainJob,
  model: Model,
  tasksOf: readonly TaskRecords[] | ((pass: number) => readonly TaskRecords[]),
): ReferenceResult {
  const tasksIn = typeof tasksOf === 'function' ? tasksOf : () => tasksOf;
  const tasks = tasksIn(0);
  const memory = new PlainMemory(model, job, tasks.length);
  const taskRecords = tasks.map(({ records }) => records);
  let applied = 0;
  let before = 0;
  const recordsIn = ({ pass, task, from, to }: PlainBatch): Batch => {
    const records = tasksIn(pass)[task]!;
    if (job.data?.shuffle !== 'records') return records.batch(from, to);
    return records.pick(shuffledTask(records.records, job.training.seed, pass, task).subarray(from, to));
  };
  const plan = plainPlan({ ...job.training, taskRecords });
  const passes = plan.map((rounds, pass) => {
    let sums: MetricSums = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };
    for (const [round, lanes] of rounds.entries()) {
      const steps = lanes
        .map((place) => stepOf(model, memory, (at) => weighted(recordsIn(at), job.training), place))
        .filter((step) => step !== undefined)
        .map((step) => clipped(step, model, job.training));
      const share = plainShare(job.training.schedule, pass + round / rounds.length);
      memory.apply(steps, { round: before + round, positions: lanes.filter((place) => place !== undefined), share });
      for (const { metrics } of steps) sums = added(sums, metrics);
    }
    applied += sums.records;
    before += rounds.length;
    return sums;
  });
  return { ...memory.digests(), applied, passes, rounds: plan.map(({ length }) => length), limits: memory.limits };
}

const added = (a: MetricSums, b: MetricSums): MetricSums => ({
  records: a.records + b.records,
  weight: a.weight + b.weight,
  loss: a.loss + b.loss,
  correct: a.correct + b.correct,
  squaredError: a.squaredError + b.squaredError,
});

/** What one lane brings to a round. */
interface LaneStep {
  readonly records: number;
  readonly dense: readonly Float32Array[];
  /** Of each table, the gradient of each row. */
  readonly sparse: readonly ReadonlyMap<bigint, Float32Array>[];
  readonly metrics: MetricSums;
}

/** Undefined for a lane that is empty in this round, or has no good record. */
function stepOf(
  model: Model,
  memory: PlainMemory,
  recordsIn: (place: PlainBatch) => Batch,
  place: PlainBatch | undefined,
): LaneStep | undefined {
  if (place === undefined) return undefined;
  const batch = recordsIn(place);
  const { records } = batch;
  if (records === 0) return undefined;
  const ids = model.lookups.map((input) => idsOf(batch, input));
  const tables = model.parameters.sparse;
  const sparse = tables.map(({ width }, table) => {
    const values = new Float32Array(ids[table]!.length * width);
    ids[table]!.forEach((id, i) => {
      values.set(memory.row(table, id), i * width);
    });
    return values;
  });
  const { pass, task, push } = place;
  const at = { pass, task, batch: push };
  const result = model.step(batch, { dense: memory.dense(), sparse }, at);
  const rowsOf = (table: number, width: number): Map<bigint, Float32Array> =>
    new Map(ids[table]!.map((id, i) => [id, result.sparse[table]!.slice(i * width, (i + 1) * width)]));
  return {
    records,
    dense: result.dense.map((gradient) => gradient.slice()),
    sparse: tables.map(({ width }, table) => rowsOf(table, width)),
    metrics: result.metrics,
  };
}

/** `training.classWeights`: a record counts as if it was written with its weight times that of its class. */
function weighted(batch: Batch, { classWeights }: PlainJob['training']): Batch {
  if (classWeights === undefined) return batch;
  const weights = new Float32Array(batch.records).fill(1);
  if (batch.weights !== undefined) weights.set(batch.weights);
  for (const [label, weight] of Object.entries(classWeights)) {
    for (let i = 0; i < weights.length; i++) if (batch.labels[i] === Number(label)) weights[i] = weights[i]! * weight;
  }
  return { ...batch, weights };
}

/** `training.maxGradientNorm`: of what the lane brings, all parameters and rows together, but for statistics. */
function clipped(
  step: LaneStep,
  { parameters }: Model,
  { onBadGradient, maxGradientNorm: maxNorm }: PlainJob['training'],
): LaneStep {
  const all = [...step.dense, ...step.sparse.flatMap((rows) => [...rows.values()])];
  if (onBadGradient === 'fail' && !all.every((part) => part.every(Number.isFinite))) throw new Error('a bad gradient');
  if (maxNorm === undefined) return step;
  const isLearned = parameters.dense.map(({ statisticRate }) => statisticRate === undefined);
  const parts = [...step.dense.filter((_, at) => isLearned[at]), ...step.sparse.flatMap((rows) => [...rows.values()])];
  const finite = (value: number): number => (Number.isFinite(value) ? value : 0);
  const squares = parts.flatMap((part) => [...part]).reduce((sum, value) => sum + finite(value) ** 2, 0);
  const scale = Math.min(1, maxNorm / (Math.sqrt(squares) + 1e-6));
  const scaled = (part: Float32Array): Float32Array => part.map((value) => Math.fround(finite(value) * scale));
  const { records } = step.metrics;
  const areFinite = Object.values(step.metrics).every(Number.isFinite);
  return {
    records: step.records,
    dense: step.dense.map((part, at) => (isLearned[at] ? scaled(part) : part.map(finite))),
    sparse: step.sparse.map((rows) => new Map([...rows].map(([id, row]) => [id, scaled(row)]))),
    metrics: areFinite ? step.metrics : { records, weight: 0, loss: 0, correct: 0, squaredError: 0 },
  };
}

function idsOf(batch: Batch, input: number): bigint[] {
  const { ids, count } = batch.sparse[input]!;
  const view = new DataView(ids.buffer, ids.byteOffset);
  return Array.from({ length: count }, (_, i) => view.getBigUint64(8 * i, true));
}

const BLOCK_FLOATS = 16_384;
/** In the order in which the reference optimizers keep them. */
const SLOTS: Readonly<Record<OptimizerSpec['type'], readonly string[]>> = {
  sgd: [],
  momentum: ['velocity'],
  adagrad: ['accumulator'],
  adam: ['m', 'v'],
  adamw: ['m', 'v'],
  ftrl: ['z', 'n'],
};

/** In the order of their names. */
function slotsOf({ type }: OptimizerSpec, { slots }: State): Uint8Array[] {
  const names = SLOTS[type];
  return [...names].sort().map((name) => littleEndian(slots[names.indexOf(name)]!));
}

class PlainMemory {
  readonly #model: Model;
  /** Of each dense parameter and of each table. */
  readonly #denseOptimizers: readonly OptimizerSpec[];
  readonly #areLearned: readonly boolean[];
  readonly #tables: readonly PlainTable[];
  readonly #seed: number;
  /** Of each dense parameter its blocks. */
  readonly #blocks: readonly (readonly State[])[];
  readonly #rows: TableMemory;
  readonly limits: LimitCounts | undefined;

  constructor(model: Model, job: PlainJob, tasks: number) {
    const { optimizer, blocks, training, cluster } = job;
    this.#model = model;
    this.#denseOptimizers = model.parameters.dense.map(({ name, statisticRate }) =>
      statisticRate === undefined
        ? (blocks[name]?.optimizer ?? optimizer)
        : { type: 'sgd', learningRate: statisticRate, l2: 1 },
    );
    this.#areLearned = model.parameters.dense.map(({ statisticRate }) => statisticRate === undefined);
    this.#tables = plainTables(model, job);
    this.#seed = training.seed;
    this.#blocks = model.parameters.dense.map((spec, at) => this.#firstBlocks(spec, this.#denseOptimizers[at]!));
    if (areLimited(this.#tables)) {
      const limited = new LimitedTables(this.#tables, { shards: cluster!.shards, tasks });
      this.#rows = limited;
      this.limits = limited.counts;
    } else this.#rows = new EveryRow(this.#tables);
  }

  #firstBlocks({ name, shape, initializer }: DenseSpec, optimizer: OptimizerSpec): State[] {
    const place = { name, seed: this.#seed, shape, id: undefined };
    const count = shape.reduce((product, size) => product * size, 1);
    const values = Float32Array.from({ length: count }, (_, element) =>
      initialValue(initializer, { ...place, element }),
    );
    const blocks: State[] = [];
    for (let from = 0; from < count; from += BLOCK_FLOATS) {
      blocks.push(freshState(optimizer, values.slice(from, from + BLOCK_FLOATS)));
    }
    return blocks;
  }

  dense(): Float32Array[] {
    return this.#blocks.map((blocks) => joined(blocks.map(({ values }) => values)));
  }

  row(table: number, id: bigint): Float32Array {
    return this.#rows.values(table, id);
  }

  /** One update by the mean gradient over all records of the round, with this share of each learning rate. */
  apply(lanes: readonly LaneStep[], round: Omit<PlainRound, 'gradients'>): void {
    const total = lanes.reduce((sum, { records }) => sum + records, 0);
    if (total > 0) this.#applyBlocks(lanes, total, round.share);
    this.#rows.apply({ ...round, gradients: this.#tables.map((_, table) => rowGradients(lanes, total, table)) });
  }

  #applyBlocks(lanes: readonly LaneStep[], total: number, share: number): void {
    this.#blocks.forEach((blocks, parameter) => {
      const gradient = meanOf(
        lanes.map(({ records, dense }) => [records, dense[parameter]!]),
        total,
      );
      const optimizer = this.#denseOptimizers[parameter]!;
      const scaled = this.#areLearned[parameter] ? withShare(optimizer, share) : optimizer;
      blocks.forEach((block, i) => {
        updateReference(scaled, block, gradient.slice(i * BLOCK_FLOATS, (i + 1) * BLOCK_FLOATS));
      });
    });
  }

  /** docs/operations.md says what is hashed. */
  digests(): { modelDigest: string; stateDigest: string } {
    const model = createHash('sha256');
    const state = createHash('sha256');
    for (const [spec, parameter] of byName(this.#model.parameters.dense)) {
      const optimizer = this.#denseOptimizers[parameter]!;
      for (const hash of [model, state]) hash.update(`dense ${spec.name} ${spec.shape.join('x')}\n`);
      for (const block of this.#blocks[parameter]!) {
        model.update(littleEndian(block.values));
        for (const slot of slotsOf(optimizer, block)) state.update(slot);
        state.update(u32(isCounting(optimizer) ? block.step : 0));
      }
    }
    for (const [spec, table] of byName(this.#model.parameters.sparse)) {
      const { optimizer } = this.#tables[table]!;
      for (const hash of [model, state]) hash.update(`sparse ${spec.name} ${spec.width}\n`);
      for (const [id, row] of byId(this.#rows.rows(table))) {
        for (const hash of [model, state]) hash.update(u64(id));
        model.update(littleEndian(row.values));
        for (const slot of slotsOf(optimizer, row)) state.update(slot);
        if (isCounting(optimizer)) state.update(u32(row.step));
        if (row.seen !== undefined) state.update(u32(row.seen));
      }
    }
    for (const [{ name }, table] of byName(this.#model.parameters.sparse)) {
      const candidates = this.#rows.candidates(table);
      if (candidates === undefined) continue;
      state.update(`candidates ${name}\n`);
      for (const [id, { count, seen }] of byId(candidates)) state.update(u64(id)).update(u32(count)).update(u32(seen));
    }
    return { modelDigest: model.digest('hex'), stateDigest: state.digest('hex') };
  }
}

const byName = <T extends { readonly name: string }>(specs: readonly T[]): [T, number][] =>
  specs
    .map((spec, at): [T, number] => [spec, at])
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));

const byId = <T>(all: ReadonlyMap<bigint, T>): [bigint, T][] => [...all].sort(([a], [b]) => (a < b ? -1 : 1));

/** The mean gradient of each row of a table that a lane names. */
function rowGradients(lanes: readonly LaneStep[], total: number, table: number): Map<bigint, Float32Array> {
  const ids = new Set(lanes.flatMap(({ sparse }) => [...sparse[table]!.keys()]));
  const gradientOf = (id: bigint): Float32Array => {
    const touching = lanes.filter(({ sparse }) => sparse[table]!.has(id));
    return meanOf(
      touching.map(({ records, sparse }) => [records, sparse[table]!.get(id)!]),
      total,
    );
  };
  return new Map([...ids].map((id) => [id, gradientOf(id)]));
}

/** Lane by lane sum := f32(sum + records · gradient), then f32(sum / total). */
function meanOf(lanes: readonly (readonly [records: number, gradient: Float32Array])[], total: number): Float32Array {
  const sum = new Float32Array(lanes[0]![1].length);
  for (const [records, gradient] of lanes) {
    for (let i = 0; i < sum.length; i++) sum[i] = Math.fround(sum[i]! + records * gradient[i]!);
  }
  return sum.map((value) => Math.fround(value / total));
}

function littleEndian(floats: Float32Array): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4 * floats.length));
  floats.forEach((value, i) => {
    bytes.setFloat32(4 * i, value, true);
  });
  return new Uint8Array(bytes.buffer);
}

function u32(value: number): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(4));
  bytes.setUint32(0, value, true);
  return new Uint8Array(bytes.buffer);
}

function u64(value: bigint): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setBigUint64(0, value, true);
  return new Uint8Array(bytes.buffer);
}
