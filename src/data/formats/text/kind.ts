/** What the records of a text are: columns, or features with ids. A format of lines is a kind and a form. */

import type { LabelRule } from '../../labels.ts';
import type { Piece, TaskSink } from '../../piece.ts';
import type { Picking } from '../../selecting.ts';
import type { Selection } from '../../selection.ts';
import type { FileLayout } from '../../source.ts';
import type { ForwardHead, ForwardOptions, Indexing, ParsedTask, ReadOptions } from '../format.ts';
import type { Notes } from '../index-sink.ts';
import type { LineReading } from './lines.ts';

/** Where the records of a file begin, and the 1-based line there. */
export interface TextHead {
  readonly offset: number;
  readonly line: number;
  /** Present for records of columns. */
  readonly layout?: FileLayout | undefined;
}

export interface TaskSize {
  /** Records of the task, bad ones included. */
  readonly records: number;
  /** Bytes of their text. Values in the path of a file count for each of its records. */
  readonly bytes: number;
  readonly batchSize: number;
}

export interface TaskRecordsSink<P extends Piece> extends TaskSink<P> {
  finish(): ParsedTask;
}

/** `C`: what a job says of the columns; undefined for a kind without any. */
export interface LineKind<P extends Piece, C> {
  specOf(columns: ReadOptions['columns'] | Indexing['columns']): C;
  /**
   * `bytes`: the first ones of the file, up to `FORWARD_HEAD_BYTES`; all of them if `isWhole`. Undefined when they show
   * that there is no record. Throws `DataInvalid`.
   */
  headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: C): TextHead | undefined;
  /** Undefined if no file with these columns has that layout, which comes over the wire. */
  readingOf(path: string, spec: C, layout: FileLayout | undefined, labels: LabelRule): LineReading<P> | undefined;
  /** Maximum bytes of each record that are in the path. */
  pathBytes(path: string, spec: C): number;
  recordsOf(options: Pick<ReadOptions, 'columns' | 'readsFields'>, size: TaskSize): TaskRecordsSink<P>;
  pickingOf(selection: Selection, spec: C): Picking<P>;
  notesOf(into: Indexing): Notes<P>;
  /** As `Indexed.notesAll`. */
  readonly notesAll: boolean;
  /** Undefined when the source has no record. Throws `DataInvalid`. */
  scoringOf(head: ForwardHead, options: ForwardOptions): Scoring<P> | undefined;
}

/** How records are read for predictions: what only training needs may be missing; texts are kept. */
export interface Scoring<P extends Piece> {
  readonly head: TextHead;
  readonly reading: LineReading<P>;
  /** Maximum bytes of each record that are in the path. */
  readonly pathBytes: number;
  readonly kept: Kept;
  readonly recordsOf: (size: TaskSize) => TaskRecordsSink<P>;
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
