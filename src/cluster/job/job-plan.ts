/** What follows from the record of a job: the records of its pushes, and how its shards are grouped. */
import { createRoundPlan, type RoundPlan } from '../../core/rounds/plan.ts';
import { createPushPlan, type PushPlan, type PushPlanOptions } from '../../core/shard/push-plan.ts';
import type { Grouping } from '../../core/units/units.ts';
import type { JobRecord } from './job-record.ts';

export const pushPlanOf = (record: JobRecord): PushPlan => createPushPlan(planOptionsOf(record));

/** The rounds of a job in sync mode. */
export function roundPlanOf(record: JobRecord): RoundPlan {
  const { recordsOf } = pushPlanOf(record);
  const taskRecords = Uint32Array.from({ length: record.train.tasks }, (_, task) => recordsOf(task));
  return createRoundPlan({ taskRecords, ...record.job.training });
}

function planOptionsOf({ train, job }: JobRecord): PushPlanOptions {
  const { records, tasks } = train;
  const { recordsPerTask, maxBadRecords } = job.data;
  const { batchSize, mode, pushEvery } = job.training;
  return { records, tasks, recordsPerTask, maxBadRecords, batchSize, pushEvery: mode === 'sync' ? 1 : pushEvery };
}

/** How the shards of the job are grouped. */
export const groupingOf = ({ units, job }: Pick<JobRecord, 'units' | 'job'>): Grouping => {
  return { shards: job.cluster.shards, units };
};
