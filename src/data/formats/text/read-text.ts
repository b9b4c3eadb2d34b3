/** Reads text into pieces: the kernel reads most lines, and the plain form the others. */
import { LIMITS } from '../../../base/limits.ts';
import type { BadRecord } from '../../bad-record.ts';
import { READ } from '../../kernels/exports.ts';
import type { BadPlace, Piece, PieceSink } from '../../piece.ts';
import type { Line, LineReader, LineReading, LineText } from './lines.ts';

/** Number of bad records whose text is kept, to show it and to see what the file looks like. */
const SHOWN_RECORDS = 8;

/** How far some text was read. */
export interface ReadText {
  readonly bytes: number;
  readonly lines: number;
  /** The sink has no room for the record that comes next. */
  readonly isFull: boolean;
  /** A quote, at that byte, is not closed within the text: the rest is not read. */
  readonly openQuote?: number;
}

/**
 * Reads lines until the text ends. Its last line is whole: it has its line break, or the file ends there. Throws
 * nothing: what cannot be read is a bad record.
 */
export function readText<P extends Piece>(text: LineText, reading: LineReading<P>, into: PieceSink<P>): ReadText {
  const { bytes } = text;
  const plain = reading.plain(text);
  const kernel = reading.kernel(text);
  if (kernel === undefined) return readPlainly(text, plain, reading, into);
  for (;;) {
    const { status, piece } = kernel.next(Math.min(into.quota, LIMITS.pieceRecords));
    if (piece.records > 0) pass(piece, text, reading, into);
    const { at, lines } = kernel;
    if (status === READ.done) return { bytes: bytes.length, lines, isFull: false };
    if (status === READ.full && into.quota > 0) continue;
    if (into.quota === 0) {
      const next = plain.read(at, lines);
      if (next.kind !== 'none') return { bytes: at, lines, isFull: true };
      kernel.skip(next.end, next.lines);
      continue;
    }
    const line = plain.read(at, lines);
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    take(line, at, text, reading, into);
    kernel.skip(line.end, line.lines);
  }
}

function readPlainly<P extends Piece>(
  text: LineText,
  plain: LineReader<P>,
  reading: LineReading<P>,
  into: PieceSink<P>,
): ReadText {
  const { bytes } = text;
  let lines = 0;
  for (let at = 0; at < bytes.length; ) {
    const line = plain.read(at, lines);
    if (line.kind !== 'none' && into.quota === 0) return { bytes: at, lines, isFull: true };
    if (line.kind === 'open') return { bytes: at, lines, isFull: false, openQuote: line.at };
    take(line, at, text, reading, into);
    lines += line.lines;
    at = line.end;
  }
  return { bytes: bytes.length, lines, isFull: false };
}

function take<P extends Piece>(
  line: Exclude<Line<P>, { kind: 'open' }>,
  start: number,
  text: LineText,
  reading: LineReading<P>,
  into: PieceSink<P>,
): void {
  if (line.kind === 'good') pass(line.piece, text, reading, into);
  if (line.kind === 'bad') refuse(line.bad, { start, end: line.end, label: line.label }, into);
}

function pass<P extends Piece>(piece: P, text: LineText, reading: LineReading<P>, into: PieceSink<P>): void {
  if (reading.pass === undefined) into.add(piece, text.firstLine);
  else reading.pass(piece, text, into);
}

/** Passes on a bad record; its text only for the first ones. */
export function refuse<P extends Piece>(record: BadRecord, place: BadPlace, into: PieceSink<P>): void {
  const { text: shown, ...bad } = record;
  into.bad(shown === undefined || into.badRecords >= SHOWN_RECORDS ? bad : record, place);
}
