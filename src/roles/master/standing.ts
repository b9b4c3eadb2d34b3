/** What the store has of a job when a process brings the job file: nothing yet, work to go on with, or its end. */
import { PaddletError } from '../../base/errors.ts';
import type { StoreContext } from '../../cluster/context.ts';
import { type JobRecord, parseJobRecord, recordIn } from '../../cluster/job/job-record.ts';
import { type JobEnd, parseJobEnd } from '../../cluster/job/job-watch.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { diffJobs, type JobDifference } from '../../job/diff-jobs.ts';
import type { Job, RequestedJob } from '../../job/schema.ts';
import { settledAs } from '../../job/settle-records.ts';

export type Standing = {
  /** `modRevision` of `/result`; 0n without one. */
  readonly resultRevision: bigint;
} & (
  | { readonly kind: 'new' }
  /** The same job, unfinished. */
  | { readonly kind: 'unfinished'; readonly record: JobRecord }
  /** The same job, which has ended. */
  | { readonly kind: 'ended'; readonly end: JobEnd; readonly record: JobRecord }
  /** The same job with more passes: it is to be continued, finished or not. */
  | { readonly kind: 'continued'; readonly record: JobRecord }
);

/** How a master asks: the number of pservers changes while masters run, and `/ps_desired` says what it is. */
export const standingOfMaster = (context: StoreContext, job: RequestedJob): Promise<Standing> =>
  find(context, job, () => [...FREE, PSERVERS]);

/**
 * Throws `JobConflict` when the job in the store has other settings than only fewer passes. A job file need not follow
 * `paddlet resize` and `paddlet restore`: it may have the number of pservers of the start.
 */
export const standingOf = (context: StoreContext, job: RequestedJob): Promise<Standing> =>
  find(context, job, (published) => (job.cluster.pservers === published ? [...FREE, PSERVERS] : FREE));

/** `freeOf`: the fields that may differ, for the number of pservers that the job was published with. */
async function find(
  context: StoreContext,
  job: RequestedJob,
  freeOf: (published: number) => readonly string[],
): Promise<Standing> {
  const { store, keys } = context;
  const gets = [keys.job, keys.psDesired, keys.passesDesired, keys.result].map((get) => ({ get }));
  const { results } = await retryStore(context, () => store.txn({ if: [], then: gets }));
  const record = recordIn(keys, results);
  const entry = results[3];
  const resultRevision = entry?.modRevision ?? 0n;
  if (record === undefined) return { kind: 'new', resultRevision };
  const end = entry && parseJobEnd(entry.key, entry.value);
  const { pservers: published } = parseJobRecord(keys.job, results[0]!.value).job.cluster;
  const wanted = compare(record.job, job, { end, free: freeOf(published) });
  if (wanted === 'morePasses') return { kind: 'continued', record, resultRevision };
  if (end !== undefined) return { kind: 'ended', end, record, resultRevision };
  return { kind: 'unfinished', record, resultRevision };
}

/** Throws `JobConflict` when they differ, in the number of passes too; not in sizes, which change while a job runs. */
export function refuseDifferences(before: Job, now: RequestedJob): void {
  const differences = differencesOf(before, now, [...FREE, PSERVERS]);
  if (differences.length > 0) throw conflict(before, differences, undefined);
}

const PSERVERS = 'cluster.pservers';
/** How many trainers a launcher starts is not part of the job: they come and go at any time. */
const FREE: readonly string[] = ['cluster.trainers'];

/** A file that says `auto` agrees with any number of records per task. */
const differencesOf = (before: Job, now: RequestedJob, free: readonly string[]): JobDifference[] =>
  diffJobs(before, settledAs(before, now)).filter(({ field }) => !free.includes(field));

interface Compared {
  readonly end: JobEnd | undefined;
  /** Fields that may differ. */
  readonly free: readonly string[];
}

function compare(before: Job, now: RequestedJob, { end, free }: Compared): 'same' | 'morePasses' {
  const differences = differencesOf(before, now, free);
  if (differences.length === 0) return 'same';
  const isRaised = now.training.passes > before.training.passes;
  const hasFailed = end !== undefined && 'failure' in end;
  if (isRaised && differences.length === 1 && !hasFailed) return 'morePasses';
  throw conflict(before, differences, end);
}

function conflict(job: Job, differences: readonly JobDifference[], end: JobEnd | undefined): PaddletError {
  const lines = differences.map(
    ({ field, before, after }) => `  ${field}: ${settingText(before)} → ${settingText(after)}`,
  );
  const resized = end === undefined ? differences.find(({ field }) => field === PSERVERS) : undefined;
  const fewer = differences.some(({ field, before, after }) => field === PASSES && Number(after) < Number(before));
  return new PaddletError('JobConflict', `${whatItIs(job, end)} with different settings:\n${lines.join('\n')}`, {
    hint: fewer
      ? tooFew(job, end)
      : `${resized === undefined ? '' : asResized(resized)}undo the change, ${ELSE}${isFailed(end) ? '' : MORE_PASSES}`,
  });
}

const settingText = (value: unknown): string => (value === undefined ? 'not set' : JSON.stringify(value));

const PASSES = 'training.passes';
/** The number of pservers is changed while the job runs, not by its file. */
const asResized = ({ after }: JobDifference): string =>
  `to change the number, start the job unchanged and use \`paddlet resize --pservers ${after}\`; otherwise `;
const ELSE = 'give the job another name, or start it over (`paddlet run --fresh`)';
const MORE_PASSES = `; if you only raise ${PASSES}, the job continues`;

const isFailed = (end: JobEnd | undefined): boolean => end !== undefined && 'failure' in end;

function whatItIs({ name }: Job, end: JobEnd | undefined): string {
  if (end === undefined) return `job ${name} was started`;
  if ('result' in end) return `job ${name} is finished; it was trained`;
  return `job ${name} has failed (${end.failure.code}: ${end.failure.message}); it was started`;
}

/** Updates cannot be taken back, and pservers may have closed discarded tasks in all passes. */
function tooFew({ training }: Job, end: JobEnd | undefined): string {
  const done = end !== undefined && 'result' in end;
  const has = done ? `${training.passes} passes are done` : `the job has ${training.passes} passes`;
  return `${has}, and ${PASSES} can only be raised: set ${PASSES} to that number or a higher one, ${ELSE}`;
}
