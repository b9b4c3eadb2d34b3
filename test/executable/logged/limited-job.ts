/**
 * A job with a table for each combination of admission, eviction and bound: 18 tables, which all look up the same
 * features. Its optimizers change from table to table.
 */
import { writeFileSync } from 'node:fs';
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import type { Admission, Eviction } from '../../endless/rules.ts';
import type { Place } from '../harness.ts';
import type { FileRules } from './arithmetic.ts';

export const SEED = 11;
export const SHARDS = 4;
const RECORDS = 320;
const RECORDS_PER_TASK = 16;
const BATCH = 8;
const HOT_IDS = 60;
const RARE_IDS = 1_000;
const IDS_OF_EACH = 3;
const WIDTH = 2;
/** Bytes of the largest row: id, two vectors of optimizer state, steps, `seen`. */
const LARGEST_ROW = 8 + 3 * 4 * WIDTH + 4 + 4;
/** A shard has room for this number of rows: half of what it would have. */
const ROWS_OF_SHARD = 80;

const ADMISSIONS: Readonly<Record<string, Admission>> = {
  all: { type: 'all' },
  count: { type: 'count', min: 3 },
  draw: { type: 'probability', p: 0.3 },
};
const EVICTIONS: Readonly<Record<string, Eviction | undefined>> = {
  Kept: undefined,
  Passes: { unseenPasses: 1 },
  Updates: { unseenUpdates: 24 },
};
const BOUNDS: Readonly<Record<string, number | undefined>> = {
  '': undefined,
  Bound: SHARDS * ROWS_OF_SHARD * LARGEST_ROW,
};

const OPTIMIZERS = [
  { type: 'adagrad', learningRate: 0.1 },
  { type: 'momentum', learningRate: 0.1, momentum: 0.5 },
  { type: 'adam', learningRate: 0.05 },
  { type: 'ftrl', alpha: 0.1, lambda1: 0.001 },
  { type: 'sgd', learningRate: 0.1, l2: 0.001 },
];

/** By name of the table. */
export const RULES: Readonly<Record<string, FileRules>> = Object.fromEntries(
  Object.entries(ADMISSIONS).flatMap(([a, admission]) =>
    Object.entries(EVICTIONS).flatMap(([e, eviction]) =>
      Object.entries(BOUNDS).map(([b, maxBytes]) => [`${a}${e}${b}`, { admission, eviction, maxBytes }]),
    ),
  ),
);

const tables = Object.entries(RULES).map(([name, { admission, eviction, maxBytes }], at) => {
  const optimizer = OPTIMIZERS[at % OPTIMIZERS.length];
  return [name, { optimizer, eviction, maxBytes, ...(admission.type === 'all' ? {} : { admission }) }];
});
const layers = Object.keys(RULES).map((name) => ({ type: 'embedding', name, width: WIDTH, initStddev: 0.3 }));

export const JOB = {
  name: 'limited',
  data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK },
  model: {
    type: 'layers',
    task: 'binary',
    layers: [...layers, { type: 'concat', from: Object.keys(RULES) }, { type: 'dense', name: 'out' }],
  },
  optimizer: { type: 'adam', learningRate: 0.05 },
  tables: Object.fromEntries(tables) as object,
  training: { passes: 5, batchSize: BATCH, seed: SEED },
  cluster: { pservers: 1, maxPservers: 4, trainers: 1, shards: SHARDS, units: SHARDS, leaseTtl: '2s' },
  checkpoint: { interval: '200ms' } as object,
};

export const SYNC = { ...JOB, training: { ...JOB.training, mode: 'sync', lanes: 3, passes: 8 } };

/** Only the first file of a process is a base, and each 32 deltas later. */
export const DELTAS = { checkpoint: { interval: 'off', delta: { interval: '200ms', maxShare: 10 } } };

/** In async mode, the second push of these tasks has a gradient that is not finite. So the task is discarded then. */
const BAD_TASKS = [3, 11];
export const WITH_BAD_TASKS = { ...JOB, tasks: { maxDiscarded: BAD_TASKS.length } };

/** Writes the data, the same each time, and the job file. Returns the path of the job file. */
export function writeJob(place: Place, job: typeof JOB, cluster: object = {}): string {
  const random = createRandomStream(SEED);
  const badRecords = 'tasks' in job ? BAD_TASKS.map((task) => (task + 1) * RECORDS_PER_TASK - 1) : [];
  const lines = Array.from({ length: RECORDS }, (_, record) => {
    const ids = new Set<number>();
    while (ids.size < IDS_OF_EACH) ids.add(1 + Math.floor(HOT_IDS * random.uniform()));
    while (ids.size < 2 * IDS_OF_EACH) ids.add(1 + HOT_IDS + Math.floor(RARE_IDS * random.uniform()));
    const sorted = [...ids].sort((a, b) => a - b);
    const label = sorted[0]! % 3 === 0 || random.uniform() < 0.1 ? 1 : 0;
    const value = badRecords.includes(record) ? '3e38' : '1';
    return `${label} ${sorted.map((id) => `${id}:${value}`).join(' ')}\n`;
  });
  writeFileSync(place.path('train.libsvm'), lines.join(''));
  return place.writeJob({ ...job, cluster: { ...job.cluster, ...cluster } });
}
