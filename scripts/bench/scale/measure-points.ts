/** Measures what the model needs: processor time and bytes a record of the executable, one job after the other. */
import { loadavg } from 'node:os';
import { type DataSet, prepareData } from '../training/data.ts';
import { runJob } from '../training/measure.ts';
import type { Paddlet } from '../training/paddlet.ts';
import { jobOf, type Scene, TABLE } from '../training/rows.ts';
import { type Span, spanOf } from '../training/spans.ts';
import { RECORDS_PER_TASK } from './constants.ts';
import { type Job, nameOf, type Point, ROW_CLUSTER, type RowNumber } from './points.ts';
import type { ClusterSize } from './walls.ts';

export interface MeasureOptions {
  readonly paddlet: Paddlet;
  readonly folder: string;
  /** Records of the training data. */
  readonly records: number;
  readonly passes: Readonly<Record<RowNumber, number>>;
  /** Rounds of each job. The round with the least processor time counts, since other work only adds to it. */
  readonly rounds: number;
  /** Time between two queries: each query costs processor time. */
  readonly lookMs: number;
  readonly say: (text: string) => void;
}

const ROWS: readonly RowNumber[] = ['4', '6'];
const BATCH_SIZES = [256, 1024, 4096] as const;
const PUSH_EVERY = [1, 4, 16] as const;
/** With a small batch the messages are a large part of all time. */
const MESSAGES_BATCH = 256;
/** One more pserver costs each push a message. */
const MESSAGES_CLUSTERS: readonly ClusterSize[] = [
  { pservers: 1, trainers: 1 },
  { pservers: 4, trainers: 1 },
];
/** A push ends with its task: what would be another push of the same records is left out. */
const jobs: readonly Job[] = ROWS.flatMap((row) =>
  BATCH_SIZES.flatMap((batchSize) => {
    const most = RECORDS_PER_TASK / batchSize;
    const groups = new Set(PUSH_EVERY.map((pushEvery) => Math.min(pushEvery, most)));
    return [...groups].map((pushEvery) => ({ row, batchSize, pushEvery }));
  }),
);

/** `only`: jobs whose name has one of these texts; all when it is empty. `done` gets each point when it is measured. */
export async function measurePoints(
  options: MeasureOptions,
  only: readonly string[],
  done: (point: Point) => void,
): Promise<void> {
  const { paddlet, folder, records, say } = options;
  const data = await prepareData('wide', { paddlet, real: '', folder, records });
  const wanted = [
    ...MESSAGES_CLUSTERS.map((size) => ({ job: { row: '4', batchSize: MESSAGES_BATCH, pushEvery: 1 } as const, size })),
    ...jobs.map((job) => ({ job, size: ROW_CLUSTER })),
  ].filter(({ job, size }) => isWanted(`${nameOf(job)}, ${size.pservers}+${size.trainers}`, only));
  for (const { job, size } of wanted) {
    const rounds: Point[] = [];
    for (let round = 0; round < options.rounds; round++) rounds.push(await measurePoint(options, data, job, size));
    const point = rounds.reduce((best, one) => (sumOf(one) < sumOf(best) ? one : best));
    done(point);
    say(`${nameOf(job)}, ${size.pservers}+${size.trainers}: ${describe(point)}`);
  }
}

async function measurePoint(options: MeasureOptions, data: DataSet, job: Job, size: ClusterSize): Promise<Point> {
  const passes = options.passes[job.row];
  const processes = size.pservers + size.trainers;
  const file = jobFileOf(job, size, passes, data.fields);
  const trial = await runJob(options, { job: file, data, passes, processes, lookMs: options.lookMs });
  const span = spanOf(trial.looks, 'later', trial.records, passes);
  if (span === undefined) throw new Error(`${nameOf(job)} is too short to be looked at: more passes, or --records`);
  return pointOf(job, size, span);
}

const sumOf = ({ micros }: Point): number => micros.trainer + micros.pserver + micros.master;

const isWanted = (name: string, only: readonly string[]): boolean =>
  only.length === 0 || only.some((text) => name.includes(text));

function jobFileOf({ row, batchSize, pushEvery }: Job, size: ClusterSize, passes: number, fields: Fields) {
  const { scene } = TABLE.find(({ number }) => number === row)!;
  const changed: Scene = { ...scene, batchSize };
  const job = jobOf(changed, 'async', passes, fields);
  return { ...job, training: { ...job.training, pushEvery, pullEvery: pushEvery }, cluster: size };
}

type Fields = Readonly<Record<string, string>>;

const pointOf = (job: Job, size: ClusterSize, span: Span): Point => ({
  ...job,
  ...size,
  recordsPerSecond: Math.round(span.recordsPerSecond),
  micros: {
    trainer: rounded(span.cpuPerRecord.trainer),
    pserver: rounded(span.cpuPerRecord.pserver),
    master: rounded(span.cpuPerRecord.master),
  },
  sentPerRecord: rounded(span.sentPerRecord),
  receivedPerRecord: rounded(span.receivedPerRecord),
  load: rounded(loadavg()[0]!),
});

const rounded = (value: number): number => Number(value.toPrecision(3));

const describe = ({ recordsPerSecond, micros, sentPerRecord, receivedPerRecord, load }: Point): string =>
  `${recordsPerSecond} records/s; CPU a record, µs: trainers ${micros.trainer}, pservers ${micros.pserver}, ` +
  `master ${micros.master}; bytes a record: ${sentPerRecord} sent, ${receivedPerRecord} received; load ${load}`;
