/**
 * Cuts bytes into slices of whole lines. The reader of a slice reports how far it read. The rest is returned again at
 * the beginning of the next slice. Uses memory for one slice and the longest record.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { reused } from '../../base/reused.ts';
import { isBlank, NEWLINE } from '../ascii.ts';

/** Takes a few milliseconds to parse. The event loop turns between two slices. */
export const SLICE_BYTES = 1 << 20;
const SPARE_BYTES = 1 << 16;

/** A source of bytes that are read once, in order. */
export interface ByteSource {
  /** Fills `into` with the next bytes. Returns their number, which is below the length of `into` only at the end. */
  read(into: Uint8Array): Promise<number>;
}

export interface Slice {
  /** Whole lines; the last slice has everything that is left. Empty if only a long line was read. */
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the content. */
  readonly offset: number;
  /** 1-based line of text. */
  readonly first: number;
  readonly isLast: boolean;
  /** The line before these bytes, if it is too long to be a record. Its bytes were dropped. */
  readonly long?: LongLine | undefined;
}

export interface LongLine {
  readonly start: number;
  readonly line: number;
  /** Length including the line break, if there is one. */
  readonly bytes: number;
  /** False if the line begins as a comment, or with nothing but blanks. */
  readonly isRecord: boolean;
  /** The source ends inside a quote of this line. */
  readonly isOpen: boolean;
}

/** How to skip a line that is too long to be a record. */
export interface LineRules {
  /** The byte that begins a comment line; -1 if there are no comments. */
  readonly comment: number;
  /** Whether a record may have this byte before its first field. */
  isBlank(byte: number): boolean;
  lineEnd(): LineEndFinder;
}

/** Finds the end of a line whose bytes arrive in several calls. */
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

/** Where the last whole line ends, if lines have no quotes. */
export const wholePlainLines = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1;

export function lineBreaks(text: Uint8Array): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** Rules for lines without quotes and comments. */
export const PLAIN_LINES: LineRules = { comment: -1, isBlank, lineEnd: plainLineEnd };

/** Memory that is the slice's alone. */
export const ownMemory = (bytes: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

export interface SlicesStart {
  /** Where the first record begins, and the number of the line there. */
  readonly offset: number;
  readonly line: number;
  readonly rules: LineRules;
  /** Called when a line exceeds the maximum length of a record, before its end is searched. */
  readonly onLong?: (line: number) => void;
  readonly sliceBytes?: number | undefined;
  /**
   * Memory for a slice, with what is held of the one before. By default, a slice is valid only until the next one is
   * read.
   */
  readonly room?: (bytes: number) => Uint8Array<ArrayBuffer>;
}

export class Slices {
  readonly #source: ByteSource;
  readonly #start: SlicesStart;
  readonly #sliceBytes: number;
  readonly #room: (bytes: number) => Uint8Array<ArrayBuffer>;
  #buffer = new Uint8Array(0);
  /** Range of the buffer that was not read yet: [from, to). */
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
    // The held bytes are longer or shorter each time: spare room avoids a new buffer for each.
    this.#room = start.room ?? reused((length) => new Uint8Array(length + SPARE_BYTES));
    this.#offset = start.offset;
    this.#line = start.line;
  }

  /** Undefined at the end. Call `passed` for each slice before the next one. */
  async next(): Promise<Slice | undefined> {
    assert(this.#slice === undefined, '`passed` is called for each slice before the next one');
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

  /** Reports that the reader read this many bytes and lines of the slice. */
  passed(bytes: number, lines: number): void {
    assert(
      this.#slice !== undefined && bytes <= this.#slice.bytes.length,
      'a reader passes at most the bytes of the slice',
    );
    this.#from += bytes;
    this.#line += lines;
    this.#slice = undefined;
    if (!this.#isEnd) this.#skipLong();
  }

  /** Reads the next bytes to the place after those that were not read yet. */
  async #fill(): Promise<void> {
    const held = this.#buffer.subarray(this.#from, this.#to);
    this.#buffer = this.#room(held.length + this.#sliceBytes);
    this.#buffer.set(held);
    this.#from = 0;
    const got = await this.#source.read(this.#buffer.subarray(held.length));
    this.#to = held.length + got;
    this.#offset += got;
    this.#isEnd = got < this.#sliceBytes;
  }

  /** If the bytes that were not read exceed the length of a record, drops them and the rest of their line. */
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
      // Quotes in a comment do not continue it on the next line.
      end: isComment ? plainLineEnd() : rules.lineEnd(),
    };
    // The line cannot end in these bytes: whole records were read before.
    this.#skipped.end.find(held);
    this.#from = this.#to;
  }

  /** Undefined if the skipped line does not end in these bytes. */
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
