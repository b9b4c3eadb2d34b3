/** Puts the job into the store, or finds that it exists already and is the same, or is to have more passes. */
import { resolve } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { planWarmStart, type WarmPlan } from '../../checkpoint/load/warm-plan.ts';
import { withCheckpointAt } from '../../checkpoint/set/checkpoint-set.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { type Carrying, recordCarriedIn } from '../../cluster/job/carried-record.ts';
import { classesOf, modelOf, trainedSpecOf } from '../../cluster/job/job-model.ts';
import {
  batchPlanId,
  JOB_RECORD_VERSION,
  type JobRecord,
  parseJobRecord,
  readJobRecord,
  unitsOf,
} from '../../cluster/job/job-record.ts';
import { newJoinToken } from '../../cluster/job/join-token.ts';
import { refuseOtherColumns, type WarmSide } from '../../cluster/job/warm-columns.ts';
import { withStatisticsOf } from '../../cluster/job/warm-statistics.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { makesFeatures } from '../../data/columns/column.ts';
import { coarseOddities, odditiesOf, sharedOddities } from '../../data/oddities.ts';
import { oneLabelOddity } from '../../data/one-label.ts';
import type { Job } from '../../job/schema.ts';
import { taskOf } from '../../model/registry.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { rowBytes, rowLayout } from '../../tensor/stored-tables.ts';
import { checkModel } from './check-model.ts';
import { checkTables } from './check-tables.ts';
import { type Dataset, factsOf, type JobData, labelledRecords, trainFactsOf } from './dataset.ts';
import type { IndexedJob } from './index-job.ts';
import { raisePasses } from './raise-passes.ts';
import type { Standing } from './standing.ts';

export interface PublishOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly dataDir: string;
  readonly loadData: () => Promise<IndexedJob>;
  /** The state of the job that this master found under the lock. */
  readonly standing: Exclude<Standing, { readonly kind: 'ended' }>;
  /** Ends waiting for the pservers of a job that is to have more passes. */
  readonly stopSignal: AbortSignal;
}

export interface PublishedJob {
  readonly record: JobRecord;
  readonly data: JobData;
}

/** `DataChanged` when the data is not what the job started with. */
export async function publishJob(options: PublishOptions): Promise<PublishedJob> {
  const { context, dataDir, standing } = options;
  const { store, keys } = context;
  const { job, data } = await options.loadData();
  warnOfOddities(context, job, data);
  if (standing.kind !== 'new') {
    const { record } = standing;
    refuseChangedData(record, data);
    if (standing.kind === 'unfinished') return { record, data };
    return { record: await raisePasses({ ...options, record, passes: job.training.passes }), data };
  }
  const record = await newRecord({ context, job, dataDir }, data);
  const value = publishable(keys.job, record);
  await retryStore(context, () =>
    fencedTxn(store, options.fence, {
      if: [{ key: keys.job, createRevision: 0n }],
      then: [
        { put: keys.job, value },
        { put: keys.token, value: newJoinToken(context.host.random) },
        // Not under a lease: it outlives every process.
        { put: keys.psDesired, value: String(job.cluster.pservers) },
        { put: keys.passesDesired, value: String(job.training.passes) },
        { put: keys.tasksState, value: JSON.stringify({ phase: 'train', pass: 0 }) },
      ],
    }),
  );
  const published = await retryStore(context, () => readJobRecord(store, keys));
  if (published?.id !== record.id)
    throw new PaddletError('JobConflict', `another job was published at ${keys.job} at the same time`);
  const { recordsPerTask } = job.data;
  context.host.log.info(`published job ${job.name}`, { jobId: record.id, tasks: record.train.tasks, recordsPerTask });
  return { record, data };
}

/** What is asked of a job that is new. */
interface NewJob extends Pick<PublishOptions, 'dataDir'> {
  readonly context: Pick<RoleContext, 'host' | 'makeModel'>;
  readonly job: Job;
}

/** The record that a new job gets. Throws what a master would refuse it with; writes nothing. */
export async function newRecord(options: NewJob, data: JobData): Promise<JobRecord> {
  const made = makeRecord(options, data);
  const spec = trainedSpecOf(made, options.context);
  checkModel(options.job, spec);
  checkTables(options.job, spec);
  refuseUnknownClasses(made);
  return warmed(options, made);
}

const pathsOf = ({ index }: Dataset): string[] => index.files.map(({ path }) => path);

function warnOfOddities({ host }: RoleContext, job: Job, { train, test }: JobData): void {
  const traits = [train, test].flatMap((dataset) => (dataset === undefined ? [] : [dataset.index.traits]));
  const odd = odditiesOf(traits, { task: taskOf(job.model), columns: job.data.columns });
  odd.push(...coarseOddities(train.index.statistics));
  if (test !== undefined && job.data.split === undefined) odd.push(...sharedOddities(pathsOf(train), pathsOf(test)));
  const oneLabels = [oneLabelOddity(labelledRecords(job, 'training', train))];
  if (test !== undefined) oneLabels.push(oneLabelOddity(labelledRecords(job, 'test', test)));
  odd.push(...oneLabels.filter((oddity) => oddity !== undefined));
  for (const { message, hint } of [...odd, ...tableOddities(job)]) host.log.warn(`${message}: ${hint}`);
}

/** Without eviction and bound, each id that comes once stays a candidate. */
function tableOddities({ tables }: Job): { readonly message: string; readonly hint: string }[] {
  return Object.entries(tables).flatMap(([name, { admission, eviction, maxBytes }]) => {
    if (admission?.type !== 'count' || eviction !== undefined || maxBytes !== undefined) return [];
    const message = `tables.${name} counts the updates of ids that have no row, and never forgets one`;
    return [{ message, hint: 'set an eviction or maxBytes' }];
  });
}

/** How many classes there are is known of the data. Throws `JobInvalid`. */
function refuseUnknownClasses(record: JobRecord): void {
  const { model, training } = record.job;
  if (taskOf(model) !== 'multiclass') return;
  const classes = classesOf(record);
  const unknown = Object.keys(training.classWeights ?? {}).find((name) => Number(name) >= classes);
  if (unknown === undefined) return;
  throw new PaddletError('JobInvalid', `training.classWeights.${unknown}: the data has no class ${unknown}`, {
    hint: `the classes of the data are 0 to ${classes - 1}`,
  });
}

/** The value, which every role can read. Throws `JobInvalid`: no role would find out what to do with another one. */
function publishable(key: string, record: JobRecord): string {
  const value = JSON.stringify(record);
  try {
    parseJobRecord(key, value);
  } catch (cause) {
    if (!isPaddletError(cause, 'StoreValueInvalid')) throw cause;
    throw new PaddletError('JobInvalid', `job ${record.job.name} cannot be published: ${cause.message}`, {
      cause,
      hint: 'paddlet cannot store the value of this field, and wrote nothing: change the job file or the data',
    });
  }
  return value;
}

/** What is counted of each kind of parameter. */
const LOADED = { dense: 'blocks', sparse: 'rows', candidates: 'candidates' } as const;

/** Plans, once for the whole job, what it takes over from another one. */
async function warmed({ context, job, dataDir }: NewJob, own: JobRecord): Promise<JobRecord> {
  if (job.warmStart === undefined) return own;
  const { storage, log } = context.host;
  const wish = { ...job.warmStart, from: resolve(dataDir, job.warmStart.from) };
  log.info(`warm start: checking ${wish.from}`);
  const record = await withCheckpointAt(storage, wish.from, async (set) => {
    const there = carriedThere(context, set.facts, own, wish.from);
    const read = there === undefined ? own : readAsThere(context, there, own);
    const plan = await planWarmStart(set, { wish, spec: trainedSpecOf(read, context) });
    if (there !== undefined) {
      if (plan.loaded.some(({ name }) => name === 'v')) refuseOtherVectors(there, job.model, wish.from);
      warnOfOtherColumns(context, there, read);
      const sideOf = (of: JobRecord): WarmSide => ({ record: of, model: modelOf(of, context) });
      refuseOtherColumns({ there: sideOf(there), here: sideOf(read), loaded: plan.loaded, from: wish.from });
    }
    return { ...read, warmStart: plan };
  });
  const { warmStart } = record;
  const { loaded, zeroed, initialized, leftOut, candidatesLeftOut = [], files } = warmStart;
  for (const { name, kind, rows, bytes } of loaded) {
    const what = kind === 'candidates' ? `the candidates of ${name} are` : `${name} is`;
    log.info(`warm start: ${what} loaded from job ${warmStart.job}`, { [LOADED[kind]]: rows, bytes });
  }
  for (const name of candidatesLeftOut) {
    const why = `job ${warmStart.job} has another admission rule for ${name}`;
    log.warn(`warm start: the candidates of ${name} are not loaded, because ${why}`);
  }
  warnOfBounds(context, record);
  log.info('warm start: planned', { files: files.length, zeroed, initialized, leftOut });
  return record;
}

function warnOfBounds(context: NewJob['context'], record: JobRecord & { readonly warmStart: WarmPlan }): void {
  for (const table of trainedSpecOf(record, context).sparse) {
    const { name, width, shardBytes } = table;
    const loaded = record.warmStart.loaded.find((one) => one.kind === 'sparse' && one.name === name);
    if (shardBytes === undefined || loaded === undefined) continue;
    const most = record.job.cluster.shards * Math.floor(shardBytes / rowBytes(width, rowLayout(table)));
    if (loaded.rows <= most) continue;
    context.host.log.warn(
      `warm start: ${name} has ${loaded.rows} rows in job ${record.warmStart.job}, but room for ${most} in its maxBytes; ` +
        'each shard loads the rows that were updated most recently',
    );
  }
}

/** A column that was renamed is one of them: what was learned of it is not used. */
function warnOfOtherColumns({ host }: NewJob['context'], there: JobRecord, here: JobRecord): void {
  const namesIn = ({ job }: JobRecord): string[] =>
    (job.data.columns ?? []).filter(makesFeatures).map(({ name }) => name);
  const [old, own] = [namesIn(there), namesIn(here)];
  const [removed, added] = [old.filter((name) => !own.includes(name)), own.filter((name) => !old.includes(name))];
  if (removed.length + added.length === 0) return;
  host.log.warn('warm start: the job of the checkpoint has other columns; new columns start untrained', {
    removed,
    added,
  });
}

/** Vectors of the same width mean something else of `ffm`: they are cut into one for each field. */
function refuseOtherVectors({ job: { model: there } }: JobRecord, model: Job['model'], from: string): void {
  const nameOf = (of: Job['model']): string => ('factors' in of ? `${of.type} with ${of.factors} factors` : of.type);
  if (![there.type, model.type].includes('ffm') || nameOf(there) === nameOf(model)) return;
  throw new PaddletError(
    'JobInvalid',
    `warmStart: v in ${from} belongs to ${nameOf(there)}, but the model of this job is ${nameOf(model)}`,
    {
      hint: 'leave v out of warmStart.vars',
    },
  );
}

/** The record of the job of the checkpoint. Files without one that can be read are taken by shapes alone. */
function carriedThere(
  { host }: NewJob['context'],
  facts: Carrying,
  { job }: JobRecord,
  from: string,
): JobRecord | undefined {
  try {
    return recordCarriedIn(facts, from);
  } catch (error) {
    if (!isPaddletError(error, 'VersionMismatch')) throw error;
    if (job.data.columns !== undefined) {
      host.log.warn(`warm start: cannot compare the columns or load their statistics: ${error.message}`);
    }
    return undefined;
  }
}

/** With the statistics of the number columns that the job of the checkpoint has, too. */
function readAsThere({ host }: NewJob['context'], there: JobRecord, own: JobRecord): JobRecord {
  const numbers = own.train.columns?.statistics.map(({ name }) => name) ?? [];
  if (numbers.length === 0) return own;
  const { record, taken } = withStatisticsOf(there, own);
  const others = numbers.filter((name) => !taken.includes(name));
  host.log.info('warm start: statistics of number columns', { taken, own: others });
  return record;
}

function makeRecord({ context, job, dataDir }: NewJob, data: JobData): JobRecord {
  const train = trainFactsOf(data.train);
  return {
    version: JOB_RECORD_VERSION,
    id: context.host.random.uuid(),
    created: context.host.clock.wallSeconds(),
    dataDir,
    batchPlanId: batchPlanId(job, train.digest),
    train,
    ...(data.test === undefined ? {} : { test: factsOf(data.test) }),
    units: unitsOf(job),
    job,
  };
}

export function refuseChangedData(record: JobRecord, data: JobData): void {
  const changed = [
    record.train.digest === factsOf(data.train).digest ? undefined : 'training',
    record.test?.digest === (data.test && factsOf(data.test).digest) ? undefined : 'test',
  ].filter((what) => what !== undefined);
  if (changed.length === 0) return;
  throw new PaddletError(
    'DataChanged',
    `the ${changed.join(' and ')} data has changed since job ${record.job.name} started`,
    {
      hint: 'restore the original files, or start the job over (`paddlet run --fresh`)',
    },
  );
}
