/** The order of the records of a task in a pass: as in the files, or shuffled (`data.shuffle`). */
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { shuffledTask } from '../../../core/shuffle.ts';
import { reordered } from '../../../data/reordered.ts';
import type { TaskRecords } from '../../../data/source.ts';

export interface PassAndTask {
  readonly pass: number;
  readonly task: number;
}

export type PassOrder = (records: TaskRecords, at: PassAndTask) => TaskRecords;

export function passOrderOf({ job }: Pick<JobRecord, 'job'>): PassOrder {
  if (job.data.shuffle === 'tasks') return (records) => records;
  const { seed } = job.training;
  return (records, { pass, task }) => reordered(records, shuffledTask(records.records, seed, pass, task));
}
