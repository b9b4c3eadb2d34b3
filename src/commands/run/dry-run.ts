/** `run --dry-run`: what the same command without it would do. Keeps an index of the data, and changes nothing else. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { trainedSpecOf } from '../../cluster/job/job-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { parseTrainersDesired, trainersFor } from '../../cluster/job/trainers-desired.ts';
import { isFolderLocked, lastHolder } from '../../host/folder-lock.ts';
import { freeDiskBytes } from '../../host/machine.ts';
import type { Job } from '../../job/schema.ts';
import { settledAs } from '../../job/settle-records.ts';
import type { Sizes } from '../../roles/launcher/wanted-sizes.ts';
import type { Dataset } from '../../roles/master/dataset.ts';
import type { IndexedJob } from '../../roles/master/index-job.ts';
import { newRecord, refuseChangedData } from '../../roles/master/publish-job.ts';
import { standingOf } from '../../roles/master/standing.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { CANDIDATE_BYTES, memoryFactor } from '../../tensor/admission/admission.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import { hasCandidates } from '../../tensor/stored-tables.ts';
import { checkWritable } from '../base/check-writable.ts';
import type { ClusterRun } from './cluster-run.ts';
import { type JobBefore, readJobBefore } from './job-before.ts';
import { denseBytesByPserver, type ParameterSize, parameterSizes, type Work, workOf } from './job-sizes.ts';
import { checkMayDelete } from './may-delete.ts';
import { inUse } from './working-folder.ts';

export interface DryRunOptions extends Omit<ClusterRun, 'store'> {
  /** Undefined when there is none yet. */
  readonly store: Store | undefined;
  /** `--fresh`. */
  readonly isFresh: boolean;
  /** `--yes`. */
  readonly isAgreed: boolean;
  /** There is a user to ask whether a job may be deleted. */
  readonly canAsk: boolean;
  /** `published`: the job as the store has it, if it does. */
  readonly loadData: (published: Job | undefined) => Promise<IndexedJob>;
}

export interface DryRun {
  readonly job: Job;
  readonly folder: string;
  readonly store: string;
  /** What would become of the job: started, started again after what `deletes` names is deleted, resumed, … */
  readonly would: 'begin' | 'startOver' | 'resume' | 'continue' | 'showEnd';
  readonly deletes?: JobBefore['progress'] | undefined;
  /** Whether `--yes` is given. */
  readonly isAgreed?: boolean;
  /** Absent for a job that has ended. */
  readonly plan?: Plan;
}

export interface Plan {
  readonly data: { readonly train: DataCounts; readonly test?: DataCounts };
  readonly work: Work;
  readonly processes: { readonly masters: 1 } & Sizes;
  readonly parameters: readonly ParameterSize[];
  readonly memory: Memory;
  readonly checkpoints: Checkpoints;
}

interface DataCounts {
  readonly files: number;
  readonly records: number;
  readonly tasks: number;
}

/** Memory of one pserver, including its copies of other units. */
interface Memory {
  /** Dense parameters on the pserver that has the most. */
  readonly denseBytes: number;
  /** Maximum on an average pserver; undefined if the number of rows is unknown. */
  readonly tableBytesAtMost?: number;
  /** As `tableBytesAtMost`, with the index of ids and everything else that rows take. */
  readonly tableMemoryBytesAtMost?: number;
}

interface Checkpoints {
  readonly folder: string;
  /**
   * Size of one checkpoint of all pservers, without ledgers and headers. `isAtLeast`: without rows too, since their
   * number is unknown.
   */
  readonly bytes: number;
  readonly isAtLeast: boolean;
  /** Number of checkpoints on disk at once: the newest, the older ones kept, and one being written. */
  readonly generations: number;
  /** Only with deltas: their size on each of these checkpoints, as a share of it. */
  readonly deltaShare?: number;
  readonly freeBytes: number;
}

/** Throws what `run` would refuse the job with. */
export async function dryRun(options: DryRunOptions): Promise<DryRun> {
  const { host, folder, url, loaded, store, isFresh, stop, keys } = options;
  if (isFolderLocked(folder)) throw inUse(folder, lastHolder(folder));
  checkWritable(folder);
  const where = { folder, store: url };
  const run = store && { ...options, store };
  const before =
    run && isFresh
      ? await retryUntilAnswered({ ...host, store: run.store, signal: stop }, () => readJobBefore(run.store, keys))
      : undefined;
  const standing = run === undefined || isFresh ? { kind: 'new' as const } : await standingOf(run, loaded.job);
  if (standing.kind === 'ended') {
    if ('failure' in standing.end) throw standing.end.failure;
    return { job: settledAs(standing.record.job, loaded.job), ...where, would: 'showEnd' };
  }
  await checkMayDelete({
    ...{ job: loaded.job.name, progress: before?.progress, isAgreed: options.isAgreed },
    // On a terminal, the run would ask.
    ask: options.canAsk ? async () => true : undefined,
  });
  const known = standing.kind === 'new' ? undefined : standing.record;
  const { job, data } = await options.loadData(known?.job);
  if (known !== undefined) refuseChangedData(known, data);
  const record = known ?? (await newRecord({ context: { host }, job, dataDir: loaded.dataDir }, data));
  const about = { job, ...where };
  const sizes = known === undefined ? { ...sizesIn(job) } : await sizesNow(run!, known);
  const plan = await planOf(options, { job, record, data, sizes });
  if (standing.kind === 'continued') return { ...about, would: 'continue', plan };
  if (standing.kind === 'unfinished') return { ...about, would: 'resume', plan };
  if (before?.entry === undefined) return { ...about, would: 'begin', plan };
  return { ...about, would: 'startOver', deletes: before.progress, isAgreed: options.isAgreed, plan };
}

/**
 * `tables`: sizes of all tables, which are known. Without a bound, each id may be a candidate before it gets its row.
 */
const tableMemory = ({ sparse }: TrainedSpec, tables: readonly ParameterSize[]): number =>
  tables.reduce((sum, { rowBytes, rowsAtMost, bytes }, at) => {
    const isCounting = hasCandidates(sparse[at]!);
    if (!isCounting || sparse[at]!.shardBytes !== undefined) return sum + bytes! * memoryFactor(rowBytes!, isCounting);
    const candidates = rowsAtMost! * CANDIDATE_BYTES * memoryFactor(CANDIDATE_BYTES, false);
    return sum + bytes! * memoryFactor(rowBytes!, false) + candidates;
  }, 0);

const sizesIn = ({ cluster: { pservers, trainers } }: Job): Sizes => ({ pservers, trainers });

/** As `startingSizes`, which also writes them down. */
async function sizesNow({ store, keys, loaded, host, stop }: ClusterRun, { job }: JobRecord): Promise<Sizes> {
  const entry = await retryUntilAnswered({ ...host, store, signal: stop }, () => store.get(keys.trainersDesired));
  const { trainers } = trainersFor(
    loaded.job.cluster.trainers,
    entry && parseTrainersDesired(entry),
    job.cluster.trainers,
  );
  return { pservers: job.cluster.pservers, trainers };
}

async function planOf(
  { folder }: DryRunOptions,
  { job, record, data, sizes }: IndexedJob & { readonly record: JobRecord; readonly sizes: Sizes },
): Promise<Plan> {
  const spec = trainedSpecOf(record);
  const parameters = parameterSizes(spec, record);
  const denseLed = denseBytesByPserver(spec, record, sizes.pservers);
  const tables = parameters.filter(({ rowBytes }) => rowBytes !== undefined);
  const isKnown = tables.every(({ bytes }) => bytes !== undefined);
  const sum = (of: readonly ParameterSize[]): number => of.reduce((all, { bytes = 0 }) => all + bytes, 0);
  const copies = Math.min(job.cluster.replicas, sizes.pservers);
  const ofOne = (bytes: number): number => Math.ceil((copies * bytes) / sizes.pservers);
  const checkpointFolder = resolve(job.checkpoint.dir ?? join(folder, 'checkpoints'));
  checkWritable(checkpointFolder);
  return {
    data: { train: countsOf(data.train), ...(data.test === undefined ? {} : { test: countsOf(data.test) }) },
    work: workOf(job, data.train.taskRecords),
    processes: { masters: 1, ...sizes },
    parameters,
    memory: {
      denseBytes: copies * Math.max(...denseLed),
      ...(isKnown && {
        tableBytesAtMost: ofOne(sum(tables)),
        tableMemoryBytesAtMost: ofOne(tableMemory(spec, tables)),
      }),
    },
    checkpoints: {
      folder: checkpointFolder,
      bytes: sum(parameters),
      isAtLeast: !isKnown,
      generations: job.checkpoint.keep + 2,
      ...(job.checkpoint.delta && { deltaShare: job.checkpoint.delta.maxShare }),
      freeBytes: await freeDiskBytes(nearestThere(checkpointFolder)),
    },
  };
}

const countsOf = ({ index, tasks }: Dataset): DataCounts => ({
  files: index.files.length,
  records: index.records,
  tasks: tasks.length,
});

/** The folder, or the one that it would be made in. */
const nearestThere = (folder: string): string => (existsSync(folder) ? folder : nearestThere(dirname(folder)));
