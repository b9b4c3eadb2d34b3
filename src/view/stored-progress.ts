/**
 * How far a job is that no master directs now: from the queue that the last one saved, in sync mode from the newest
 * checkpoints.
 */

import { roundPlanOf } from '../cluster/job/job-plan.ts';
import type { JobRecord } from '../cluster/job/job-record.ts';
import { loadQueue } from '../cluster/job/queue-store.ts';
import { trainingTasks } from '../core/tasks/address.ts';
import { createTaskQueue } from '../core/tasks/queue.ts';
import { totalSums } from '../core/tasks/state.ts';
import type { Keys } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import type { JobStatus } from './describe-job.ts';

/** Passes and rounds count from 0. Tasks and records over all passes. */
export type StoredProgress =
  | {
      readonly mode: 'async';
      readonly pass: number;
      readonly tasks: { readonly total: number; readonly done: number; readonly discarded: number };
      /** Records of the finished tasks. */
      readonly records: { readonly read: number; readonly bad: number; readonly duplicate: number };
    }
  | {
      readonly mode: 'sync';
      readonly pass: number;
      readonly round: number;
      readonly total: number;
      /** Records of the rounds before `round`, including bad ones. */
      readonly records: number;
    };

type Known = Pick<JobStatus, 'record' | 'checkpoints'>;

/** Undefined before the first task was handed out. */
export async function readStoredProgress(store: Store, keys: Keys, known: Known): Promise<StoredProgress | undefined> {
  return known.record.job.training.mode === 'sync' ? syncProgress(known) : asyncProgress(store, keys, known.record);
}

async function asyncProgress(store: Store, keys: Keys, record: JobRecord): Promise<StoredProgress | undefined> {
  const saved = await loadQueue(store, keys);
  if (saved === undefined) return undefined;
  const { job, train } = record;
  const queue = createTaskQueue(
    {
      addressing: trainingTasks,
      taskRecords: new Uint32Array(train.tasks),
      describeTask: String,
      ...job.training,
      ...job.cluster,
      ...job.tasks,
    },
    saved,
    0,
  );
  const { ended, current } = queue.totals();
  const { read, bad, duplicate } = totalSums([...ended.map(({ sums }) => sums), current]);
  const { pass, done, discarded, phase } = queue.counts();
  const passes = phase === 'ended' ? ended : [...ended, { done, discarded }];
  return {
    mode: 'async',
    pass,
    tasks: {
      total: job.training.passes * train.tasks,
      done: passes.reduce((sum, one) => sum + one.done, 0),
      discarded: passes.reduce((sum, one) => sum + one.discarded, 0),
    },
    records: { read, bad, duplicate },
  };
}

/** The round that all newest files are of, from which the job resumes if no file is missing. */
function syncProgress({ record, checkpoints }: Known): StoredProgress {
  const { passes } = record.job.training;
  const rounds = checkpoints.map((one) => ('error' in one ? 0 : (one.round ?? 0)));
  const round = rounds.length < record.job.cluster.pservers ? 0 : Math.min(...rounds);
  const plan = roundPlanOf(record);
  const total = plan.firstOf(passes);
  const place = plan.placeOf(round);
  const passesDone = place === undefined ? passes : place.pass + place.round / Math.max(1, plan.roundsOf(place.pass));
  return {
    mode: 'sync',
    pass: place?.pass ?? passes,
    round,
    total,
    records: Math.round(passesDone * record.train.records),
  };
}
