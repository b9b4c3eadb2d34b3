/** The jobs that faults are let loose on, and how good their models must be. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const JOB_NAMES = ['synth', 'lr', 'fm', 'softmax', 'mlp'] as const;
export type JobName = (typeof JOB_NAMES)[number];

export type Mode = 'async' | 'sync';

/** Units of each job; it has twice as many shards. */
const UNITS = 32;

export interface Marks {
  readonly accuracy?: number;
  readonly auc?: number;
}

export interface ChaosJob {
  /** As in a job file. */
  readonly job: {
    readonly name: string;
    readonly data: Readonly<Record<string, unknown>> & { readonly train: string; readonly recordsPerTask: number };
    readonly training: { readonly mode: Mode; readonly passes: number; readonly batchSize: number };
    readonly cluster: { readonly units: number };
  } & Readonly<Record<string, unknown>>;
  readonly dataDir: string;
  readonly records: number;
  readonly marks: Marks;
}

export interface JobOptions {
  readonly mode: Mode;
  readonly passes: number | undefined;
  readonly leaseMs: number;
  readonly pservers: number;
  readonly maxPservers: number;
  readonly trainers: number;
  readonly paddlet: string;
  /** Where made data go. */
  readonly folder: string;
  /** Where the data sets lie. */
  readonly realData: string;
}

/**
 * Every optimizer here is Adam, but for running statistics: its update counts in the final checkpoints are an account
 * of what was applied that is independent of the ledgers.
 */
export async function makeJob(name: JobName, options: JobOptions): Promise<ChaosJob> {
  const common = {
    cluster: {
      ...{ pservers: options.pservers, maxPservers: options.maxPservers, trainers: options.trainers },
      ...{ shards: 2 * UNITS, units: UNITS, leaseTtl: `${options.leaseMs}ms` },
    },
    checkpoint: { interval: '1s' },
    // In sync mode lanes die of nothing but the killing.
    ...(options.mode === 'sync' && { tasks: { maxFailures: 100 } }),
  };
  const training = { mode: options.mode, ...(options.mode === 'sync' && { lanes: 8 }) };
  if (name === 'synth') return makeSynth(options, { ...common, training });
  if (!existsSync(join(options.realData, 'a9a'))) throw new Error(`no data sets in ${options.realData}: use --data`);
  if (name === 'softmax' || name === 'mlp') {
    const file = (part: string): string => `mnist/${part}-ubyte.gz`;
    return {
      job: {
        name: `chaos-${name}`,
        data: {
          format: 'idx',
          train: file('train-images-idx3'),
          trainLabels: file('train-labels-idx1'),
          test: file('t10k-images-idx3'),
          testLabels: file('t10k-labels-idx1'),
          recordsPerTask: 1000,
        },
        model: name === 'softmax' ? { type: name } : { type: name, hidden: [64], normalization: 'batch', dropout: 0.1 },
        optimizer: { type: 'adam', learningRate: 0.001 },
        training: { ...training, passes: options.passes ?? 40, batchSize: 64 },
        ...common,
      },
      dataDir: options.realData,
      records: 60_000,
      marks: { accuracy: name === 'softmax' ? 0.915 : 0.96 },
    };
  }
  return {
    job: {
      name: `chaos-${name}`,
      data: { train: 'a9a/a9a.gz', test: 'a9a/a9a.t.gz', format: 'libsvm', recordsPerTask: 400 },
      model: name === 'lr' ? { type: 'lr' } : { type: 'fm', factors: 4 },
      optimizer: { type: 'adam', learningRate: name === 'lr' ? 0.001 : 0.0003 },
      training: { ...training, passes: options.passes ?? 40, batchSize: 32 },
      ...common,
    },
    dataDir: options.realData,
    records: 32_561,
    marks: { accuracy: 0.845, auc: 0.898 },
  };
}

async function makeSynth(
  options: JobOptions,
  { training, ...common }: { readonly training: { readonly mode: Mode }; readonly cluster: { readonly units: number } },
): Promise<ChaosJob> {
  const records = 16_000;
  const numbers = { records, 'test-records': 5_000, features: 60, 'per-record': 8, factors: 0 };
  const flags = Object.entries(numbers).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  await promisify(execFile)(options.paddlet, ['data', 'synth', '--output', options.folder, ...flags]);
  const planted = JSON.parse(readFileSync(join(options.folder, 'planted.json'), 'utf8')) as { test: { auc: number } };
  return {
    job: {
      name: 'chaos-synth',
      data: { train: 'train.libsvm', test: 'test.libsvm', format: 'libsvm', recordsPerTask: 200 },
      model: { type: 'lr' },
      optimizer: { type: 'adam', learningRate: 0.001 },
      training: { ...training, passes: options.passes ?? 60, batchSize: 20 },
      ...common,
    },
    dataDir: options.folder,
    records,
    marks: { auc: planted.test.auc - 0.01 },
  };
}
