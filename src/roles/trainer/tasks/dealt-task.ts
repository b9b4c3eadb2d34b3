/** A task that the master dealt to this trainer: it is read while the one before it is processed. */
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { TaskAddress } from '../../../core/tasks/address.ts';
import type { BadRecordFiles } from '../../../data/bad-record-files.ts';
import { refuseTooManyBad } from '../../../data/bad-records.ts';
import type { ParsedCache } from '../../../data/parsed/cache.ts';
import type { DataPlace } from '../../../data/place.ts';
import type { ReaderThreads } from '../../../data/readers/reader-threads.ts';
import type { Selection } from '../../../data/selection.ts';
import type { TaskRecords } from '../../../data/source.ts';
import type { Model } from '../../../model/model.ts';
import type { DealtTask } from '../../../protocol/messages/all-messages.ts';
import type { Activity } from '../activity.ts';
import { EVALUATION_BATCH } from './evaluate-task.ts';
import { passOrderOf } from './pass-order.ts';
import { openTaskFiles, type TaskFiles } from './task-files.ts';
import type { TaskProgress } from './train-task.ts';

export interface HeldTask {
  readonly dealt: DealtTask;
  /** Settles when the task is read and parsed. */
  readonly records: Promise<TaskRecords>;
  /** Aborted when the master says that the attempt no longer counts. */
  readonly stopping: AbortController;
  /** Aborts with that, and when the trainer is to end. */
  readonly signal: AbortSignal;
  /** What was done of it so far; undefined before its position is known, and in evaluation. */
  progress: TaskProgress | undefined;
}

export interface ReadingOptions {
  readonly place: DataPlace;
  readonly record: JobRecord;
  readonly model: Model;
  /** Tasks that were parsed before. */
  readonly cache?: ParsedCache | undefined;
  readonly threads?: ReaderThreads | undefined;
  readonly badRecords: BadRecordFiles;
  readonly activity: Pick<Activity, 'times'>;
  readonly stopSignal: AbortSignal;
}

/** Reads tasks of both queues. Files stay open until they are closed here, or tasks are of others. */
export class TaskReading {
  readonly #options: ReadingOptions;
  readonly #files: Readonly<Record<Selection['part'], TaskFiles>>;

  constructor(options: ReadingOptions) {
    const { place, record, model, cache, threads } = options;
    const { times } = options.activity;
    this.#options = options;
    const open = (part: Selection['part'], batchSize: number): TaskFiles =>
      openTaskFiles(place, record, model, { batchSize, part, cache, threads, times });
    this.#files = {
      train: open('train', record.job.training.batchSize),
      test: open('test', EVALUATION_BATCH),
    };
  }

  begin(dealt: DealtTask): HeldTask {
    const records = this.#read(dealt);
    // Awaited when the task's turn comes.
    records.catch(() => {});
    const stopping = new AbortController();
    const signal = AbortSignal.any([this.#options.stopSignal, stopping.signal]);
    return { dealt, records, stopping, signal, progress: undefined };
  }

  /** What is being read is read to its end. */
  async close(): Promise<void> {
    await Promise.all(Object.values(this.#files).map((files) => files.close()));
  }

  async #read(dealt: DealtTask): Promise<TaskRecords> {
    const { record, badRecords } = this.#options;
    const part = dealt.queue === 'evaluate' ? 'test' : 'train';
    const records = await this.#files[part].read(dealt);
    await badRecords.list({ set: part, task: dealt.task, bad: records.bad });
    // Judged before the first push of the task (docs/modes.md).
    refuseTooManyBad(records, record.job.data);
    return dealt.queue === 'evaluate' ? records : passOrderOf(record)(records, dealt);
  }
}

export const addressOf = ({ queue, pass, task, attempt }: DealtTask): TaskAddress => ({ queue, pass, task, attempt });
