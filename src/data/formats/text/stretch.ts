/** Reads a stretch of a file slice by slice: the event loop turns between them, and memory stays bounded. */
import { LIMITS } from '../../../base/limits.ts';
import { NEWLINE } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import type { PieceSink } from '../../columns/piece-sink.ts';
import type { LineEndFinder } from '../../forward-parts.ts';
import type { LinePlan } from './plan.ts';
import { type ReadText, readText } from './read-text.ts';

/** Some milliseconds of parsing. */
const SLICE_BYTES = 1 << 20;

export interface Stretch {
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly firstLine: number;
  /** Shorter only where the file ends. */
  readonly read: (offset: number, bytes: number) => Promise<Uint8Array>;
}

/** What follows the bytes of a stretch. */
export interface SliceWatch {
  /** Before the records that end in a slice are read: its bytes, and those of the lines that it ends, at `offset`. */
  show(slice: Uint8Array, lines: Uint8Array, offset: number, isLast: boolean): void;
  /** Bytes before this one are no longer needed. */
  retire(to: number): void;
  /** The bytes of a line that is too long follow: they are not shown as those of a record. */
  interrupt(): void;
}

/** Why a stretch was not read to its end. */
export type Stopped =
  | { readonly kind: 'full' }
  /** The file ends before the stretch. */
  | { readonly kind: 'short' }
  | { readonly kind: 'open'; readonly line: number; readonly column: number };

export async function readStretch(
  { file, from, to, firstLine, read }: Stretch,
  plan: LinePlan,
  sink: PieceSink,
  watch: SliceWatch,
): Promise<Stopped | undefined> {
  let line = firstLine;
  /** The beginning of a record whose end is in a later slice. */
  let held: Uint8Array = new Uint8Array(0);
  let long: LongLine | undefined;
  for (let at = from; at < to; ) {
    let slice = await read(at, Math.min(SLICE_BYTES, to - at));
    if (slice.length === 0) return { kind: 'short' };
    at += slice.length;
    const isLast = at === to;
    if (long !== undefined) {
      const found = long.end.find(slice);
      const end = found ?? slice.length;
      const offset = at - slice.length;
      watch.show(slice.subarray(0, end), slice.subarray(0, end), offset, isLast && end === slice.length);
      if (found === undefined && !isLast) continue;
      if (found === undefined && long.end.isQuoted) return { kind: 'open', ...long.place };
      const reason = tooLong(offset + end - long.start);
      sink.bad({ file, line, byteOffset: long.start, reason }, long.start - offset, end);
      line += Math.max(1, long.end.breaks);
      long = undefined;
      slice = slice.subarray(end);
    }
    const bytes = held.length === 0 ? slice : Buffer.concat([held, slice]);
    const offset = at - bytes.length;
    watch.show(slice, bytes, offset, isLast);
    const end = isLast ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    const done = readText({ file, bytes: bytes.subarray(0, end), offset, firstLine: line }, plan, sink);
    if (done.isFull) return { kind: 'full' };
    if (done.openQuote !== undefined && isLast) return { kind: 'open', ...placeOf(bytes, line, done) };
    held = bytes.subarray(done.bytes);
    const place = placeOf(bytes, line, done);
    line += done.lines;
    watch.retire(at - held.length);
    if (held.length <= LIMITS.recordBytes) continue;
    long = { start: at - held.length, end: plan.form.lineEnd(), place };
    watch.interrupt();
    // It has no end here: what is whole was read.
    long.end.find(held);
    held = new Uint8Array(0);
  }
  return undefined;
}

/** A line that is longer than any record: it is skipped, up to its end. */
interface LongLine {
  readonly start: number;
  readonly end: LineEndFinder;
  /** Where its first quote is, or where it begins. */
  readonly place: Place;
}

type Place = Pick<Stopped & { kind: 'open' }, 'line' | 'column'>;

/** The quote that is not closed, or where the reading stopped. */
export function placeOf(
  bytes: Uint8Array,
  firstLine: number,
  { bytes: start, lines, openQuote = start }: ReadText,
): Place {
  const before = bytes.subarray(start, openQuote);
  const breaks = before.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
  return { line: firstLine + lines + breaks, column: openQuote - start - before.lastIndexOf(NEWLINE) };
}
