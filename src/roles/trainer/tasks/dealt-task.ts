/** A task that the master dealt to this trainer: it is read while the one before it is processed. */
import { PaddletError } from '../../../base/errors.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { DataPlace } from '../../../data/place.ts';
import type { TaskRecords } from '../../../data/source.ts';
import type { Model } from '../../../model/model.ts';
import type { DealtTask } from '../../../protocol/messages/all-messages.ts';
import { openTaskFiles } from './task-files.ts';

export interface HeldTask {
  readonly dealt: DealtTask;
  /** Records of it that this trainer has trained on so far. */
  read: number;
  /** Settles when the task is read and parsed. */
  readonly records: Promise<TaskRecords>;
}

export function beginReading(place: DataPlace, record: JobRecord, model: Model, dealt: DealtTask): HeldTask {
  const records = readTask(place, record, model, dealt);
  // Awaited when the task's turn comes.
  records.catch(() => {});
  return { dealt, read: 0, records };
}

async function readTask(place: DataPlace, record: JobRecord, model: Model, dealt: DealtTask): Promise<TaskRecords> {
  const files = openTaskFiles(place, record, model);
  try {
    const records = await files.read(dealt);
    refuseTooManyBad(records, record.job.data.maxBadRecords);
    return records;
  } finally {
    await files.close();
  }
}

/** Judged before the first push of the task (DESIGN §5). */
export function refuseTooManyBad(records: TaskRecords, maxBadRecords: number): void {
  if (records.bad.length <= maxBadRecords) return;
  const shown = records.bad.slice(0, 3).map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
  throw new PaddletError(
    'TooManyBadRecords',
    `${records.bad.length} bad records in one task, data.maxBadRecords is ${maxBadRecords}: ${shown.join('; ')}`,
    { hint: 'fix the data, or allow more with data.maxBadRecords' },
  );
}

/** Errors of the records, not of the cluster. */
export const DATA_CODES: ReadonlySet<string> = new Set([
  'TooManyBadRecords',
  'DataInvalid',
  'DataMissing',
  'DataChanged',
  'BadGradient',
]);
