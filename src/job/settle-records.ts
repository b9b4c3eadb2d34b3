/** `data.recordsPerTask: auto` becomes a number once, before a job is published. */
import type { Job, RequestedJob } from './schema.ts';

/** The job with a number of records per task: that of its file, or `chosen` if the file says `auto`. */
export function settleRecords({ data, ...job }: RequestedJob, chosen: number): Job {
  const { recordsPerTask } = data;
  return { ...job, data: { ...data, recordsPerTask: recordsPerTask === 'auto' ? chosen : recordsPerTask } };
}

/** A job that is published keeps its number, whatever would be chosen today. */
export const settledAs = (published: Pick<Job, 'data'>, requested: RequestedJob): Job =>
  settleRecords(requested, published.data.recordsPerTask);
