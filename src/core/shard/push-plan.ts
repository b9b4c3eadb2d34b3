/**
 * How many records the pushes of a task have: a function of `/job` alone, as chunks end where tasks end (decision 14).
 * With it a pserver judges the counts that a push names (docs/modes.md, "Batch plan id").
 */
import type { PushPosition } from './ledger.ts';

export interface PushPlanOptions {
  /** Indexed records of a pass, and the tasks that they are cut into. */
  readonly records: number;
  readonly tasks: number;
  readonly recordsPerTask: number;
  readonly batchSize: number;
  /** Mini-batches of a push; 1 in sync mode. */
  readonly pushEvery: number;
  /** Limit for one task: a task with more bad records is never pushed. */
  readonly maxBadRecords: number;
}

export interface PushPlan {
  /** Indexed records of a task. */
  recordsOf(task: number): number;
  /** Pushes of a task. */
  pushesOf(task: number): number;
  /** Indexed records of the task up to and including that push. */
  recordsUpTo(task: number, push: number): number;
  /** Why no attempt can make this push; undefined when one can. */
  whyUnplanned(push: PushPosition): string | undefined;
}

export function createPushPlan(options: PushPlanOptions): PushPlan {
  const { batchSize, pushEvery, maxBadRecords } = options;
  const recordsOf = (task: number): number => recordsOfTask(options, task);
  const pushesOf = (task: number): number => Math.ceil(Math.max(1, Math.ceil(recordsOf(task) / batchSize)) / pushEvery);
  const recordsUpTo = (task: number, push: number): number =>
    Math.min(recordsOf(task), (push + 1) * pushEvery * batchSize);

  function whyUnplanned({ task, push, last, good }: PushPosition): string | undefined {
    const pushes = pushesOf(task);
    if (push >= pushes) return `the task has ${pushes} pushes`;
    if (last !== (push === pushes - 1)) return `the last push of the task is ${pushes - 1}`;
    const records = recordsUpTo(task, push);
    if (good > records) return `${good} good records of ${records}`;
    if (records - good <= maxBadRecords) return undefined;
    return `${good} good records of ${records}, and data.maxBadRecords is ${maxBadRecords}`;
  }

  return { recordsOf, pushesOf, recordsUpTo, whyUnplanned };
}

/** Every task has `recordsPerTask` records; the last one has what is left. */
export function recordsOfTask(
  { records, recordsPerTask }: Pick<PushPlanOptions, 'records' | 'recordsPerTask'>,
  task: number,
): number {
  return Math.max(0, Math.min(recordsPerTask, records - task * recordsPerTask));
}

/** What a shard has applied of a task: the next push wanted, and the good records below it. */
export interface AppliedPushes {
  readonly next: number;
  readonly good: number;
}

/**
 * Why a push contradicts what a shard has applied of its task; undefined when it does not. Pushes are the same records
 * for any trainer, so two attempts that count them differently cannot both be right.
 */
export function whyContradicts(plan: PushPlan, push: PushPosition, applied: AppliedPushes): string | undefined {
  if (push.push === applied.next - 1) {
    if (push.good === applied.good) return undefined;
    return `${push.good} good records up to push ${push.push}, where ${applied.good} are applied`;
  }
  if (push.push !== applied.next) return undefined;
  const before = push.push === 0 ? 0 : plan.recordsUpTo(push.task, push.push - 1);
  const planned = plan.recordsUpTo(push.task, push.push) - before;
  const added = push.good - applied.good;
  if (added >= 0 && added <= planned) return undefined;
  return (
    `${push.good} good records up to push ${push.push}, where ${applied.good} are applied ` +
    `and the push has ${planned} records`
  );
}
