/** Reads all records of a text, slice by slice. */
import { NEWLINE } from '../../ascii.ts';
import type { Slice, Slices } from '../../bytes/slices.ts';
import { tooLong } from '../../chunk-check.ts';
import type { Piece, PieceSink } from '../../piece.ts';
import { type ReadTimes, UNTIMED } from '../format.ts';
import type { LineReading } from './lines.ts';
import { type ReadText, readText } from './read-text.ts';

/** Observes the bytes that are read. */
export interface SliceWatch {
  /** Called before the records in these bytes are read. `offset`: of the first byte in the file. */
  show(bytes: Uint8Array, offset: number): void;
  /** Bytes before this one are no longer needed. */
  retire(to: number): void;
  /** A line that is too long to be a record was skipped. */
  interrupt(): void;
}

/** Why a text was not read to its end. */
export type Stopped =
  | { readonly kind: 'full' }
  | { readonly kind: 'open'; readonly line: number; readonly column: number };

type Place = Pick<Stopped & { kind: 'open' }, 'line' | 'column'>;

export interface SlicesReading<P extends Piece> {
  readonly file: string;
  readonly reading: LineReading<P>;
  readonly watch?: SliceWatch | undefined;
  readonly times?: ReadTimes | undefined;
}

export async function readSlices<P extends Piece>(
  slices: Slices,
  { file, reading, watch, times = UNTIMED }: SlicesReading<P>,
  sink: PieceSink<P>,
): Promise<Stopped | undefined> {
  /** The quote that was still open at the end of the slice before. */
  let open: Place | undefined;
  for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
    const { bytes, offset, first, isLast, long } = slice;
    if (long?.isOpen) return { kind: 'open', line: long.line, column: 1, ...open };
    if (long !== undefined) watch?.interrupt();
    watch?.show(bytes, offset);
    if (!refuseLong(slice, file, sink)) return { kind: 'full' };
    const text = { file, bytes, offset, firstLine: first };
    const done = times.during('parse', () => readText(text, reading, sink));
    if (done.isFull) return { kind: 'full' };
    open = done.openQuote === undefined ? undefined : placeOf(bytes, first, done);
    if (open !== undefined && isLast) return { kind: 'open', ...open };
    slices.passed(done.bytes, done.lines);
    watch?.retire(offset + done.bytes);
  }
  return undefined;
}

/** Passes a skipped line on as a bad record, if it is a record. Returns false if the sink is full. */
export function refuseLong<P extends Piece>(
  { offset, long }: Pick<Slice, 'offset' | 'long'>,
  file: string,
  sink: PieceSink<P>,
): boolean {
  if (long?.isRecord !== true) return true;
  if (sink.quota === 0) return false;
  const { start, line, bytes } = long;
  const record = { file, line, byteOffset: start, reason: tooLong(bytes) };
  sink.bad(record, { start: start - offset, end: start + bytes - offset });
  return true;
}

/** The place of the quote that is not closed, or else of where the reader stopped. */
export function placeOf(
  bytes: Uint8Array,
  firstLine: number,
  { bytes: start, lines, openQuote = start }: ReadText,
): Place {
  const before = bytes.subarray(start, openQuote);
  const breaks = before.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
  return { line: firstLine + lines + breaks, column: openQuote - start - before.lastIndexOf(NEWLINE) };
}
