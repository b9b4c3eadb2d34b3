/** Reads tasks one after the other, and keeps the files of the last one open: mostly the next is of the same file. */

import { readingOf } from '../../../cluster/job/job-model.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { weightedByClass } from '../../../data/class-weights.ts';
import type { ReadTimes } from '../../../data/formats/format.ts';
import { ParsedCache } from '../../../data/parsed/cache.ts';
import type { DataPlace } from '../../../data/place.ts';
import type { Selection } from '../../../data/selection.ts';
import type { TaskRecords } from '../../../data/source.ts';
import { createTaskReader, type TaskReader } from '../../../data/task-reader.ts';
import type { Job } from '../../../job/schema.ts';
import type { Model } from '../../../model/model.ts';
import type { TaskChunks } from '../../../protocol/messages/all-messages.ts';

export interface TaskFiles {
  /** Throws as `TaskReader.read` does. Calls may overlap. */
  read(task: TaskChunks): Promise<TaskRecords>;
  close(): Promise<void>;
}

interface OpenFiles {
  readonly key: string;
  readonly reader: TaskReader;
  reads: number;
}

export interface TaskFilesOptions {
  /** Records of a mini-batch, as they will be asked for. */
  readonly batchSize: number;
  /** The part of the job's files to read. */
  readonly part: Selection['part'];
  /** Tasks that were parsed before. */
  readonly cache?: ParsedCache | undefined;
  readonly times?: ReadTimes;
}

/**
 * The cache of a process; undefined if the job has none. It is read-only in a job of one pass, which never reads a task
 * again.
 */
export const parsedCacheOf = (place: DataPlace, { data, training }: Job): ParsedCache | undefined =>
  data.cache === 'off'
    ? undefined
    : new ParsedCache(place, { bytes: data.cacheBytes, isReadOnly: training.passes === 1 });

export function openTaskFiles(
  place: DataPlace,
  record: JobRecord,
  model: Model,
  { batchSize, part, cache, times }: TaskFilesOptions,
): TaskFiles {
  /** Stays open; others are closed when their last read has ended. */
  let kept: OpenFiles | undefined;

  function open(files: TaskChunks['files']): OpenFiles {
    const key = JSON.stringify(files);
    if (kept?.key === key) return kept;
    const reader = createTaskReader(place, {
      ...readingOf(record, model, part),
      files: files.map(({ labels, layout, ...file }) => ({
        ...file,
        ...(labels === undefined ? {} : { labels }),
        ...(layout === undefined ? {} : { layout }),
      })),
      batchSize,
      ...(cache === undefined ? {} : { cache }),
      ...(times === undefined ? {} : { times }),
    });
    return { key, reader, reads: 0 };
  }

  async function keep(next: OpenFiles | undefined): Promise<void> {
    const before = kept;
    kept = next;
    if (before !== undefined && before !== next && before.reads === 0) await before.reader.close();
  }

  return {
    async read({ files, chunks }) {
      const opened = open(files);
      opened.reads += 1;
      await keep(opened);
      try {
        const records = await opened.reader.read(chunks);
        // The data cache has them as the files say: other readers of it do not weigh classes.
        return part === 'train' ? weightedByClass(records, record.job.training.classWeights) : records;
      } catch (error) {
        // The open file may have been replaced under its name: open it again next time.
        if (kept === opened) kept = undefined;
        throw error;
      } finally {
        opened.reads -= 1;
        if (opened !== kept && opened.reads === 0) await opened.reader.close();
      }
    },
    close: () => keep(undefined),
  };
}
