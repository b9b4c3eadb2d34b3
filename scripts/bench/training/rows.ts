/** The table: what is trained on which cluster, and what each row wants of it. */
import type { DataName } from './data.ts';
import type { ModelName } from './peers.ts';
import type { SpanName } from './spans.ts';

/** `twice`: async, with twice as many trainers. */
export type Mode = 'async' | 'sync' | 'twice';

/** One job, which several rows may look at. */
export interface Scene {
  readonly name: string;
  readonly data: DataName;
  readonly model: ModelName;
  readonly batchSize: number;
  readonly recordsPerTask: number;
  /** So many pservers, and as many trainers (`twice`: twice as many). */
  readonly ofEach: number;
  /** And in quick runs. */
  readonly passes: number;
  readonly quickPasses: number;
}

export interface Row {
  /** As in `--rows`. */
  readonly number: string;
  readonly scene: Scene;
  readonly mode: Mode;
  readonly span: SpanName;
  readonly atLeast?: number;
  /**
   * Wanted ratios to push and pull alone, to one thread of C, to the model alone, and to the same job in async mode.
   */
  readonly ofRequests?: number;
  readonly ofNative?: number;
  readonly ofAlone?: number;
  readonly ofAsync?: number;
}

export const LANES = 8;

const a9a: Scene = {
  ...{ name: 'LR, a9a, batch 128, 2+2', data: 'a9a', model: 'lr', batchSize: 128, recordsPerTask: 1000, ofEach: 2 },
  ...{ passes: 60, quickPasses: 20 },
};
const largeBatch: Scene = {
  ...{ name: 'LR, a9a, batch 1024, 1+1', data: 'a9a', model: 'lr', batchSize: 1024, recordsPerTask: 8192, ofEach: 1 },
  ...{ passes: 200, quickPasses: 40 },
};
const small: Scene = {
  ...{ name: 'FM, 10 of 5,000, batch 1024, 1+1', data: 'small', model: 'fm', batchSize: 1024, recordsPerTask: 8192 },
  ...{ ofEach: 1, passes: 30, quickPasses: 4 },
};
const wideLr: Scene = {
  ...{ name: 'LR, 39 of 1 M, batch 1024, 2+2', data: 'wide', model: 'lr', batchSize: 1024, recordsPerTask: 8192 },
  ...{ ofEach: 2, passes: 8, quickPasses: 3 },
};
const wideFm: Scene = { ...wideLr, name: 'FM, 39 of 1 M, batch 1024, 2+2', model: 'fm', passes: 4, quickPasses: 2 };
const mnist: Scene = {
  ...{ name: 'softmax, MNIST, batch 128, 2+2', data: 'mnist', model: 'softmax', batchSize: 128, recordsPerTask: 2000 },
  ...{ ofEach: 2, passes: 20, quickPasses: 4 },
};
const mlp: Scene = {
  ...{ ...mnist, name: 'MLP 784-256-128-10, MNIST, batch 128, 1+1', model: 'mlp', recordsPerTask: 2048, ofEach: 1 },
  ...{ passes: 12, quickPasses: 3 },
};
const mlpLargeBatch: Scene = { ...mlp, name: 'MLP 784-256-128-10, MNIST, batch 512, 1+1', batchSize: 512 };

export const TABLE: readonly Row[] = [
  { number: '1', scene: a9a, mode: 'async', span: 'all', atLeast: 1e6 },
  { number: '2', scene: largeBatch, mode: 'async', span: 'all', atLeast: 3e6 },
  { number: '3', scene: small, mode: 'async', span: 'all', atLeast: 1.2e6 },
  { number: '4', scene: wideLr, mode: 'async', span: 'later', atLeast: 400e3, ofRequests: 0.7 },
  { number: '5', scene: wideLr, mode: 'async', span: 'first', atLeast: 200e3 },
  { number: '6', scene: wideFm, mode: 'async', span: 'later', atLeast: 130e3, ofRequests: 0.7 },
  { number: '7', scene: mnist, mode: 'async', span: 'all', ofNative: 0.3 },
  { number: '8', scene: a9a, mode: 'sync', span: 'all', ofAsync: 1 },
  { number: '8', scene: wideLr, mode: 'sync', span: 'later', ofAsync: 1 },
  { number: '9', scene: largeBatch, mode: 'twice', span: 'all', ofAsync: 1 },
  { number: '9', scene: small, mode: 'twice', span: 'all', ofAsync: 1 },
  { number: '10', scene: mlp, mode: 'async', span: 'all', ofAlone: 0.7 },
  { number: '10', scene: mlpLargeBatch, mode: 'async', span: 'all', ofAlone: 0.85 },
];

/** The time of a whole command is no row of the table, and can be chosen like one. */
export const RUN_TIME = 'run';
/** So are the times to a loss. */
export const LOSS_TIME = 'loss';
export const NUMBERS: readonly string[] = [...new Set(TABLE.map(({ number }) => number)), RUN_TIME, LOSS_TIME];

/** As the examples have them. */
export const LEARNING_RATE: Readonly<Record<ModelName, number>> = { lr: 0.05, fm: 0.03, softmax: 0.001, mlp: 0.001 };

const MODELS = {
  lr: { type: 'lr' },
  fm: { type: 'fm', factors: 16 },
  softmax: { type: 'softmax' },
  mlp: { type: 'mlp', hidden: [256, 128] },
} as const satisfies Readonly<Record<ModelName, unknown>>;

export const trainersOf = ({ ofEach }: Scene, mode: Mode): number => (mode === 'twice' ? 2 : 1) * ofEach;

export function jobOf(scene: Scene, mode: Mode, passes: number, data: Readonly<Record<string, string>>) {
  const { model, batchSize, recordsPerTask, ofEach } = scene;
  const isOfImages = scene.data === 'mnist';
  const inMode = mode === 'sync' ? { mode, lanes: LANES } : { mode: 'async' };
  return {
    name: 'bench-training',
    data: { ...data, recordsPerTask },
    model: MODELS[model],
    optimizer: { type: isOfImages ? 'adam' : 'adagrad', learningRate: LEARNING_RATE[model] },
    training: { ...inMode, passes, batchSize, seed: 1 },
    cluster: { pservers: ofEach, trainers: trainersOf(scene, mode) },
    checkpoint: { interval: 'off' },
  };
}
