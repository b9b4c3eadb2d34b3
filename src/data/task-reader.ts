/**
 * Reads a task: the bytes of its chunks, checked against the index, parsed into records. A task is parsed whole before
 * any of it is pushed, so a task that cannot be read fails before it reaches a shard.
 */
import type { ReadOptions } from './formats/format.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import { OpenFiles } from './open-files.ts';
import type { DataPlace } from './place.ts';
import type { Chunk, TaskRecords } from './source.ts';

export interface TaskReaderOptions extends ReadOptions {
  readonly format: DataFormat;
}

export interface TaskReader {
  /**
   * Throws `DataChanged` when a file is not what was indexed, `DataMissing` when it is gone. Bad records are not an
   * error here: the caller decides how many are too many.
   */
  read(chunks: readonly Chunk[]): Promise<TaskRecords>;
  close(): Promise<void>;
}

/** Calls of `read` may overlap. */
export function createTaskReader(place: DataPlace, options: TaskReaderOptions): TaskReader {
  const format = formatOf(options.format);
  const files = new OpenFiles(place, options.files);
  return {
    read: (chunks) => format.read(files, options, chunks),
    close: () => files.close(),
  };
}
