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
import type { SparsePiece } from '../../piece.ts';
import type { Line, LineReader, LineText } from '../text/lines.ts';

const SMALL_ID_DIGITS = 9;

const GROUP = Buffer.from('qid:');
const MOST_U32 = 2 ** 32 - 1;
/** Group id of a record without a group. */
const NO_GROUP: readonly [number, number] = [MOST_U32, MOST_U32];
const SHOWN_BYTES = 4096;

/** The label of the record in [from, to), whatever follows it; NaN if it is not a number. */
function writtenLabel(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && bytes[end]! > HASH && bytes[end] !== COLON) end++;
  return parseDecimal(bytes, from, end);
}

/**
 * The plain form of `kernels/assembly/libsvm.ts`, which leaves to this what is unusual. `hasFields`: features are
 * `field:id:value`.
 */
export class SparseLineReader implements LineReader<SparsePiece> {
  readonly #text: LineText;
  readonly #bytes: Uint8Array;
  readonly #rule: LabelRule;
  readonly #hasFields: boolean;
  readonly #id = { low: 0, high: 0 };
  /** Where the feature or field just read ended. */
  #at = 0;
  /** The record that is read; its ids, and its group, in u32 halves. */
  #label = 0;
  #weight = 1;
  #group = NO_GROUP;
  #ids: number[] = [];
  #values: number[] = [];
  #fields: number[] = [];

  constructor(text: LineText, rule: LabelRule, hasFields: boolean) {
    this.#text = text;
    this.#bytes = text.bytes;
    this.#rule = rule;
    this.#hasFields = hasFields;
  }

  read(start: number, line: number): Line<SparsePiece> {
    const bytes = this.#bytes;
    const newline = bytes.indexOf(NEWLINE, start);
    const to = newline < 0 ? bytes.length : newline;
    const end = newline < 0 ? to : newline + 1;
    let at = start;
    while (at < to && isBlank(bytes[at]!)) at++;
    if (at === to || bytes[at] === HASH) return { kind: 'none', end, lines: 1 };
    const reason = end - start > LIMITS.recordBytes ? tooLong(end - start) : this.#record(at, to);
    if (reason === undefined) return { kind: 'good', end, lines: 1, piece: this.#piece({ line, start, end }) };
    const text = textOf(bytes, at, Math.min(to, at + SHOWN_BYTES)).trimEnd();
    const { file, firstLine, offset } = this.#text;
    const bad = { file, line: firstLine + line, byteOffset: offset + start, reason, text };
    return { kind: 'bad', end, lines: 1, bad, label: writtenLabel(bytes, at, to) };
  }

  #piece({ line, start, end }: { line: number; start: number; end: number }): SparsePiece {
    return {
      records: 1,
      labels: Float32Array.of(this.#label),
      weights: this.#weight === 1 ? undefined : Float32Array.of(this.#weight),
      groups: this.#group === NO_GROUP ? undefined : Uint32Array.from(this.#group),
      lines: Uint32Array.of(line),
      starts: Uint32Array.of(start),
      ends: Uint32Array.of(end),
      features: {
        features: this.#values.length,
        ends: Uint32Array.of(this.#values.length),
        ids: new Uint8Array(Uint32Array.from(this.#ids).buffer),
        values: this.#values.every((value) => Math.fround(value) === 1) ? undefined : Float32Array.from(this.#values),
        fields: this.#hasFields ? Uint16Array.from(this.#fields) : undefined,
      },
    };
  }

  /** Reads the record in [from, to), which begins with no blank. Undefined when good, else why it is bad. */
  #record(from: number, to: number): string | undefined {
    const bytes = this.#bytes;
    this.#weight = 1;
    this.#group = NO_GROUP;
    this.#ids = [];
    this.#values = [];
    this.#fields = [];
    let at = this.#tokenEnd(from, to);
    const labelEnd = this.#labelEnd(from, at);
    const label = labelOf(this.#rule, parseDecimal(bytes, from, labelEnd));
    if (Number.isNaN(label)) return `label ${quote(bytes, from, labelEnd)} is not ${expectedLabels(this.#rule)}`;
    if (labelEnd < at) {
      const weight = parseDecimal(bytes, labelEnd + 1, at);
      if (!isWeight(weight)) return `weight ${quote(bytes, labelEnd + 1, at)} is not a number from 0 on`;
      this.#weight = Math.fround(weight);
    }
    for (let isFirst = true; ; isFirst = false) {
      while (at < to && isBlank(bytes[at]!)) at++;
      if (at >= to || bytes[at] === HASH) break;
      if (isFirst && GROUP.every((byte, n) => bytes[at + n] === byte)) {
        const end = this.#tokenEnd(at, to);
        if (!this.#readGroup(at + GROUP.length, end)) {
          return `group ${quote(bytes, at + GROUP.length, end)} is not a whole number from 0 to 2^64-2`;
        }
        at = end;
        continue;
      }
      this.#at = at;
      const fault = this.#hasFields ? this.#readField(at, to) : undefined;
      const reason = fault ?? this.#feature(this.#at, to);
      if (reason !== undefined) return reason;
      at = this.#at;
    }
    if (this.#values.length > LIMITS.featuresPerRecord) return `more than ${LIMITS.featuresPerRecord} features`;
    this.#label = label;
    return undefined;
  }

  /** Where the label in the token [from, to) ends: before its weight, if it may have one. */
  #labelEnd(from: number, to: number): number {
    if (this.#rule.mayHaveWeight !== true) return to;
    const colon = this.#bytes.subarray(from, to).indexOf(COLON);
    return colon < 0 ? to : from + colon;
  }

  /** Reads the number in [from, to); false if it is not a number, or is not a valid group. */
  #readGroup(from: number, to: number): boolean {
    const [bytes, id] = [this.#bytes, this.#id];
    if (!parseU64(bytes, from, to, id) || (id.low === MOST_U32 && id.high === MOST_U32)) return false;
    this.#group = [id.low, id.high];
    return true;
  }

  /** Reads `field:` at the beginning of a feature. */
  #readField(from: number, to: number): string | undefined {
    const bytes = this.#bytes;
    const token = bytes.subarray(from, this.#tokenEnd(from, to));
    const colon = token.indexOf(COLON);
    if (colon < 0 || token.indexOf(COLON, colon + 1) < 0) {
      return `feature ${quote(token, 0, token.length)} is not field:id:value`;
    }
    const id = this.#id;
    if (!parseU64(token, 0, colon, id) || id.high > 0 || id.low >= LIMITS.fields) {
      return `field ${quote(token, 0, colon)} is not a whole number from 0 to ${LIMITS.fields - 1}`;
    }
    this.#fields.push(id.low);
    this.#at = from + colon + 1;
    return undefined;
  }

  #feature(from: number, to: number): string | undefined {
    const bytes = this.#bytes;
    let at = from;
    let id = 0;
    for (; at < to; at++) {
      const digit = bytes[at]! - 48;
      if (digit < 0 || digit > 9) break;
      id = id * 10 + digit;
    }
    const end = this.#tokenEnd(at, to);
    if (at - from > SMALL_ID_DIGITS || at === from || at >= to || bytes[at] !== COLON) {
      const reason = this.#unusualId(from, at, end);
      if (reason !== undefined) return reason;
    } else {
      this.#id.low = id;
      this.#id.high = 0;
    }
    const value = parseDecimal(bytes, at + 1, end);
    if (!Number.isFinite(Math.fround(value))) {
      return `value ${quote(bytes, at + 1, end)} of feature ${quote(bytes, from, at)} is not a finite 32-bit number`;
    }
    this.#ids.push(this.#id.low, this.#id.high);
    this.#values.push(value);
    this.#at = end;
    return undefined;
  }

  /** A long id, or none at all. [from, digitsEnd) are the digits read, `end` is the end of the token. */
  #unusualId(from: number, digitsEnd: number, end: number): string | undefined {
    const bytes = this.#bytes;
    const isWhole = digitsEnd < end && bytes[digitsEnd] === COLON && parseU64(bytes, from, digitsEnd, this.#id);
    if (isWhole) return undefined;
    const colon = bytes.subarray(from, end).indexOf(COLON);
    if (colon < 0) return `feature ${quote(bytes, from, end)} has no ":"`;
    return `feature id ${quote(bytes, from, from + colon)} is not a whole number from 0 to 2^64-1`;
  }

  /** Where the token at `from` ends: at a blank, a comment or the end of the line. */
  #tokenEnd(from: number, to: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < to) {
      const byte = bytes[at]!;
      if (byte <= HASH && (byte === SPACE || byte === HASH || isBlank(byte))) break;
      at++;
    }
    return at;
  }
}
