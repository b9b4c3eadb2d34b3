/**
 * Text of LIBSVM and libFM: a record a line, `label id:value id:value …`, separated by blanks; a `#` begins a comment
 * that runs to the end of the line; lines with nothing else are no records. Ids are u64, values f32; 0 is kept. (LIBSVM
 * README; libFM 1.4.2 manual, §2.1. Their formats agree on all of this.) After the label may come its group,
 * `qid:number` (SVMrank), and at the label its weight, `label:weight` (XGBoost, "Text Input Format of DMatrix"). Text
 * of libffm is the same but for its features, `field:id:value` (libffm README).
 */
import { LIMITS } from '../../../base/limits.ts';
import { COLON, HASH, isBlank, NEWLINE, parseDecimal, parseU64, quote, SPACE, textOf } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import { expectedLabels, isWeight, type LabelRule, labelOf } from '../../labels.ts';
import type { BadRecord } from '../../source.ts';

/** A feature takes at least four bytes of text, as in " 1:1"; with a field it takes more. */
export const FEWEST_FEATURE_BYTES = 4;

const SMALL_ID_DIGITS = 9;

const GROUP = Buffer.from('qid:');
const MOST_U32 = 2 ** 32 - 1;

/** Number of bad records whose text is kept, to show it and to see what the file looks like. */
const SHOWN_RECORDS = 8;
const SHOWN_BYTES = 4096;

export interface TextPart {
  readonly file: string;
  /** Whole lines; what follows [0, length) is not read. */
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the file's content. */
  readonly offset: number;
  readonly firstLine: number;
  /** Whether features are `field:id:value`. */
  readonly hasFields?: boolean;
}

/** What takes the records of a task, one after the other. */
export interface RecordSink {
  /** The records that follow are of this file. */
  startPart(file: string): void;
  /** Adds a feature to the record being read; its id in two u32 halves. `field`: 0 where the text has none. */
  feature(low: number, high: number, value: number, field: number): void;
  /** Weight and group of the record being read; without them it has weight 1 and no group. */
  weight(value: number): void;
  group(low: number, high: number): void;
  /** Features of the record being read, so far. */
  readonly pending: number;
  readonly badRecords: number;
  /** Both end the record being read; of a bad one nothing stays. */
  good(label: number, line: number): void;
  /** `label`: as it is written, NaN if it is not a number. */
  bad(record: BadRecord, label?: number): void;
}

/**
 * Parses all records of the part; bad ones with file, line, byte offset and reason. `text.ts` does the same faster, and
 * leaves to this what is unusual.
 */
export function parseLibsvm(part: TextPart, rule: LabelRule, into: RecordSink): void {
  into.startPart(part.file);
  const parser = new LineParser(part, rule, into);
  let line = part.firstLine;
  for (let start = 0; start < part.bytes.length; line++) start = parser.line(start, line) + 1;
}

/** The label of the record in [from, to), whatever follows it; NaN if it is not a number. */
export function writtenLabel(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && bytes[end]! > HASH && bytes[end] !== COLON) end++;
  return parseDecimal(bytes, from, end);
}

export class LineParser {
  private readonly part: TextPart;
  private readonly bytes: Uint8Array;
  private readonly rule: LabelRule;
  private readonly into: RecordSink;
  private readonly id = { low: 0, high: 0 };
  /** The field just read. */
  private field = 0;
  /** Where the feature or field just read ended. */
  private at = 0;

  constructor(part: TextPart, rule: LabelRule, into: RecordSink) {
    this.part = part;
    this.bytes = part.bytes;
    this.rule = rule;
    this.into = into;
  }

  /** Reads the line that begins at `start`, whose number is `line`. Returns where it ends: at its line break. */
  line(start: number, line: number): number {
    const { bytes, part, into } = this;
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    let at = start;
    while (at < end && isBlank(bytes[at]!)) at++;
    if (at === end || bytes[at] === HASH) return end;
    const reason = this.record(at, end, line);
    if (reason !== undefined) {
      const text = textOf(bytes, at, Math.min(end, at + SHOWN_BYTES)).trimEnd();
      const shown = into.badRecords < SHOWN_RECORDS && { text };
      const label = writtenLabel(bytes, at, end);
      into.bad({ file: part.file, line, byteOffset: part.offset + start, reason, ...shown }, label);
    }
    return end;
  }

  /** Reads the record in [from, to), which begins with no blank. Undefined when good, else why it is bad. */
  private record(from: number, to: number, line: number): string | undefined {
    const { bytes, into, part } = this;
    if (to - from > LIMITS.recordBytes) return tooLong(to - from);
    let at = this.tokenEnd(from, to);
    const labelEnd = this.labelEnd(from, at);
    const label = labelOf(this.rule, parseDecimal(bytes, from, labelEnd));
    if (Number.isNaN(label)) return `label ${quote(bytes, from, labelEnd)} is not ${expectedLabels(this.rule)}`;
    if (labelEnd < at) {
      const weight = parseDecimal(bytes, labelEnd + 1, at);
      if (!isWeight(weight)) return `weight ${quote(bytes, labelEnd + 1, at)} is not a number from 0 on`;
      into.weight(weight);
    }
    for (let isFirst = true; ; isFirst = false) {
      while (at < to && isBlank(bytes[at]!)) at++;
      if (at >= to || bytes[at] === HASH) break;
      if (isFirst && GROUP.every((byte, n) => bytes[at + n] === byte)) {
        const end = this.tokenEnd(at, to);
        if (!this.group(at + GROUP.length, end)) {
          return `group ${quote(bytes, at + GROUP.length, end)} is not a whole number from 0 to 2^64-2`;
        }
        at = end;
        continue;
      }
      this.at = at;
      const fault = part.hasFields ? this.readField(at, to) : undefined;
      const reason = fault ?? this.feature(this.at, to);
      if (reason !== undefined) return reason;
      at = this.at;
    }
    if (into.pending > LIMITS.featuresPerRecord) return `more than ${LIMITS.featuresPerRecord} features`;
    into.good(label, line);
    return undefined;
  }

  /** Where the label in the token [from, to) ends: before its weight, if it may have one. */
  private labelEnd(from: number, to: number): number {
    if (this.rule.mayHaveWeight !== true) return to;
    const colon = this.bytes.subarray(from, to).indexOf(COLON);
    return colon < 0 ? to : from + colon;
  }

  /** Reads the number in [from, to); false if it is not a number, or is not a valid group. */
  private group(from: number, to: number): boolean {
    const { bytes, id } = this;
    if (!parseU64(bytes, from, to, id) || (id.low === MOST_U32 && id.high === MOST_U32)) return false;
    this.into.group(id.low, id.high);
    return true;
  }

  /** Reads `field:` at the beginning of a feature. */
  private readField(from: number, to: number): string | undefined {
    const { bytes } = this;
    const token = bytes.subarray(from, this.tokenEnd(from, to));
    const colon = token.indexOf(COLON);
    if (colon < 0 || token.indexOf(COLON, colon + 1) < 0) {
      return `feature ${quote(token, 0, token.length)} is not field:id:value`;
    }
    const { id } = this;
    if (!parseU64(token, 0, colon, id) || id.high > 0 || id.low >= LIMITS.fields) {
      return `field ${quote(token, 0, colon)} is not a whole number from 0 to ${LIMITS.fields - 1}`;
    }
    this.field = id.low;
    this.at = from + colon + 1;
    return undefined;
  }

  private feature(from: number, to: number): string | undefined {
    const { bytes } = this;
    let at = from;
    let id = 0;
    for (; at < to; at++) {
      const digit = bytes[at]! - 48;
      if (digit < 0 || digit > 9) break;
      id = id * 10 + digit;
    }
    const end = this.tokenEnd(at, to);
    if (at - from > SMALL_ID_DIGITS || at === from || at >= to || bytes[at] !== COLON) {
      const reason = this.unusualId(from, at, end);
      if (reason !== undefined) return reason;
    } else {
      this.id.low = id;
      this.id.high = 0;
    }
    const value = parseDecimal(bytes, at + 1, end);
    if (!Number.isFinite(Math.fround(value))) {
      return `value ${quote(bytes, at + 1, end)} of feature ${quote(bytes, from, at)} is not a finite 32-bit number`;
    }
    this.into.feature(this.id.low, this.id.high, value, this.field);
    this.at = end;
    return undefined;
  }

  /** A long id, or none at all. [from, digitsEnd) are the digits read, `end` is the end of the token. */
  private unusualId(from: number, digitsEnd: number, end: number): string | undefined {
    const { bytes } = this;
    const isWhole = digitsEnd < end && bytes[digitsEnd] === COLON && parseU64(bytes, from, digitsEnd, this.id);
    if (isWhole) return undefined;
    const colon = bytes.subarray(from, end).indexOf(COLON);
    if (colon < 0) return `feature ${quote(bytes, from, end)} has no ":"`;
    return `feature id ${quote(bytes, from, from + colon)} is not a whole number from 0 to 2^64-1`;
  }

  /** Where the token at `from` ends: at a blank, a comment or the end of the line. */
  private tokenEnd(from: number, to: number): number {
    const { bytes } = this;
    let at = from;
    while (at < to) {
      const byte = bytes[at]!;
      if (byte <= HASH && (byte === SPACE || byte === HASH || isBlank(byte))) break;
      at++;
    }
    return at;
  }
}
