/**
 * The kind of the records of a text: columns, or features with ids. Everything else about a format of lines is the same
 * for both kinds.
 */

import type { LabelRule } from '../../labels.ts';
import type { TaskSink, TaskSize } from '../../parsed/task-records.ts';
import type { Piece } from '../../piece.ts';
import type { Picking } from '../../selecting.ts';
import type { Selection } from '../../selection.ts';
import type { FileLayout } from '../../source.ts';
import type { ForwardHead, ForwardOptions, Indexing, ReadOptions } from '../format.ts';
import type { Notes } from '../index-sink.ts';
import type { LineReading } from './lines.ts';

/** Where the records of a file begin, and the 1-based line there. */
export interface TextHead {
  readonly offset: number;
  readonly line: number;
  /** Present for records of columns. */
  readonly layout?: FileLayout | undefined;
}

/** `C`: the columns that a job describes; undefined for a kind without columns. */
export interface LineKind<P extends Piece, C> {
  specOf(columns: ReadOptions['columns'] | Indexing['columns']): C;
  /**
   * `bytes`: the first ones of the file, up to `FORWARD_HEAD_BYTES`; all of them if `isWhole`. Undefined if they show
   * that the file has no records. Throws `DataInvalid`.
   */
  headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: C): TextHead | undefined;
  /** Undefined if no file with these columns has that layout. Layouts come over the wire. */
  readingOf(path: string, spec: C, layout: FileLayout | undefined, labels: LabelRule): LineReading<P> | undefined;
  /** Maximum bytes of each record that are in the path. */
  pathBytes(path: string, spec: C): number;
  recordsOf(options: Pick<ReadOptions, 'columns' | 'readsFields'>, size: TaskSize): TaskSink<P>;
  pickingOf(selection: Selection, spec: C): Picking<P>;
  notesOf(into: Indexing): Notes<P>;
  /** See `Indexed.notesAll`. */
  readonly notesAll: boolean;
  /** Undefined if the source has no records. Throws `DataInvalid`. */
  scoringOf(head: ForwardHead, options: ForwardOptions): Scoring<P> | undefined;
}

/** How to read records for predictions. Labels, weights, groups and times may be missing. */
export interface Scoring<P extends Piece> {
  readonly head: TextHead;
  readonly reading: LineReading<P>;
  /** Maximum bytes of each record that are in the path. */
  readonly pathBytes: number;
  readonly kept: Kept;
  readonly recordsOf: (size: TaskSize) => TaskSink<P>;
  readonly watch?: ((piece: P) => void) | undefined;
}

export interface Kept {
  readonly names: readonly string[];
  textsIn(text: Uint8Array): KeptTexts;
}

export interface KeptTexts {
  /** Texts of the line in [start, end): bytes as Latin-1, empty where the line has none. */
  of(start: number, end: number): string[];
}
