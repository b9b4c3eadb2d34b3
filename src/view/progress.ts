/** How far a job is, and how fast: from its master, its result, or what its last master saved. Pure. */
import type { JobResult } from '../cluster/job/job-result.ts';
import type { DirectingInfo } from './info.ts';
import type { StoredProgress } from './stored-progress.ts';

/** Passes and rounds count from 0. */
export interface JobProgress {
  readonly passes: number;
  readonly pass?: number | undefined;
  /** Fraction of all passes that is done, 0 to 1; undefined while the position is unknown. */
  readonly share?: number | undefined;
  /** Tasks of all passes (async mode). */
  readonly tasks?: TaskCounts | undefined;
  readonly tasksOfPass?: (TaskCounts & { readonly pending: number }) | undefined;
  /** Rounds of all passes (sync mode). */
  readonly rounds?: { readonly done: number; readonly total: number } | undefined;
  readonly roundsOfPass?: { readonly done: number; readonly total: number } | undefined;
  /** Records trained on, over all passes. */
  readonly records?: number | undefined;
  /** Mean speed since the master started to direct the job; of a job that is done, since the job started. */
  readonly recordsPerSecond?: number | undefined;
  /**
   * Until the last pass is over, at the mean speed. Undefined while that is unknown, and once training is over. A job
   * that stops early ends before.
   */
  readonly secondsLeft?: number | undefined;
  /** Mean loss that the trainers report for their latest records. */
  readonly loss?: number | undefined;
}

interface TaskCounts {
  readonly total: number;
  readonly done: number;
  readonly discarded: number;
}

export function progressOfMaster(master: DirectingInfo): JobProgress {
  const { passes, recordsPerSecond, phase } = master;
  const place = master.mode === 'sync' ? roundsOf(master) : tasksOf(master);
  const share = phase === 'training' ? place.share : 1;
  const isMoving = phase === 'training' && share !== undefined && (recordsPerSecond ?? 0) > 0;
  return {
    ...place,
    passes,
    share,
    recordsPerSecond,
    ...(isMoving && { secondsLeft: ((1 - share) * passes * master.records) / recordsPerSecond! }),
    ...lossOf(master),
  };
}

type Place = Omit<JobProgress, 'passes'>;

function tasksOf({ tasks, passes, sums }: Extract<DirectingInfo, { mode: 'async' }>): Place {
  const { pass, total, done, discarded, pending } = tasks;
  const all = { total: passes * total, done: pass * total + done, discarded };
  const share = Math.min(1, (all.done + discarded) / Math.max(1, all.total));
  return { pass, tasks: all, tasksOfPass: { total, done, discarded, pending }, share, records: sums.read };
}

function roundsOf({ rounds }: Extract<DirectingInfo, { mode: 'sync' }>): Place {
  const { round, total, pass, ofPass, records } = rounds;
  if (round === undefined) return { pass };
  return {
    ...{ pass, records, rounds: { done: round, total }, share: round / Math.max(1, total) },
    ...(ofPass && { roundsOfPass: { done: ofPass.round, total: ofPass.rounds } }),
  };
}

function lossOf({ trainers }: DirectingInfo): Pick<JobProgress, 'loss'> {
  const losses = Object.values(trainers).flatMap(({ loss }) => loss ?? []);
  return losses.length === 0 ? {} : { loss: losses.reduce((sum, loss) => sum + loss, 0) / losses.length };
}

/** `passes` that the job asks for: a job that stops early has made fewer. */
export function progressOfResult(result: JobResult, passes: number): JobProgress {
  const { mode, tasks, recordsPerSecond, evaluation } = result;
  const ended = evaluation?.last.passes ?? passes;
  return { passes, pass: ended - 1, share: 1, recordsPerSecond, ...(mode === 'async' && { tasks }) };
}

export function progressOfStored(stored: StoredProgress, passes: number): JobProgress {
  const { pass } = stored;
  if (stored.mode === 'sync') {
    const { round, total, records } = stored;
    return { passes, pass, records, rounds: { done: round, total }, share: round / Math.max(1, total) };
  }
  const { tasks, records } = stored;
  return {
    passes,
    pass,
    tasks,
    records: records.read,
    share: (tasks.done + tasks.discarded) / Math.max(1, tasks.total),
  };
}
