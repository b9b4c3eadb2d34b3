/**
 * One step of each model over mini-batches (forward, loss, metrics, gradient), beside the same loops in C in the same
 * run. Softmax also applies AdaGrad. Then deep models beside PyTorch (models/deep.ts). Batches and values are in the
 * model's memory, as a trainer keeps them.
 * Run: `npx node scripts/bench/models.ts`, or `npm run bench -- models`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { type Batch, freeStep, type Model, type PulledValues } from '../../src/model/model.ts';
import { createModel, type ModelSpec } from '../../src/model/registry.ts';
import { elementCount } from '../../src/tensor/blocks.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import { type Figure, median, printFigures } from './figure.ts';
import { CLASSES, denseBatch, FIELDS, PIXELS, sparseBatch } from './models/batches.ts';
import { measureDeepModels } from './models/deep.ts';
import { startNativeModels } from './native.ts';

/** Different ones, so that not all of one sweep is in the cache of the core. */
const BATCHES = 8;
const ROUNDS = 15;

interface Case {
  readonly what: string;
  readonly spec: ModelSpec;
  readonly features: number;
  readonly ids: number;
  /** Records a second with batches of 1,024; for ffm and softmax the ratio to C. */
  readonly aim: number;
}

const CASES: readonly Case[] = [
  { what: 'lr, 14 of 123 features', spec: { type: 'lr' }, features: 14, ids: 123, aim: 15e6 },
  { what: 'lr, 39 of 1 M', spec: { type: 'lr' }, features: 39, ids: 1e6, aim: 2e6 },
  { what: 'fm k=16, 10 of 5,000', spec: { type: 'fm', factors: 16 }, features: 10, ids: 5000, aim: 6e6 },
  { what: 'fm k=16, 39 of 1 M', spec: { type: 'fm', factors: 16 }, features: 39, ids: 1e6, aim: 650e3 },
  { what: 'ffm k=4, 39 fields, 39 of 1 M', spec: { type: 'ffm' }, features: FIELDS, ids: 1e6, aim: 0.9 },
  { what: 'softmax 784 × 10, AdaGrad', spec: { type: 'softmax' }, features: 0, ids: 0, aim: 0.3 },
];

function valuesFor({ memory, parameters }: Model, batch: Batch): PulledValues {
  const random = createRandomStream(5);
  const floats = (length: number): Float32Array => {
    const array = memory!.floats(length);
    for (let at = 0; at < length; at++) array[at] = 0.1 * (random.uniform() - 0.5);
    return array;
  };
  const rows = batch.sparse[0]?.count ?? 0;
  return {
    dense: parameters.dense.map((parameter) => floats(elementCount(parameter))),
    sparse: parameters.sparse.map(({ width }) => floats(rows * width)),
  };
}

/** As native/models.c reads them. */
function writeBatches(path: string, batches: readonly Batch[]): void {
  const words = (array: Float32Array | Uint32Array | Uint8Array): Buffer =>
    Buffer.from(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  const parts = batches.flatMap(({ records, labels, sparse: [features], dense: [inputs] }) => {
    const rows = features?.rows ?? new Uint32Array(0);
    const header = words(Uint32Array.of(records, rows.length, features?.count ?? 0, inputs?.width ?? 0));
    const offsets = features?.offsets ?? new Uint32Array(records + 1);
    const fields = Uint32Array.from(features?.fields ?? []);
    return [header, ...[offsets, rows, fields, labels, inputs?.values ?? new Float32Array(0)].map(words)];
  });
  writeFileSync(path, Buffer.concat([words(Uint32Array.of(batches.length)), ...parts]));
}

/** A sweep over all batches: steps, and for softmax an update of its weights after each. */
function sweepOf(model: Model, batches: readonly Batch[]): () => void {
  const values = batches.map((batch) => valuesFor(model, batch));
  if (model.type !== 'softmax') {
    return () => {
      for (const [i, batch] of batches.entries()) freeStep(model, model.step(batch, values[i]!));
    };
  }
  const { heap } = model.memory!;
  const spec = { type: 'adagrad', learningRate: 0.01, initialAccumulator: 0, epsilon: 1e-8, l2: 0 } as const;
  const { address } = createOptimizer(heap, spec);
  const shared = model.parameters.dense.map((parameter) => {
    const length = elementCount(parameter);
    return { length, slots: model.memory!.floats(2 * length).fill(0) };
  });
  return () => {
    for (const batch of batches) {
      const dense = shared.map(({ slots, length }) => slots.subarray(0, length));
      const step = model.step(batch, { dense, sparse: [] });
      step.dense.forEach((gradient, p) => {
        heap.kernels.update(address, dense[p]!.byteOffset, gradient.byteOffset, gradient.length, 0);
      });
      freeStep(model, step);
    }
  };
}

async function measureCase(one: Case, records: number): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  const model = createModel(one.spec, { inputWidth: PIXELS, classes: CLASSES, fields: FIELDS, seed: 1 });
  const batches = Array.from({ length: BATCHES }, (_, seed) =>
    model.input === 'dense' ? denseBatch(model.memory!, records, seed) : sparseBatch(model.memory!, one, records, seed),
  );
  const path = join(folder, 'batches');
  writeBatches(path, batches);
  const native = startNativeModels(path);
  const sweep = sweepOf(model, batches);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = -30; round < ROUNDS; round++) {
    const startMs = performance.now();
    sweep();
    const tookMs = performance.now() - startMs;
    const nativeMs = await native?.run(model.type);
    if (round < 0) continue;
    ours.push(tookMs);
    if (nativeMs !== undefined) theirs.push(nativeMs);
  }
  native?.close();
  rmSync(folder, { recursive: true });
  return figureOf(one, records, ours, theirs);
}

function figureOf({ what, spec, aim }: Case, records: number, ours: number[], theirs: number[]): Figure {
  const thousands = (ms: number): number => (records * BATCHES) / ms;
  const isRatio = spec.type === 'softmax' || spec.type === 'ffm';
  const bound = isRatio ? aim : aim / 1000;
  const figure = {
    what: `${what}, batch ${records}`,
    value: thousands(median(ours)),
    unit: 'k records/s',
    ...(records === 1024 ? { aim: { of: isRatio ? 'ratio' : 'value', bound, best: 'high' } as const } : {}),
  };
  const best = thousands(Math.min(...ours));
  if (theirs.length === 0) return { ...figure, bestValue: best };
  return {
    ...figure,
    limit: { what: 'native C', value: thousands(median(theirs)) },
    ratio: median(ours.map((ms, i) => theirs[i]! / ms)),
    best: best / thousands(Math.min(...theirs)),
  };
}

export async function measureModels(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const one of CASES) {
    for (const records of [128, 1024]) figures.push(await measureCase(one, records));
  }
  return [...figures, ...(await measureDeepModels())];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureModels());
