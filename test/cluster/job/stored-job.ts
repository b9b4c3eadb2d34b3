/** A job as it is in a store, for tests of what reads or changes it. */
import { batchPlanId, JOB_RECORD_VERSION, type JobRecord, unitsOf } from '../../../src/cluster/job/job-record.ts';
import type { JobResult } from '../../../src/cluster/job/job-result.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { Job, RequestedJob } from '../../../src/job/schema.ts';
import { settleRecords } from '../../../src/job/settle-records.ts';
import type { Keys } from '../../../src/store/keys.ts';
import type { Op } from '../../../src/store/store.ts';

export interface JobOptions {
  readonly passes?: number;
  readonly mode?: 'async' | 'sync';
  readonly pservers?: number;
  /** Other settings of its data. */
  readonly data?: object;
  /** Another one than lr. */
  readonly model?: object;
  /** Of its training. */
  readonly training?: object;
  /** Settings of its tables. */
  readonly tables?: object;
  /** Of its cluster. */
  readonly cluster?: object;
}

export const aJob = ({ passes = 2, mode = 'async', pservers = 2, ...others }: JobOptions = {}): Job =>
  asPublished(
    parseJobFile(
      'job.yaml',
      JSON.stringify({
        name: 'test',
        data: { train: 'train.libsvm', format: 'libsvm', ...others.data },
        model: others.model ?? { type: 'lr' },
        tables: others.tables,
        training: { passes, mode, ...others.training },
        cluster: { pservers, shards: 8, leaseTtl: '2s', ...others.cluster },
      }),
    ),
  );

/** The job as it is published; a file that leaves it to paddlet gets 1000 records per task. */
export const asPublished = (job: RequestedJob): Job => settleRecords(job, 1000);

const DIGEST = '0'.repeat(64);

export interface RecordOptions {
  readonly id?: string;
  readonly created?: number;
  readonly dataDir?: string;
  readonly train?: Partial<JobRecord['train']>;
}

export const recordOf = (requested: RequestedJob, { train, ...others }: RecordOptions = {}): JobRecord => {
  const job = asPublished(requested);
  return {
    version: JOB_RECORD_VERSION,
    id: '6f8d2c1a-0000-4000-8000-00000000000a',
    created: 1,
    dataDir: '/data',
    batchPlanId: batchPlanId(job, DIGEST),
    train: { records: 3, tasks: 1, featureBound: '4', labelBound: 2, fieldBound: 0, digest: DIGEST, ...train },
    units: unitsOf(job),
    ...others,
    job,
  };
};

/** Puts the job as the first master does. */
export const publishing = (keys: Keys, record: JobRecord): Op[] => [
  { put: keys.job, value: JSON.stringify(record) },
  { put: keys.psDesired, value: String(record.job.cluster.pservers) },
  { put: keys.passesDesired, value: String(record.job.training.passes) },
  { put: keys.tasksState, value: JSON.stringify({ phase: 'train', pass: 0 }) },
];

export const aResult = ({ name, training }: Job): JobResult => ({
  job: name,
  mode: training.mode,
  passes: training.passes,
  tasks: { total: training.passes, done: training.passes, discarded: 0 },
  records: { read: 6, applied: 6, duplicate: 0, bad: 0, discarded: 0, lost: 0 },
  metrics: {},
  modelDigest: 'm',
  stateDigest: 's',
  recordsPerSecond: 1,
  elapsedSeconds: 1,
  checkpoints: [],
});

/** What a finished job has in the store, beside the job. */
export const finishing = (keys: Keys, job: Job): Op[] => [
  { put: keys.result, value: JSON.stringify(aResult(job)) },
  ...(job.training.mode === 'sync'
    ? []
    : [{ put: keys.tasksState, value: JSON.stringify({ phase: 'ended', pass: job.training.passes - 1 }) }]),
  { put: keys.hook('before', 0), value: '{"state":"done","since":1}' },
  { put: keys.hook('after', 0), value: '{"state":"done","since":1}' },
];
