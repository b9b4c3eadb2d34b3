/**
 * Cuts bytes into slices of whole records, for all who read text: whatever reads a slice says how far it came, and the
 * rest comes again with the bytes that follow. Memory is that of a slice and of the longest record.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { reused } from '../../base/reused.ts';
import { isBlank, NEWLINE } from '../ascii.ts';

/** Some milliseconds of parsing: the event loop turns between two slices. */
export const SLICE_BYTES = 1 << 20;
const SPARE_BYTES = 1 << 16;

/** Bytes that are read once, in order. */
export interface ByteSource {
  /** Fills `into` with the bytes that come next; returns fewer than its length only where they end. */
  read(into: Uint8Array): Promise<number>;
}

export interface Slice {
  /** Whole lines, the first of which begins here; none behind a long line. The last slice has all that is left. */
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the content. */
  readonly offset: number;
  /** 1-based line of text. */
  readonly first: number;
  readonly isLast: boolean;
  /** Before the bytes is a line that is longer than any record: it was not held. */
  readonly long?: LongLine | undefined;
}

export interface LongLine {
  readonly start: number;
  readonly line: number;
  /** Length including the line break, if there is one. */
  readonly bytes: number;
  /** It does not begin as a comment, or with nothing but blanks. */
  readonly isRecord: boolean;
  /** The source ends in a quote. */
  readonly isOpen: boolean;
}

/** What is to be known of lines to pass over one that is too long. */
export interface LineRules {
  /** A line that begins with this byte is not a record; -1 if none does. */
  readonly comment: number;
  /** Whether such a byte may stand before a record. */
  isBlank(byte: number): boolean;
  lineEnd(): LineEndFinder;
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

/** Where the last line ends that is whole, of lines without quotes. */
export const wholePlainLines = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1;

export function lineBreaks(text: Uint8Array): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** Of lines without quotes and comments. */
export const PLAIN_LINES: LineRules = { comment: -1, isBlank, lineEnd: plainLineEnd };

export interface SlicesStart {
  /** Where the first record begins, and the number of the line there. */
  readonly offset: number;
  readonly line: number;
  readonly rules: LineRules;
  /** Called when a line turns out to be too long, before its end is looked for. */
  readonly onLong?: (line: number) => void;
  readonly sliceBytes?: number | undefined;
  /** Each slice has memory of its own. Without it, a slice is valid until the next one is read. */
  readonly isKept?: boolean;
}

export class Slices {
  readonly #source: ByteSource;
  readonly #start: SlicesStart;
  readonly #sliceBytes: number;
  // With room to spare: what is held is longer or shorter each time.
  readonly #room = reused((length) => new Uint8Array(length + SPARE_BYTES));
  #buffer = new Uint8Array(0);
  /** What is in the buffer and was not read: [from, to). */
  #from = 0;
  #to = 0;
  /** Offset of `#buffer[#to]` in the content. */
  #offset: number;
  #line: number;
  #isEnd = false;
  /** The slice that is being read. */
  #slice: Slice | undefined;
  #skipped: (Pick<LongLine, 'start' | 'line' | 'isRecord'> & { readonly end: LineEndFinder }) | undefined;

  constructor(source: ByteSource, start: SlicesStart) {
    this.#source = source;
    this.#start = start;
    this.#sliceBytes = start.sliceBytes ?? SLICE_BYTES;
    this.#offset = start.offset;
    this.#line = start.line;
  }

  /** Undefined at the end. What was read of the slice before must have been said. */
  async next(): Promise<Slice | undefined> {
    assert(this.#slice === undefined, 'it is known how far the slice before was read');
    while (!this.#isEnd) {
      await this.#fill();
      const long = this.#skipped === undefined ? undefined : this.#endOfLong();
      if (this.#skipped !== undefined) continue;
      const text = this.#buffer.subarray(this.#from, this.#to);
      const end = this.#isEnd ? text.length : wholePlainLines(text);
      const bytes = text.subarray(0, end);
      if (end === 0 && long === undefined) this.#skipLong();
      else {
        const offset = this.#offset - text.length;
        this.#slice = { bytes, offset, first: this.#line, isLast: this.#isEnd, long };
        return this.#slice;
      }
    }
    return undefined;
  }

  /** The slice was read up to there: `lines` lines of it. */
  passed(bytes: number, lines: number): void {
    assert(this.#slice !== undefined && bytes <= this.#slice.bytes.length, 'what was read is of the slice');
    this.#from += bytes;
    this.#line += lines;
    this.#slice = undefined;
    if (!this.#isEnd) this.#skipLong();
  }

  /** Puts the bytes that come next behind those that are held. */
  async #fill(): Promise<void> {
    const held = this.#buffer.subarray(this.#from, this.#to);
    const room = held.length + this.#sliceBytes;
    this.#buffer = this.#start.isKept === true ? new Uint8Array(room) : this.#room(room);
    this.#buffer.set(held);
    this.#from = 0;
    const got = await this.#source.read(this.#buffer.subarray(held.length));
    this.#to = held.length + got;
    this.#offset += got;
    this.#isEnd = got < this.#sliceBytes;
  }

  /** What is held is longer than any record: its bytes are dropped, up to its end. */
  #skipLong(): void {
    const held = this.#buffer.subarray(this.#from, this.#to);
    if (held.length <= LIMITS.recordBytes) return;
    const { rules, onLong } = this.#start;
    onLong?.(this.#line);
    const first = held.find((byte) => !rules.isBlank(byte));
    const isComment = first === rules.comment;
    this.#skipped = {
      start: this.#offset - held.length,
      line: this.#line,
      isRecord: first !== undefined && !isComment,
      // A quote in a comment means nothing.
      end: isComment ? plainLineEnd() : rules.lineEnd(),
    };
    // It has no end here: what is whole was read.
    this.#skipped.end.find(held);
    this.#from = this.#to;
  }

  /** Undefined if the line that is skipped does not end in these bytes. */
  #endOfLong(): LongLine | undefined {
    const { end, ...begun } = this.#skipped!;
    const bytes = this.#buffer.subarray(this.#from, this.#to);
    const found = end.find(bytes);
    this.#from = found === undefined ? this.#to : this.#from + found;
    if (found === undefined && !this.#isEnd) return undefined;
    this.#skipped = undefined;
    this.#line += Math.max(1, end.breaks);
    const length = this.#offset - (this.#to - this.#from) - begun.start;
    return { ...begun, bytes: length, isOpen: found === undefined && end.isQuoted };
  }
}
