/** Single-process training with plain optimizers: slow, short, and independent of the cluster's code. */
import type { LabelRule } from '../../src/data/labels.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { type FinishedMetrics, finishMetrics, mergeMetrics, noMetrics, scoreMetrics } from '../../src/model/metrics.ts';
import type { Batch, Model, PulledValues } from '../../src/model/model.ts';
import { type TrainingChoice, trainedSpec } from '../../src/tensor/optimizer.ts';
import type { Initializer } from '../../src/tensor/spec.ts';
import { createReferenceOptimizer, type ReferenceOptimizer } from './optimizer.ts';

/** Values and optimizer state of one dense parameter or one row. */
interface Slot {
  readonly optimizer: ReferenceOptimizer;
  readonly values: Float32Array;
  readonly state: unknown;
}

export class ReferenceTrainer {
  readonly model: Model;
  private readonly tableOptimizers: readonly ReferenceOptimizer[];
  private readonly dense: Slot[];
  private readonly tables: Map<bigint, Slot>[];
  private readonly random;
  private readonly seed: number;
  private readonly maxNorm: number | undefined;

  /** `maxNorm`: as `training.maxGradientNorm`. */
  constructor(model: Model, choice: TrainingChoice, seed: number, maxNorm?: number) {
    this.model = model;
    this.seed = seed;
    this.maxNorm = maxNorm;
    this.random = createRandomStream(seed);
    const { dense, sparse } = trainedSpec(model.parameters, choice);
    this.tableOptimizers = sparse.map(({ optimizer }) => createReferenceOptimizer(optimizer));
    this.dense = dense.map(({ shape, initializer, optimizer }) => {
      const length = shape.reduce((product, size) => product * size, 1);
      return this.slot(length, initializer, createReferenceOptimizer(optimizer));
    });
    this.tables = model.parameters.sparse.map(() => new Map());
  }

  /** One sweep over the tasks in a shuffled order; the mean loss of the records as they were met. */
  pass(tasks: readonly TaskRecords[], batchSize: number, pass: number): number {
    let sums = noMetrics;
    for (const task of shuffled(tasks, this.seed + pass)) {
      for (let from = 0; from < task.records; from += batchSize) {
        const batch = task.batch(from, Math.min(from + batchSize, task.records));
        sums = mergeMetrics(sums, this.train(batch));
      }
    }
    return sums.loss / sums.records;
  }

  evaluate(batch: Batch): ReturnType<Model['evaluate']> {
    return this.model.evaluate(batch, this.pull(batch).values);
  }

  private train(batch: Batch) {
    const { values, rows } = this.pull(batch);
    const { dense, sparse, metrics } = this.model.step(batch, values);
    if (this.maxNorm !== undefined) clip([...dense, ...sparse], this.maxNorm);
    dense.forEach((gradient, at) => {
      this.update(this.dense[at]!, gradient);
    });
    sparse.forEach((gradient, table) => {
      const width = this.model.parameters.sparse[table]!.width;
      rows[table]!.forEach((slot, row) => {
        this.update(slot, gradient.subarray(row * width, (row + 1) * width));
      });
    });
    return metrics;
  }

  private update(slot: Slot, gradient: Float32Array): void {
    slot.optimizer.update(slot.values, gradient, slot.state);
  }

  private pull(batch: Batch): { values: PulledValues; rows: Slot[][] } {
    const dense = this.dense.map(({ values }) => values);
    const rows: Slot[][] = [];
    const sparse = this.model.parameters.sparse.map(({ width, initializer }, table) => {
      const { ids, count } = batch.sparse[this.model.lookups[table]!]!;
      const keys = new BigUint64Array(ids.buffer, ids.byteOffset, count);
      const slots = Array.from(keys, (key) => this.row(table, key, width, initializer));
      rows.push(slots);
      const values = new Float32Array(count * width);
      slots.forEach((slot, row) => {
        values.set(slot.values, row * width);
      });
      return values;
    });
    return { values: { dense, sparse }, rows };
  }

  private row(table: number, key: bigint, width: number, initializer: Initializer): Slot {
    const rows = this.tables[table]!;
    let row = rows.get(key);
    if (row === undefined) {
      row = this.slot(width, initializer, this.tableOptimizers[table]!);
      rows.set(key, row);
    }
    return row;
  }

  private slot(length: number, initializer: Initializer, optimizer: ReferenceOptimizer): Slot {
    const values = Float32Array.from({ length }, () => {
      if (initializer.type === 'zeros') return 0;
      if (initializer.type === 'normal') return initializer.mean + initializer.stddev * this.random.normal();
      if (initializer.type === 'uniform') {
        const { low, high } = initializer;
        return low + (high - low) * this.random.uniform();
      }
      throw new Error(`the reference loop knows no initializer ${initializer.type}`);
    });
    return { optimizer, values, state: optimizer.state(length) };
  }
}

/** As `torch.nn.utils.clip_grad_norm_`; what is not finite is 0 before. */
function clip(gradients: readonly Float32Array[], maxNorm: number): void {
  for (const gradient of gradients) gradient.set(gradient.map((value) => (Number.isFinite(value) ? value : 0)));
  let squares = 0;
  for (const gradient of gradients) for (const value of gradient) squares += value * value;
  const scale = Math.min(1, maxNorm / (Math.sqrt(squares) + 1e-6));
  for (const gradient of gradients) gradient.set(gradient.map((value) => value * scale));
}

export function evaluateTasks(trainer: ReferenceTrainer, tasks: readonly TaskRecords[]): FinishedMetrics {
  let sums = noMetrics;
  const scores: number[] = [];
  const labels: number[] = [];
  for (const task of tasks) {
    const batch = task.batch(0, task.records);
    const evaluated = trainer.evaluate(batch);
    sums = mergeMetrics(sums, evaluated.metrics);
    for (const score of evaluated.scores) scores.push(score);
    for (const label of batch.labels) labels.push(label);
  }
  const scored = { scores: Float32Array.from(scores), labels: Float32Array.from(labels) };
  const all = { ...scored, weights: undefined, groups: undefined };
  return finishMetrics(trainer.model.task, sums, scoreMetrics(all));
}

export function labelRuleOf(model: Model, classes: number): LabelRule {
  return model.task === 'multiclass' ? { task: 'multiclass', classes } : { task: model.task };
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = createRandomStream(seed);
  const order = [...items];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random.uniform() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
  return order;
}
