/**
 * One step of deep models (forward, backward, and the update of all parameters by optimizers), beside PyTorch on one
 * thread, in turns.
 */
import type { Batch, Model } from '../../../src/model/model.ts';
import { createModel } from '../../../src/model/registry.ts';
import { type OptimizerSpec, trainedSpec } from '../../../src/tensor/optimizer.ts';
import { type Figure, median } from '../figure.ts';
import { LocalTraining } from '../local-training.ts';
import type { Native } from '../native.ts';
import { startTorch } from '../torch.ts';
import { CLASSES, denseBatch, FIELDS, PIXELS, sparseBatch } from './batches.ts';

const BATCHES = 8;
const ROUNDS = 15;
const WARM_ROUNDS = 5;
const BATCH_SIZES = [128, 512];
/** Wanted fraction of PyTorch's speed, with batches of the first size. */
const AIM = 0.35;
const SEED = 1;
/** As torch/models.py has them. */
const FACTORS = 16;
const IDS = 1e6;
const RATE = 1e-5;
const ADAM: OptimizerSpec = { type: 'adam', learningRate: RATE, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };
const ADAGRAD: OptimizerSpec = { type: 'adagrad', learningRate: RATE, initialAccumulator: 0, epsilon: 1e-10, l2: 0 };

interface DeepCase {
  readonly what: string;
  /** In torch/models.py. */
  readonly peer: string;
  readonly create: () => Model;
  readonly batch: (model: Model, records: number, seed: number) => Batch;
}

export const DEEP_CASES: readonly DeepCase[] = [
  {
    what: 'mlp 784-256-128-10, Adam',
    peer: 'mlp',
    create: () => createModel({ type: 'mlp', hidden: [256, 128] }, facts),
    batch: ({ memory }, records, seed) => denseBatch(memory!, records, seed),
  },
  {
    what: 'deepfm 39 × 16, 400-400-400, Adam and AdaGrad',
    peer: 'deepfm-distinct',
    create: () => createModel({ type: 'deepfm', factors: FACTORS, hidden: [400, 400, 400] }, { ...facts, columns }),
    batch: ({ memory }, records, seed) => sparseBatch(memory!, { features: FIELDS, ids: IDS }, records, seed),
  },
];

/** Categories. */
const columns = Array.from(
  { length: FIELDS },
  (_, field) => ({ name: `c${field}`, kind: 'category', floats: 0 }) as const,
);

const facts = { inputWidth: PIXELS, classes: CLASSES, fields: FIELDS, seed: SEED };

/** A sweep over all batches. */
export function deepSweepOf({ create, batch }: DeepCase, records: number): () => void {
  const model = create();
  const { sparse } = model.parameters;
  const tables = Object.fromEntries(sparse.map(({ name }) => [name, { optimizer: ADAGRAD }]));
  const training = new LocalTraining(model, trainedSpec(model.parameters, { optimizer: ADAM, tables }), SEED);
  const batches = Array.from({ length: BATCHES }, (_, seed) => batch(model, records, seed));
  return () => {
    for (const one of batches) training.step(one);
  };
}

async function measureCase(one: DeepCase, records: number, torch: Native | undefined): Promise<Figure> {
  const sweep = deepSweepOf(one, records);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
    const startMs = performance.now();
    sweep();
    const tookMs = performance.now() - startMs;
    const torchMs = await torch?.run(`${one.peer} ${records} ${BATCHES}`);
    if (round < 0) continue;
    ours.push(tookMs);
    if (torchMs !== undefined) theirs.push(torchMs);
  }
  return figureOf(`${one.what}, batch ${records}`, records, ours, theirs);
}

function figureOf(what: string, records: number, ours: number[], theirs: number[]): Figure {
  const thousands = (ms: number): number => (records * BATCHES) / ms;
  const figure = { what, value: thousands(median(ours)), unit: 'k records/s' };
  const best = thousands(Math.min(...ours));
  if (theirs.length === 0) return { ...figure, bestValue: best };
  return {
    ...figure,
    limit: { what: 'PyTorch', value: thousands(median(theirs)) },
    ratio: median(ours.map((ms, i) => theirs[i]! / ms)),
    best: best / thousands(Math.min(...theirs)),
    ...(records === BATCH_SIZES[0] ? { aim: { of: 'ratio', bound: AIM, best: 'high' } as const } : {}),
  };
}

export async function measureDeepModels(): Promise<Figure[]> {
  const torch = await startTorch();
  const figures: Figure[] = [];
  for (const one of DEEP_CASES) {
    for (const records of BATCH_SIZES) figures.push(await measureCase(one, records, torch));
  }
  torch?.close();
  return figures;
}
