/** The records of a text of fields, whatever its columns are. */
import { PaddletError } from '../../base/errors.ts';
import { NEWLINE, textOf } from '../ascii.ts';
import type { Slices } from '../bytes/slices.ts';
import { FieldReader } from '../formats/csv/fields.ts';
import type { DialectBytes } from '../formats/text/plan.ts';

export interface RawRecord {
  /** Texts of the fields, as Latin-1. */
  readonly fields: readonly string[];
  /** For each field, whether quotes enclose it. */
  readonly quoted: readonly boolean[];
  /** 1-based. */
  readonly line: number;
  /** Text follows a closing quote. */
  readonly isFaulty: boolean;
}

/** A line that is too long to be read. */
export interface LongRecord {
  readonly line: number;
  readonly bytes: number;
}

/** False: no more. */
export type Visit = (record: RawRecord) => boolean;

export interface ReadRecords {
  /** Where the reading stopped: the first record that is not whole begins there. */
  readonly bytes: number;
  /** Lines before it. */
  readonly lines: number;
  readonly isStopped: boolean;
  /** The current record has a quote that is not closed. */
  readonly isOpen: boolean;
}

/** `isLast`: nothing follows the bytes, so their last record is whole. */
export function readRecords(
  bytes: Uint8Array,
  dialect: DialectBytes,
  { firstLine, isLast }: { readonly firstLine: number; readonly isLast: boolean },
  visit: Visit,
): ReadRecords {
  const reader = new FieldReader(bytes, dialect);
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const textIn = (content: Uint8Array, from: number, to: number): string =>
    content === bytes ? whole.toString('latin1', from, to) : textOf(content, from, to);
  let lines = 0;
  let start = 0;
  while (start < bytes.length) {
    let at = start;
    while (reader.isBlank(bytes[at])) at++;
    const isNone = at >= bytes.length || bytes[at] === NEWLINE || bytes[at] === dialect.comment;
    if (isNone) {
      const newline = bytes.indexOf(NEWLINE, at);
      if (newline < 0 && !isLast) return { bytes: start, lines, isStopped: false, isOpen: false };
      start = newline < 0 ? bytes.length : newline + 1;
      lines += 1;
      continue;
    }
    const fields: string[] = [];
    const quoted: boolean[] = [];
    let breaks = 0;
    reader.begin();
    for (at = start; ; at = reader.end + reader.delimiterBytes) {
      reader.read(at);
      const { content, from, to } = reader;
      fields.push(textIn(content, from, to));
      // A text with doubled quotes is a copy.
      quoted.push(content !== bytes || (from > at && bytes[from - 1] === dialect.quote));
      breaks += reader.breaks;
      if (reader.end >= bytes.length || bytes[reader.end] === NEWLINE) break;
    }
    const isOpen = reader.fault?.kind === 'open';
    if (isOpen || (reader.end >= bytes.length && !isLast)) return { bytes: start, lines, isStopped: false, isOpen };
    const isStopped = !visit({ fields, quoted, line: firstLine + lines, isFaulty: reader.fault !== undefined });
    start = Math.min(reader.end + 1, bytes.length);
    lines += breaks + 1;
    if (isStopped) return { bytes: start, lines, isStopped, isOpen: false };
  }
  return { bytes: bytes.length, lines, isStopped: false, isOpen: false };
}

/** Reads all records of a file. Throws `DataInvalid` if a quote is never closed. */
export async function readAllRecords(
  path: string,
  slices: Slices,
  dialect: DialectBytes,
  visit: (record: RawRecord | LongRecord) => boolean,
): Promise<void> {
  const openQuote = (line: number): PaddletError =>
    new PaddletError('DataInvalid', `${path}:${line}: a quote in this record is not closed`, {
      hint: 'double each quote inside a quoted field, or set data.csv.quote to none',
    });
  for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
    const { bytes, first: firstLine, isLast, long } = slice;
    if (long?.isOpen) throw openQuote(long.line);
    if (long?.isRecord && !visit({ line: long.line, bytes: long.bytes })) return;
    const done = readRecords(bytes, dialect, { firstLine, isLast }, visit);
    if (done.isStopped) return;
    if (isLast && done.isOpen) throw openQuote(firstLine + done.lines);
    slices.passed(done.bytes, done.lines);
  }
}
