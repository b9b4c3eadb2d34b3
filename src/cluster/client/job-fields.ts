import type { JobRecord } from '../job/job-record.ts';

/** The fields that every request of a job has. */
export const jobFields = (record: JobRecord): { readonly job: string; readonly batchPlanId: string } => ({
  job: record.id,
  batchPlanId: record.batchPlanId,
});
