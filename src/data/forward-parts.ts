/** Cuts text that is read forwards into parts of whole records, each of which can be read by itself. */
import { LIMITS } from '../base/limits.ts';
import { isBlank, NEWLINE } from './ascii.ts';
import type { ForwardBytes } from './forward.ts';

/** Some milliseconds of parsing. */
const SLICE_BYTES = 1 << 20;
const NOTHING = new Uint8Array(0);

export interface ForwardPart {
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the content. */
  readonly offset: number;
  /** 1-based line of text, or number of the first record. */
  readonly first: number;
  /** Before them is a line that is longer than any record: it was not held. */
  readonly long?: LongLine | undefined;
}

/** Some rows of a row group: what a part is of a file that is read at any place. */
export interface RowsPart {
  /** Number of the group in the file. */
  readonly group: number;
  readonly from: number;
  readonly to: number;
}

export type AnyPart = ForwardPart | RowsPart;

export interface LongLine {
  readonly start: number;
  readonly line: number;
  /** Length including the line break, if there is one. */
  readonly bytes: number;
  readonly isEnded: boolean;
  /** The source ends in a quote. */
  readonly isOpen: boolean;
  /** Its first byte that is no blank; undefined where there is none. */
  readonly begins: number | undefined;
}

/** Finds the end of a line that is too long to be held, in bytes that follow one another. */
export interface LineEndFinder {
  find(bytes: Uint8Array): number | undefined;
  readonly breaks: number;
  readonly isQuoted: boolean;
}

/** Finds the end of lines without quotes. */
export const plainLineEnd = (): LineEndFinder => ({
  find(bytes) {
    const newline = bytes.indexOf(NEWLINE);
    return newline < 0 ? undefined : newline + 1;
  },
  breaks: 1,
  isQuoted: false,
});

/** The same: where the last line that is whole ends. */
export const wholePlainLines = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1;

export interface Cutting {
  /** Where the text begins that is to be cut, and the number of the line there. */
  readonly offset: number;
  readonly line: number;
  /** Where the last record that is whole ends. The bytes begin with one. */
  readonly wholeRecords: (bytes: Uint8Array) => number;
  readonly lineEnd: () => LineEndFinder;
  readonly sliceBytes?: number | undefined;
}

/** The memory is that of a slice and of the longest record. */
export async function* cutParts(
  source: ForwardBytes,
  { offset, line: firstLine, wholeRecords, lineEnd, sliceBytes = SLICE_BYTES }: Cutting,
): AsyncGenerator<ForwardPart> {
  let line = firstLine;
  let at = offset;
  /** The beginning of a record whose end is in a later slice. */
  let held: Uint8Array = NOTHING;
  let skipped: (Pick<LongLine, 'start' | 'line' | 'begins'> & { readonly end: LineEndFinder }) | undefined;
  for (let isLast = false; !isLast; ) {
    let slice = await source.take(sliceBytes);
    isLast = slice.length < sliceBytes;
    at += slice.length;
    let long: LongLine | undefined;
    if (skipped !== undefined) {
      const { end, ...begun } = skipped;
      const found = end.find(slice);
      if (found === undefined && !isLast) continue;
      slice = slice.subarray(found ?? slice.length);
      const bytes = at - slice.length - begun.start;
      long = { ...begun, bytes, isEnded: found !== undefined, isOpen: found === undefined && end.isQuoted };
      line += Math.max(1, end.breaks);
      skipped = undefined;
    }
    const bytes = held.length === 0 ? slice : Buffer.concat([held, slice]);
    const end = isLast ? bytes.length : wholeRecords(bytes);
    const whole = bytes.subarray(0, end);
    if (end > 0 || long !== undefined) yield { bytes: whole, offset: at - bytes.length, first: line, long };
    line += lineBreaks(whole);
    held = bytes.subarray(end);
    if (held.length <= LIMITS.recordBytes) continue;
    const begins = held.find((byte) => !isBlank(byte));
    skipped = { start: at - held.length, line, begins, end: lineEnd() };
    // It has no end here: what is whole was read.
    skipped.end.find(held);
    held = NOTHING;
  }
}

export function lineBreaks(text: Uint8Array): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
