/** The data of a job file, cut into tasks: where the number of records per task is settled. */
import { chooseRecordsPerTask } from '../../data/choose-records-per-task.ts';
import type { DataPlace } from '../../data/place.ts';
import type { Job, RequestedJob } from '../../job/schema.ts';
import { settleRecords } from '../../job/settle-records.ts';
import { indexRequestOf, type JobData, loadJobData } from './dataset.ts';

export interface IndexedJob {
  readonly job: Job;
  readonly data: JobData;
}

/** A job that is published already has its number. Errors are those of `loadJobData`. */
export async function indexJob(place: DataPlace, requested: RequestedJob): Promise<IndexedJob> {
  const job = settleRecords(requested, await chosenFor(place, requested));
  return { job, data: await loadJobData(place, job) };
}

async function chosenFor(place: DataPlace, job: RequestedJob): Promise<number> {
  const { recordsPerTask, train, trainLabels } = job.data;
  if (recordsPerTask !== 'auto') return recordsPerTask;
  return chooseRecordsPerTask(place, indexRequestOf(job, train, trainLabels, 'train'), job.training);
}
