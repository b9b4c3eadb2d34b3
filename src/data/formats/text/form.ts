/** What a format of text with columns is: how its files begin, and how lines become records and values. */
import type { ColumnSpec, Dialect } from '../../columns/column.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { LineEndFinder } from '../../forward-parts.ts';
import type { BadRecord, FileLayout } from '../../source.ts';
import type { ForwardOptions } from '../format.ts';
import type { LinePlan } from './plan.ts';

export interface FileHead {
  readonly layout: FileLayout;
  /** Those of the header, by field; undefined without one. */
  readonly names: readonly string[] | undefined;
  /** Where the records begin, and the 1-based line there. */
  readonly offset: number;
  readonly line: number;
}

export interface TextForm {
  /** What is before the decimals of a number, where the dialect of the job does not say it. */
  readonly decimal?: Dialect['decimal'];
  /**
   * `bytes`: the first ones of the file, up to `HEAD_BYTES`; all of them if `isWhole`. Throws `DataInvalid`, naming file
   * and line. Undefined when there is no record, or none that ends within a look at fewer bytes.
   */
  headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: ColumnSpec): FileHead | undefined;
  linesOf(spec: ColumnSpec, layout: FileLayout): LineForm;
  /** The columns as they are in a file to be scored, which may lack the label. Throws `DataInvalid`. */
  scored?<S extends ColumnSpec>(spec: S, options: Pick<ForwardOptions, 'file' | 'fields'>, bytes: ForwardBeginning): S;
  /** `keep`: what users call the columns whose texts go with the predictions. Throws `DataInvalid`. */
  keptIn(file: string, keep: readonly string[], head: FileHead, spec: ColumnSpec): Kept;
}

export interface ForwardBeginning {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

export interface Kept {
  readonly names: readonly string[];
  textsIn(text: Uint8Array): KeptTexts;
}

export interface KeptTexts {
  /** Of the line in [start, end): bytes as Latin-1, empty where it has none. */
  of(start: number, end: number): string[];
}

/** How the lines of a file are read. */
export interface LineForm {
  readonly kernel: 'parseCsv' | 'parseJson';
  readonly dialect: DialectBytes;
  /** JSON: those that are read. */
  readonly keys: readonly ObjectKey[];
  /** Text that is not UTF-8 is for the plain form. */
  readonly isUtf8: boolean;
  /** A record has no fewer bytes than that, with its line break. */
  readonly leastBytes: number;
  /** The plain form. */
  reader(text: LineText, plan: LinePlan): LineReader;
  /** Of a line that is too long to be held. */
  lineEnd(): LineEndFinder;
  /** Where the last record that is whole ends. The text begins with one. */
  wholeRecords(text: Uint8Array): number;
}

/** The characters of a dialect as bytes; -1 where it has none. */
export interface DialectBytes {
  readonly delimiter: number;
  readonly quote: number;
  /** A line that begins with it is no record. */
  readonly comment: number;
  readonly decimal: number;
}

export interface ObjectKey {
  /** The object that has it: 0 for that of the line, n for the value of the nth key of the list, which is before it. */
  readonly parent: number;
  readonly text: Uint8Array;
  /** Of its value, which is an object otherwise. */
  readonly field: number | undefined;
}

export interface LineText {
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Of `bytes[0]` in the file's content. */
  readonly offset: number;
  readonly firstLine: number;
}

export interface LineReader {
  /** The line that begins at `start`; `line`: lines of the text before it. */
  read(start: number, line: number): Line;
}

/** What a line is. It ends at `end`, after its line break. */
export type Line =
  | { readonly kind: 'none'; readonly end: number; readonly lines: number }
  | { readonly kind: 'good'; readonly end: number; readonly lines: number; readonly piece: ColumnPiece }
  | { readonly kind: 'bad'; readonly end: number; readonly lines: number; readonly bad: BadRecord }
  /** A quote, at that byte, is not closed within the text. */
  | { readonly kind: 'open'; readonly at: number };
