/**
 * The path of training data (docs/design.md §10): files → index of chunks with record counts → tasks → records →
 * batches.
 */
import type { Batch } from '../model/model.ts';
import type { BadRecord } from './bad-record.ts';
import type { NumberStatistics } from './columns/statistics.ts';
import type { Traits } from './oddities.ts';

/** A slice of one file that holds whole records. Offsets are in the decompressed content. */
export interface Chunk {
  /** Index into `DataIndex.files`. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
  /**
   * Position of the chunk's first record among those of the dataset in the file, and how many there are, bad ones
   * included.
   */
  readonly firstRecord: number;
  /** The same among all records of the file, where only some are of the dataset (`selection.ts`). */
  readonly position?: number | undefined;
  readonly records: number;
  /** 1-based line of the first record, for messages (text formats). */
  readonly firstLine: number;
  /**
   * CRC-32 of the chunk's bytes (of its inputs, then its labels, where these are in separate files): shows any change
   * since indexing.
   */
  readonly crc32: number;
}

export interface IndexedFile {
  /** Relative to the data folder, with forward slashes. */
  readonly path: string;
  /** Bytes of the decompressed content. */
  readonly bytes: number;
  readonly records: number;
  /** For formats with files of labels: the one that belongs to this file of inputs. */
  readonly labels?: { readonly path: string; readonly bytes: number };
  /** For formats with columns: where they are in a line; absent where a file has none. */
  readonly layout?: FileLayout;
}

/** Where the columns of a job are in the lines of a file. */
export interface FileLayout {
  /** Fields of a line. */
  readonly fields: number;
  /** For each column that has values of its own, in their order: its 0-based field, or -1. */
  readonly positions: readonly number[];
}

export interface DataIndex {
  /** Its name in formats/registry.ts. */
  readonly format: string;
  /** Sorted bytewise by path. */
  readonly files: readonly IndexedFile[];
  /** Sorted by file, then by offset. */
  readonly chunks: readonly Chunk[];
  readonly records: number;
  /**
   * Highest feature id seen + 1 (sparse) or input width (dense): 0 to 2^64 in decimal text, as a number does not hold
   * all of them.
   */
  readonly featureBound: string;
  /** Highest field of a feature seen + 1, or the columns that make features; 0 where features have no fields. */
  readonly fieldBound: number;
  /**
   * Highest whole label seen + 1, the number of classes of multiclass labels; at most 2^53 - 1, which also means any
   * higher number.
   */
  readonly labelBound: number;
  readonly traits: Readonly<Traits>;
  /** Present for formats with columns. */
  readonly statistics?: readonly NumberStatistics[];
  /** SHA-256 in hex over format, files and chunks in canonical form: part of the batch plan id. */
  readonly digest: string;
}

/** The records of one task, parsed; bad ones keep their position but are left out of batches. */
export interface TaskRecords {
  /** Indexed records, bad ones included. */
  readonly records: number;
  readonly bad: readonly BadRecord[];
  /** Good records at indexed positions [from, to). */
  batch(from: number, to: number): Batch;
  /** The good ones of the records at these indexed positions, in their order. */
  pick(positions: Uint32Array): Batch;
  /** Number of good records at indexed positions below `position`. */
  goodBefore(position: number): number;
  /** File and lines (or record numbers) of the records at [from, to), for messages. */
  describe(from: number, to: number): string;
  /** Ends the use of the records and of their batches: their memory is used again. */
  release?(): void;
}
