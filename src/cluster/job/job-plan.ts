/** The records of the pushes of a job, from its record in the store. */
import { createRoundPlan, type RoundPlan } from '../../core/rounds/plan.ts';
import { createPushPlan, type PushPlan, type PushPlanOptions } from '../../core/shard/push-plan.ts';
import type { JobRecord } from './job-record.ts';

export const pushPlanOf = (record: JobRecord): PushPlan => createPushPlan(planOptionsOf(record));

/** Of a job in sync mode. */
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
