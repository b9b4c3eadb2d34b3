/** Lines of text whose records are of any kind, and the two forms of their readers. */

import type { BadRecord } from '../../bad-record.ts';
import type { LineRules } from '../../bytes/slices.ts';
import type { Piece, PieceSink } from '../../piece.ts';

export interface LineText {
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the file's content. */
  readonly offset: number;
  readonly firstLine: number;
}

/** The result of reading one line, which ends at `end`, after its line break. */
export type Line<P extends Piece> =
  | { readonly kind: 'none'; readonly end: number; readonly lines: number }
  | { readonly kind: 'good'; readonly end: number; readonly lines: number; readonly piece: P }
  | {
      readonly kind: 'bad';
      readonly end: number;
      readonly lines: number;
      readonly bad: BadRecord;
      /** The label as written, if it is a number. */
      readonly label?: number;
    }
  /** A quote, at that byte, is not closed within the text. */
  | { readonly kind: 'open'; readonly at: number };

/** The plain form reads any line, and explains why a line is bad. */
export interface LineReader<P extends Piece> {
  /** Reads the line that begins at `start`. `line`: number of lines before it in the text. */
  read(start: number, line: number): Line<P>;
}

/** The fast form reads many common lines at once. */
export interface LineKernel<P extends Piece> {
  /** Where the next line begins in the text. */
  readonly at: number;
  /** Lines read or skipped so far. */
  readonly lines: number;
  /** Skips `lines` lines; the last one ends at `end`. */
  skip(end: number, lines: number): void;
  /** Reads up to `quota` records. `status`: one of `READ`. The next call ends the views of the piece. */
  next(quota: number): { readonly status: number; readonly piece: P };
}

/** How the lines of a file are read. */
export interface LineReading<P extends Piece> {
  readonly rules: LineRules;
  /** Minimum number of bytes of a record, including its line break. */
  readonly leastBytes: number;
  /** Where the last whole record ends. The text begins with a record. */
  wholeRecords(text: Uint8Array): number;
  plain(text: LineText): LineReader<P>;
  /** A kernel at the beginning of the text. Undefined if the plain form must read all of the text. */
  kernel(text: LineText): LineKernel<P> | undefined;
  /** Passes on the good records of a piece. Without this function, all of them are good. */
  readonly pass?: ((piece: P, text: LineText, into: PieceSink<P>) => void) | undefined;
}
