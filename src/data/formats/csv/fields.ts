/**
 * Fields of CSV text (RFC 4180). A quote opens a field only at its beginning; in quotes, delimiters and line breaks are
 * ordinary, and two quotes are one. Blanks around a field do not belong to it; blanks in quotes do.
 */

import { isBlank, NEWLINE } from '../../ascii.ts';
import type { LineEndFinder, LineRules } from '../../bytes/slices.ts';
import type { Dialect } from '../../columns/column.ts';
import type { DialectBytes } from '../text/plan.ts';

const SPACE = 32;
const TAB = 9;
const RETURN = 13;
const NONE = -1;

/** Why a line that is equal to the header is bad: files were joined, headers included. */
export const REPEATED_HEADER = 'the header of the file again';

export function dialectBytes({ delimiter, runs, quote, comment, decimal }: Dialect): DialectBytes {
  const byteOf = (text: string | null | undefined): number => (text ? text.charCodeAt(0) : NONE);
  return {
    delimiter: byteOf(delimiter),
    isDouble: delimiter.length === 2,
    isRun: runs === true,
    quote: byteOf(quote),
    comment: byteOf(comment),
    decimal: byteOf(decimal),
  };
}

/** What is wrong with a field, and where the reading stops. */
export interface FieldFault {
  readonly kind: 'open' | 'after';
  /** Byte of the quote that is not closed, or of what follows a closing one. */
  readonly at: number;
}

/** Where its delimiter is, or its line break, or the end of the text. */
function endOfField(bytes: Uint8Array, from: number, delimiter: number, isDouble: boolean): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === NEWLINE || (byte === delimiter && (!isDouble || bytes[at + 1] === delimiter))) return at;
  }
  return bytes.length;
}

/** Reads one field after the other. */
export class FieldReader {
  readonly bytes: Uint8Array;
  /** Bytes between the end of a field and the start of the next. */
  readonly delimiterBytes: 1 | 2;
  readonly #delimiter: number;
  readonly #isRun: boolean;
  /** A byte that looks like a blank, but is not treated as one. */
  readonly #notBlank: number;
  readonly #quote: number;
  /** The content of the field read last: [from, to) of `content`. */
  content: Uint8Array;
  from = 0;
  to = 0;
  /** Where its delimiter or its line break is, or the end of the text. */
  end = 0;
  /** Set at blanks that divide with nothing after them, which are not a field. */
  isNone = false;
  /** Line breaks in it. */
  breaks = 0;
  /** The first one in a line, but rather a quote that is not closed: where the line ends is unknown then. */
  fault: FieldFault | undefined;

  constructor(bytes: Uint8Array, { delimiter, isDouble, isRun, quote }: DialectBytes) {
    this.bytes = bytes;
    this.content = bytes;
    this.delimiterBytes = isDouble === true ? 2 : 1;
    this.#delimiter = delimiter;
    this.#isRun = isRun === true;
    this.#notBlank = this.#isRun ? NONE : delimiter;
    this.#quote = quote;
  }

  isBlank(byte: number | undefined): boolean {
    return (byte === SPACE || byte === TAB || byte === RETURN) && byte !== this.#notBlank;
  }

  /** A line begins. */
  begin(): void {
    this.fault = undefined;
  }

  /** The field that begins at `start`. */
  read(start: number): void {
    const { bytes } = this;
    let at = start;
    while (this.isBlank(bytes[at])) at++;
    this.breaks = 0;
    this.content = bytes;
    if (this.#quote !== NONE && bytes[at] === this.#quote) this.#readQuoted(at);
    else this.#readPlain(at);
  }

  #readPlain(from: number): void {
    const { bytes } = this;
    let at = this.#endOfField(from);
    this.from = from;
    this.end = at;
    while (at > this.from && this.isBlank(bytes[at - 1])) at--;
    this.to = at;
    this.isNone = this.#isRun && from === at;
  }

  #readQuoted(open: number): void {
    const { bytes } = this;
    const quote = this.#quote;
    let close = bytes.indexOf(quote, open + 1);
    let doubled = 0;
    while (close >= 0 && bytes[close + 1] === quote) {
      doubled += 1;
      close = bytes.indexOf(quote, close + 2);
    }
    const isOpen = close < 0;
    if (isOpen) close = bytes.length;
    this.from = open + 1;
    this.to = close;
    // Searches the field alone: the next line break may be far behind it.
    const quoted = bytes.subarray(this.from, isOpen ? this.from : close);
    for (let at = quoted.indexOf(NEWLINE); at >= 0; at = quoted.indexOf(NEWLINE, at + 1)) this.breaks += 1;
    if (doubled > 0) this.#unescape(doubled);
    let at = Math.min(close + 1, bytes.length);
    while (this.isBlank(bytes[at])) at++;
    // Before any other: it is not known where the line ends.
    if (isOpen) this.fault = { kind: 'open', at: open };
    else if (at < bytes.length && bytes[at] !== this.#delimiter && bytes[at] !== NEWLINE) {
      this.fault ??= { kind: 'after', at };
      at = this.#endOfField(at);
    }
    this.end = at;
  }

  #endOfField(from: number): number {
    return endOfField(this.bytes, from, this.#delimiter, this.delimiterBytes === 2);
  }

  #unescape(doubled: number): void {
    const plain = new Uint8Array(this.to - this.from - doubled);
    let length = 0;
    for (let at = this.from; at < this.to; at++) {
      plain[length++] = this.bytes[at]!;
      if (this.bytes[at] === this.#quote) at++;
    }
    this.content = plain;
    this.from = 0;
    this.to = plain.length;
  }
}

/** The rules of lines that are too long to be held. */
export const lineRules = (dialect: DialectBytes): LineRules => ({
  comment: dialect.comment,
  isBlank: (byte) => isBlank(byte) && (dialect.isRun === true || byte !== dialect.delimiter),
  lineEnd: () => new LineEnd(dialect),
});

/** Finds the end of a line that is too long to be held: a line break outside of quotes. Of its text nothing is kept. */
class LineEnd implements LineEndFinder {
  readonly #delimiter: number;
  readonly #quote: number;
  #state: 'begin' | 'plain' | 'quoted' | 'closed' = 'begin';
  /** Line breaks so far, those in quotes included. */
  breaks = 0;

  constructor({ delimiter, quote }: DialectBytes) {
    this.#delimiter = delimiter;
    this.#quote = quote;
  }

  /** Whether a quote is open. */
  get isQuoted(): boolean {
    return this.#state === 'quoted';
  }

  /** Where the line ends in the bytes that follow, after its line break; undefined if the line continues after them. */
  find(bytes: Uint8Array): number | undefined {
    const [delimiter, quote] = [this.#delimiter, this.#quote];
    let state = this.#state;
    let end: number | undefined;
    for (let at = 0; at < bytes.length && end === undefined; at++) {
      const byte = bytes[at]!;
      if (byte === NEWLINE) {
        this.breaks += 1;
        if (state !== 'quoted') end = at + 1;
      } else if (state === 'quoted') {
        if (byte === quote) state = 'closed';
      } else if (byte === delimiter) state = 'begin';
      // A second quote right behind one that closes means a quote in the text.
      else if (byte === quote && state !== 'plain') state = 'quoted';
      else if (state !== 'begin' || (byte !== SPACE && byte !== TAB && byte !== RETURN)) state = 'plain';
    }
    this.#state = state;
    return end;
  }
}

/** Where the last record that is whole ends: with its line break, and no quote open. The text begins with a line. */
export function wholeLines(text: Uint8Array, dialect: DialectBytes): number {
  const last = text.lastIndexOf(NEWLINE) + 1;
  const { quote, comment } = dialect;
  if (quote === NONE || text.subarray(0, last).indexOf(quote) < 0) return last;
  const reader = new FieldReader(text.subarray(0, last), dialect);
  for (let start = 0; start < last; ) {
    let at = start;
    while (reader.isBlank(text[at])) at++;
    if (text[at] === NEWLINE || text[at] === comment) {
      start = text.indexOf(NEWLINE, at) + 1;
      continue;
    }
    reader.begin();
    for (at = start; ; at = reader.end + 1) {
      reader.read(at);
      if (reader.end >= last || text[reader.end] === NEWLINE) break;
    }
    if (reader.fault?.kind === 'open') return start;
    start = reader.end + 1;
  }
  return last;
}

/** The first fields of the line that begins at `start`, `most` of them, and where the last one ends; for headers. */
export function fieldsOf(
  bytes: Uint8Array,
  start: number,
  dialect: DialectBytes,
  most = Number.POSITIVE_INFINITY,
): { texts: string[]; end: number; breaks: number; fault: FieldFault | undefined } {
  const reader = new FieldReader(bytes, dialect);
  const texts: string[] = [];
  let breaks = 0;
  for (let at = start; ; at = reader.end + reader.delimiterBytes) {
    reader.read(at);
    const { content, from, to, end } = reader;
    if (!reader.isNone) texts.push(Buffer.from(content.subarray(from, to)).toString('utf8'));
    breaks += reader.breaks;
    if (end >= bytes.length || bytes[end] === NEWLINE || texts.length >= most)
      return { texts, end, breaks, fault: reader.fault };
  }
}
