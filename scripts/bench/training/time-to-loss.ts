/**
 * How long a job trains until its loss is low enough: what counts when gradients may be stale. Each job runs with one
 * and with two trainers, with its default of `training.pullAhead` and with other values, in turns.
 */
import { join } from 'node:path';
import { type Figure, median } from '../figure.ts';
import { prepareData } from './data.ts';
import { type Bench, runJob } from './measure.ts';

interface LossJob {
  readonly name: string;
  /** The mean over the last `window` records that were trained. */
  readonly loss: number;
  readonly window: number;
  readonly passes: number;
  readonly folder: string;
  readonly job: Readonly<Record<string, unknown>>;
}

/** `pullAhead` undefined: the default of the job. */
interface Variant {
  readonly trainers: number;
  readonly pullAhead: number | undefined;
}

const VARIANTS: readonly Variant[] = [1, 2].flatMap((trainers) =>
  [undefined, 0, 2].map((pullAhead) => ({ trainers, pullAhead })),
);

const CATEGORIES = 10;

/** DeepFM on clicks with planted factors: ten categories, 5,000 ids, 200,000 records. */
async function clicks({ paddlet, folder }: Bench): Promise<LossJob> {
  const at = join(folder, 'clicks');
  const counts = { records: 200_000, 'test-records': 1_000, features: 5_000, 'per-record': CATEGORIES, factors: 8 };
  const flags = Object.entries({ ...counts, numbers: 0 }).flatMap(([flag, count]) => [`--${flag}`, `${count}`]);
  await paddlet.call('data', 'synth', '--output', at, '--as', 'csv', ...flags);
  const names = Array.from({ length: CATEGORIES }, (_, column) => `C${column + 1}`);
  const columns = { label: 'label', ...Object.fromEntries(names.map((name) => [name, 'category'])) };
  return {
    ...{ name: 'DeepFM 400-400-400, 10 of 5,000, batch 1024', loss: 0.6, window: 32_768, passes: 3, folder: at },
    job: {
      data: { format: 'csv', train: 'train.csv', columns, recordsPerTask: 8192 },
      model: { type: 'deepfm', factors: 10, hidden: [400, 400, 400], dropout: 0.2 },
      optimizer: { type: 'adam', learningRate: 0.001 },
      cluster: { pservers: 1 },
    },
  };
}

/** Row 4. */
async function wide(bench: Bench, real: string, records: number): Promise<LossJob> {
  const { folder, fields } = await prepareData('wide', { paddlet: bench.paddlet, real, folder: bench.folder, records });
  return {
    ...{ name: 'LR, 39 of 1 M, batch 1024', loss: 0.65, window: 32_768, passes: 8, folder },
    job: {
      data: { ...fields, recordsPerTask: 8192 },
      model: { type: 'lr' },
      optimizer: { type: 'adagrad', learningRate: 0.05 },
      cluster: { pservers: 2 },
    },
  };
}

export interface Point {
  readonly kind: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly records: number;
  readonly logloss: number;
}

/** Seconds from the first point to the one with which the mean loss of the window is low enough, or infinity. */
export function secondsTo(points: readonly Point[], loss: number, window: number): number {
  let from = 0;
  let records = 0;
  let sum = 0;
  for (const point of points) {
    records += point.records;
    sum += point.records * point.logloss;
    for (; records - points[from]!.records >= window; from++) {
      records -= points[from]!.records;
      sum -= points[from]!.records * points[from]!.logloss;
    }
    if (records >= window && sum / records <= loss) return point.time - points[0]!.time;
  }
  return Number.POSITIVE_INFINITY;
}

interface Ended {
  readonly seconds: number;
  readonly loss: number;
  readonly recordsPerSecond: number;
}

async function train(bench: Bench, of: LossJob, { trainers, pullAhead }: Variant): Promise<Ended> {
  const { job, folder, passes, loss, window } = of;
  const cluster = { ...(job.cluster as object), trainers };
  const training = { passes, batchSize: 1024, ...(pullAhead !== undefined && { pullAhead }) };
  const data = { folder, fields: {}, plain: [] };
  const whole = { name: 'time-to-loss', ...job, training, cluster, checkpoint: { interval: 'off' } };
  const { result } = await runJob(bench, { job: whole, data, passes, processes: trainers + 1, lookMs: 5_000 });
  const lines = await bench.paddlet.call('history', '--dir', 'run', '--as', 'jsonl');
  const points = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Point);
  const seconds = secondsTo(
    points.filter(({ kind }) => kind === 'train'),
    loss,
    window,
  );
  return { seconds, loss: result.metrics.train?.logloss ?? Number.NaN, recordsPerSecond: result.recordsPerSecond };
}

const nameOf = ({ trainers, pullAhead }: Variant): string =>
  `${trainers} trainer${trainers > 1 ? 's' : ''}, pullAhead ${pullAhead ?? 'by default'}`;

export interface LossOptions {
  readonly rounds: number;
  /** Real data, and records of the wide data, as for the rows. */
  readonly real: string;
  readonly records: number;
  readonly say: (text: string) => void;
}

export async function timesToLoss(bench: Bench, { rounds, real, records, say }: LossOptions): Promise<Figure[]> {
  const jobs = [await clicks(bench), await wide(bench, real, records)];
  const ended = new Map<string, Ended[]>();
  const keyOf = (job: LossJob, variant: Variant): string => `${job.name}, ${nameOf(variant)}`;
  for (let round = 0; round < rounds; round++) {
    for (const job of jobs) {
      for (const variant of VARIANTS) {
        const one = await train(bench, job, variant);
        const key = keyOf(job, variant);
        ended.set(key, [...(ended.get(key) ?? []), one]);
        say(`${key}: ${Math.round(one.recordsPerSecond)} records/s, loss of the last pass ${one.loss.toFixed(4)}`);
      }
    }
  }
  return jobs.flatMap((job) =>
    VARIANTS.map((variant) => {
      const seconds = ended.get(keyOf(job, variant))!.map((one) => one.seconds);
      const what = `time to a loss of ${job.loss}: ${keyOf(job, variant)}`;
      return { what, value: median(seconds), bestValue: Math.min(...seconds), unit: 's' };
    }),
  );
}
