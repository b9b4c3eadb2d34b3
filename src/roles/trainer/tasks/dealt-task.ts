/** A task that the master dealt to this trainer: it is read while the one before it is processed. */
import type { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { refuseTooManyBad } from '../../../data/bad-records.ts';
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
    // Judged before the first push of the task (DESIGN §5).
    refuseTooManyBad(records, record.job.data);
    return records;
  } finally {
    await files.close();
  }
}

/** What a report to the master says of an error. */
export const failureTexts = ({ message, hint }: PaddletError) => ({
  error: message.slice(0, LIMITS.failureCharacters),
  ...(hint === undefined ? {} : { hint: hint.slice(0, LIMITS.failureCharacters) }),
});
