/** Checks of the chunks that a task names against the files of the index. */
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { CHUNK_BYTES } from './chunk-cutter.ts';
import type { Chunk, IndexedFile } from './source.ts';

/** A record too long to be read; the index gave it a separate chunk. */
export const isOverlong = (chunk: Chunk): boolean => chunk.records === 1 && chunk.bytes > LIMITS.recordBytes;

/**
 * The records of the chunks. Chunks come over the wire: they are checked against the files before anything is allocated
 * for them. Throws `DataChanged`.
 */
export function countRecords(files: readonly IndexedFile[], chunks: readonly Chunk[]): number {
  let sum = 0;
  for (const chunk of chunks) {
    const { offset, bytes, records } = chunk;
    const file = files[chunk.file];
    const fits = file !== undefined && offset + bytes <= file.bytes && records <= bytes;
    if (!fits || (bytes > CHUNK_BYTES && !isOverlong(chunk))) {
      throw new PaddletError(
        'DataChanged',
        `bytes ${offset} to ${offset + bytes} of file ${chunk.file} are not a chunk of the index`,
      );
    }
    sum += records;
  }
  return sum;
}

/** The error for a chunk whose bytes are not those that were indexed. */
export const changed = (file: string, chunk: Chunk): PaddletError =>
  new PaddletError(
    'DataChanged',
    `${file} has changed since it was indexed (bytes ${chunk.offset} to ${chunk.offset + chunk.bytes})`,
    {
      hint: 'restore the original file, or start a new job: the data of a job must not change',
    },
  );

/** Why an overlong record is bad. */
export const tooLong = (bytes: number): string =>
  `expected a line of at most ${LIMITS.recordBytes} bytes, got ${bytes}`;

/**
 * Position of the chunk's first record among all records of the file, if only some are selected. Throws `DataChanged`
 * if the chunk does not have one.
 */
export function positionOf(chunk: Chunk, file: string): number {
  if (chunk.position === undefined) throw changed(file, chunk);
  return chunk.position;
}
