/**
 * The record of a job as its checkpoints, merged models and exports carry it: model, columns and statistics, so that
 * a prediction needs neither the job nor its store. They are handed on: the commands of `hooks` stay with the job.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { type JobRecord, parseJobRecord } from './job-record.ts';

export const carriedRecord = (record: JobRecord): string =>
  JSON.stringify({ ...record, job: { ...record.job, hooks: { before: [], after: [] } } });

/** What a file says of its job. */
export interface Carrying {
  readonly jobId: string;
  readonly job?: string | undefined;
}

/**
 * Throws `VersionMismatch` for a file without a record, or with one of another version, `CheckpointCorrupt` for one
 * that cannot be read. `file` is its path, for messages.
 */
export function recordCarriedIn({ jobId, job }: Carrying, file: string): JobRecord {
  if (job === undefined) {
    throw new PaddletError(
      'VersionMismatch',
      `${file}: does not contain the record of its job, which predictions need`,
      {
        hint: 'an earlier version of paddlet wrote the file: choose the job with --dir or --store, or use a newer checkpoint',
      },
    );
  }
  const record = parseCarried(job, file);
  if (record.id === jobId) return record;
  throw new PaddletError(
    'CheckpointCorrupt',
    `${file}: belongs to job ${jobId}, but contains the record of job ${record.id}`,
  );
}

function parseCarried(job: string, file: string): JobRecord {
  try {
    return parseJobRecord(`${file}: job`, job);
  } catch (cause) {
    if (isPaddletError(cause, 'StoreValueInvalid'))
      throw new PaddletError('CheckpointCorrupt', cause.message, { cause });
    if (!isPaddletError(cause, 'VersionMismatch')) throw cause;
    const { message, details } = cause;
    throw new PaddletError('VersionMismatch', message, {
      cause,
      details,
      hint: 'use the paddlet version that wrote the file',
    });
  }
}
