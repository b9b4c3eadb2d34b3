/** The jobs whose digests are compared, and data with one record changed. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Decided {
  readonly data: Fields;
  readonly model: Fields;
  readonly optimizer: Fields & { readonly type: string };
  readonly training: Fields & { readonly passes: number; readonly seed: number };
}

export interface SyncJob {
  readonly name: string;
  /** As in a job file. */
  readonly file: Decided & { readonly name: string };
  readonly dataDir: string;
}

export const keysOfJob = ({ file }: SyncJob): Keys => keysOf(defaultChroot(file.name));

const A9A = { train: 'a9a/a9a.gz', test: 'a9a/a9a.t.gz', format: 'libsvm', recordsPerTask: 400 };

const MNIST = {
  format: 'idx',
  train: 'mnist/train-images-idx3-ubyte.gz',
  trainLabels: 'mnist/train-labels-idx1-ubyte.gz',
  test: 'mnist/t10k-images-idx3-ubyte.gz',
  testLabels: 'mnist/t10k-labels-idx1-ubyte.gz',
  recordsPerTask: 1000,
};

const ADULT = {
  format: 'csv',
  train: 'adult/adult.data.gz',
  test: 'adult/adult.test.gz',
  recordsPerTask: 400,
  csv: { header: false, missing: ['?'], comment: '|' },
  columns: {
    age: 'number',
    workclass: 'category',
    fnlwgt: 'ignore',
    education: 'category',
    'education-num': 'number',
    'marital-status': 'category',
    occupation: 'category',
    relationship: 'category',
    race: 'category',
    sex: 'category',
    'capital-gain': { type: 'number', quantiles: 50 },
    'capital-loss': { type: 'number', quantiles: 50 },
    'hours-per-week': 'number',
    'native-country': 'category',
    income: { type: 'label', positive: ['>50K', '>50K.'], negative: ['<=50K', '<=50K.'] },
    crossed: { cross: ['education', 'occupation'] },
  },
};

const COMMON = {
  // Short, so that the dead are missed soon; cuts often, so that going back is not far.
  cluster: { pservers: 2, trainers: 3, shards: 32, leaseTtl: '2s' },
  checkpoint: { interval: '1s' },
  // Lanes die of nothing but the killing.
  tasks: { maxFailures: 100 },
};

const training = (passes: number, batchSize: number, seed = 1) => ({ mode: 'sync', passes, batchSize, lanes: 8, seed });

export const JOB_NAMES = ['lr', 'fm', 'softmax', 'mlp', 'deepfm'] as const;
export type JobName = (typeof JOB_NAMES)[number];

export function jobNamed(name: JobName, dataDir: string): SyncJob {
  if (!existsSync(join(dataDir, 'a9a'))) throw new Error(`no data sets in ${dataDir}: use --data`);
  const of = (decided: Decided): SyncJob => {
    return { name, dataDir, file: { name: `sync-${name}`, ...decided, ...COMMON } };
  };
  switch (name) {
    case 'lr':
      return of({
        data: A9A,
        model: { type: 'lr' },
        optimizer: { type: 'adagrad', learningRate: 0.05 },
        training: training(10, 32),
      });
    case 'fm':
      return of({
        data: A9A,
        model: { type: 'fm', factors: 8 },
        optimizer: { type: 'adam', learningRate: 0.001 },
        training: training(10, 32),
      });
    case 'softmax':
      return of({
        data: MNIST,
        model: { type: 'softmax' },
        optimizer: { type: 'momentum', learningRate: 0.01 },
        training: training(5, 64),
      });
    case 'mlp':
      return of({
        data: MNIST,
        // The plain loop takes its time for each unit.
        model: { type: 'mlp', hidden: [8], normalization: 'batch', dropout: 0.2 },
        optimizer: { type: 'adam', learningRate: 0.001 },
        training: training(1, 32),
      });
    case 'deepfm':
      return of({
        data: ADULT,
        model: { type: 'deepfm', factors: 4, hidden: [32, 16], normalization: 'batch', dropout: 0.2 },
        optimizer: { type: 'adam', learningRate: 0.001 },
        training: training(3, 32),
      });
  }
}

/** Those that no job above has. */
export const OTHER_OPTIMIZERS: readonly SyncJob['file']['optimizer'][] = [
  { type: 'sgd', learningRate: 0.1 },
  { type: 'momentum', learningRate: 0.01, l2: 0.0001 },
  { type: 'adam', learningRate: 0.001 },
  { type: 'adamw', learningRate: 0.001, weightDecay: 0.01 },
  { type: 'ftrl', alpha: 0.1, lambda1: 0.001, lambda2: 0.001 },
];

export const withOptimizer = (job: SyncJob, optimizer: SyncJob['file']['optimizer']): SyncJob => ({
  ...job,
  name: `${job.name} ${optimizer.type}`,
  file: { ...job.file, optimizer },
});

export const withSeed = (job: SyncJob, seed: number): SyncJob => ({
  ...job,
  name: `${job.name} seed ${seed}`,
  file: { ...job.file, training: { ...job.file.training, seed } },
});

/** The label of one record of a9a is the other one. */
export function withOneRecordChanged(job: SyncJob, folder: string): SyncJob {
  const text = gunzipSync(readFileSync(join(job.dataDir, A9A.train))).toString('latin1');
  const lines = text.split('\n');
  const record = 12_345;
  const line = lines[record]!;
  lines[record] = line.startsWith('+1') ? line.replace('+1', '-1') : line.replace('-1', '+1');
  mkdirSync(join(folder, 'a9a'), { recursive: true });
  writeFileSync(join(folder, 'a9a/changed'), lines.join('\n'), 'latin1');
  const data = { ...job.file.data, train: 'a9a/changed', test: join(job.dataDir, A9A.test) };
  return { name: `${job.name} one record`, dataDir: folder, file: { ...job.file, data } };
}
