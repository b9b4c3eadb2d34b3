/** Text of lines, whatever their records are: what a line is, and how the lines of a file are read. */

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

/** What a line is. It ends at `end`, after its line break. */
export type Line<P extends Piece> =
  | { readonly kind: 'none'; readonly end: number; readonly lines: number }
  | { readonly kind: 'good'; readonly end: number; readonly lines: number; readonly piece: P }
  | {
      readonly kind: 'bad';
      readonly end: number;
      readonly lines: number;
      readonly bad: BadRecord;
      /** As it is written, where that can be read. */
      readonly label?: number;
    }
  /** A quote, at that byte, is not closed within the text. */
  | { readonly kind: 'open'; readonly at: number };

/** The plain form: it reads any line, and says what is wrong with a bad one. */
export interface LineReader<P extends Piece> {
  /** The line that begins at `start`; `line`: lines of the text before it. */
  read(start: number, line: number): Line<P>;
}

/** The fast form: it reads usual lines, many at once. */
export interface LineKernel<P extends Piece> {
  /** Where the line that is read next begins in the text. */
  readonly at: number;
  /** Lines read or skipped so far. */
  readonly lines: number;
  /** Skips `lines` lines; the last one ends at `end`. */
  skip(end: number, lines: number): void;
  /** Up to `quota` records, and why it stopped: one of `READ`. Views, valid until the next call that reads. */
  next(quota: number): { readonly status: number; readonly piece: P };
}

/** How the lines of a file are read. */
export interface LineReading<P extends Piece> {
  readonly rules: LineRules;
  /** A record has no fewer bytes than that, with its line break. */
  readonly leastBytes: number;
  /** Where the last record that is whole ends. The text begins with one. */
  wholeRecords(text: Uint8Array): number;
  plain(text: LineText): LineReader<P>;
  /** At the beginning of the text; undefined where the plain form reads all of it. */
  kernel(text: LineText): LineKernel<P> | undefined;
  /** Passes on what is good of a piece. Without it, all of its records are. */
  readonly pass?: ((piece: P, text: LineText, into: PieceSink<P>) => void) | undefined;
}
