/** The tasks of a data set of a job, as its trainers read them. */

import { readingOf } from '../../../cluster/job/job-model.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { weightedByClass } from '../../../data/class-weights.ts';
import type { ReadTimes } from '../../../data/formats/format.ts';
import { formatOf } from '../../../data/formats/registry.ts';
import { ParsedCache, type ParsedCacheOptions } from '../../../data/parsed/cache.ts';
import type { DataPlace } from '../../../data/place.ts';
import { keptReader } from '../../../data/readers/kept-reader.ts';
import type { ReaderThreads } from '../../../data/readers/reader-threads.ts';
import type { ReaderThreadData, TaskReading } from '../../../data/readers/thread-messages.ts';
import type { Selection } from '../../../data/selection.ts';
import type { IndexedFile, TaskRecords } from '../../../data/source.ts';
import { createTaskReader } from '../../../data/task-reader.ts';
import type { RequestedJob } from '../../../job/schema.ts';
import type { Model } from '../../../model/model.ts';
import type { TaskChunks } from '../../../protocol/messages/all-messages.ts';
import { EVALUATION_BATCH } from './evaluate-task.ts';

export interface TaskFiles {
  /** Throws as `TaskReader.read` does. Calls may overlap. */
  read(task: TaskChunks): Promise<TaskRecords>;
  close(): Promise<void>;
}

export interface TaskFilesOptions {
  /** Records of a mini-batch, as they will be asked for. */
  readonly batchSize: number;
  /** The part of the job's files to read. */
  readonly part: Selection['part'];
  /** Tasks that were parsed before. */
  readonly cache?: ParsedCache | undefined;
  /** Threads that parse; without them this thread parses all tasks. */
  readonly threads?: ReaderThreads | undefined;
  readonly times?: ReadTimes;
}

/**
 * How tasks are kept in the data cache; undefined if the job keeps none. The cache is read-only in a job of one pass,
 * which never reads a task again.
 */
export const cacheOptionsOf = ({ data, training }: RequestedJob): ParsedCacheOptions | undefined =>
  data.cache === 'off' ? undefined : { bytes: data.cacheBytes, isReadOnly: training.passes === 1 };

/** The cache of a process. */
export function parsedCacheOf(place: DataPlace, job: RequestedJob): ParsedCache | undefined {
  const options = cacheOptionsOf(job);
  return options && new ParsedCache(place, options);
}

/** Undefined for formats whose tasks are views of their files: nothing is parsed. */
export function readerThreadDataOf(
  { host: _, ...place }: DataPlace,
  record: JobRecord,
  model: Model,
): ReaderThreadData | undefined {
  const { data, training } = record.job;
  if (formatOf(data.format).parserVersion === undefined) return undefined;
  const reading = (part: Selection['part'], batchSize: number): TaskReading => ({
    ...readingOf(record, model, part),
    batchSize,
  });
  return {
    place,
    reading: { train: reading('train', training.batchSize), test: reading('test', EVALUATION_BATCH) },
    cache: cacheOptionsOf(record.job),
  };
}

export function openTaskFiles(
  place: DataPlace,
  record: JobRecord,
  model: Model,
  { batchSize, part, cache, threads, times }: TaskFilesOptions,
): TaskFiles {
  const reading = readingOf(record, model, part);
  const kept = keptReader((files: readonly IndexedFile[]) =>
    createTaskReader(place, {
      ...reading,
      files,
      batchSize,
      elsewhere: threads && ((chunks, here) => threads.parse({ part, files, chunks }, here)),
      ...(cache === undefined ? {} : { cache }),
      ...(times === undefined ? {} : { times }),
    }),
  );
  return {
    async read(task) {
      const records = await kept.use(filesOf(task), (reader) => reader.read(task.chunks));
      // The data cache has them as the files say: other readers of it do not weigh classes.
      return part === 'train' ? weightedByClass(records, record.job.training.classWeights) : records;
    },
    close: () => kept.close(),
  };
}

const filesOf = ({ files }: TaskChunks): IndexedFile[] =>
  files.map(({ labels, layout, ...file }) => ({
    ...file,
    ...(labels === undefined ? {} : { labels }),
    ...(layout === undefined ? {} : { layout }),
  }));
