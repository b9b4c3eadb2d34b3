/**
 * Lines of CSV text to records, one by one: the plain form of `kernels/assembly/csv.ts`, which leaves to this what is
 * unusual, all bad records among it.
 */
import { LIMITS } from '../../../base/limits.ts';
import { NEWLINE, parseDecimal, parseU64, quote, textOf } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import type { CategoryColumn } from '../../columns/column.ts';
import { categoryId, halvesOf, hash64, missingId } from '../../columns/hash.ts';
import { type ColumnPiece, emptyRecord, NO_TEXT, type OneRecord, pieceOf } from '../../columns/piece.ts';
import { expectedLabels, isWeight, labelOf } from '../../labels.ts';
import type { BadRecord } from '../../source.ts';
import { FieldReader } from './fields.ts';
import type { LinePlan, Target } from './plan.ts';

const SHOWN_BYTES = 4096;
const AFTER_BYTES = 20;
const SHOWN_TEXTS = 8;
const MOST_U32 = 2 ** 32 - 1;
const COMMA = 44;
const POINT = 46;

export interface CsvText {
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Of `bytes[0]` in the file's content. */
  readonly offset: number;
  readonly firstLine: number;
}

/** What a line is. It ends at `end`, after its line break. */
export type Line =
  | { readonly kind: 'none'; readonly end: number; readonly lines: number }
  | { readonly kind: 'good'; readonly end: number; readonly lines: number; readonly piece: ColumnPiece }
  | { readonly kind: 'bad'; readonly end: number; readonly lines: number; readonly bad: BadRecord }
  /** A quote, at that byte, is not closed within the text. */
  | { readonly kind: 'open'; readonly at: number };

export class LineReader {
  readonly #text: CsvText;
  readonly #plan: LinePlan;
  readonly #reader: FieldReader;
  readonly #record: OneRecord;
  readonly #id = { low: 0, high: 0 };

  constructor(text: CsvText, plan: LinePlan) {
    this.#text = text;
    this.#plan = plan;
    this.#reader = new FieldReader(text.bytes, plan.bytes);
    this.#record = emptyRecord(plan.slots);
  }

  /** The line that begins at `start`; `line`: lines of the text before it. */
  read(start: number, line: number): Line {
    const { bytes } = this.#text;
    const { comment } = this.#plan.bytes;
    let at = start;
    while (this.#reader.isBlank(bytes[at])) at++;
    const isEmpty = at >= bytes.length || bytes[at] === NEWLINE;
    if (isEmpty || (comment >= 0 && bytes[at] === comment)) {
      const newline = bytes.indexOf(NEWLINE, at);
      return { kind: 'none', end: newline < 0 ? bytes.length : newline + 1, lines: 1 };
    }
    return this.#readRecord(start, line);
  }

  #readRecord(start: number, line: number): Line {
    const reader = this.#reader;
    const { bytes } = this.#text;
    const { targets, fields, hasWeights, hasGroups } = this.#plan;
    let reason = this.#clear();
    reader.begin();
    let lines = 1;
    let field = 0;
    for (let at = start; ; at = reader.end + 1) {
      reader.read(at);
      lines += reader.breaks;
      const target = targets[field];
      field += 1;
      // Of a line that is too long nothing is made: it may be 16 MiB of one value.
      const isLong = reader.end - start > LIMITS.recordBytes;
      const isTaken = target !== undefined && !isLong && reason === undefined && reader.fault === undefined;
      if (isTaken) reason = this.#take(target);
      if (reader.end >= bytes.length || bytes[reader.end] === NEWLINE) break;
    }
    const end = Math.min(reader.end + 1, bytes.length);
    const { fault } = reader;
    if (fault?.kind === 'open') return { kind: 'open', at: fault.at };
    if (fault !== undefined) reason = this.#afterQuote(start, fault.at);
    else if (field !== fields) reason = wrongCount(field, fields, lines);
    if (end - start > LIMITS.recordBytes) reason = tooLong(end - start);
    if (reason === undefined) {
      const place = { line, start, end };
      const piece = pieceOf(this.#record, { weights: hasWeights, groups: hasGroups }, place);
      return { kind: 'good', end, lines, piece };
    }
    return { kind: 'bad', end, lines, bad: badRecord(this.#text, { line, start, end }, reason) };
  }

  /** Undefined when good, else what is wrong with a value in the path. */
  #clear(): string | undefined {
    const record = this.#record;
    record.weight = 1;
    record.groupLow = MOST_U32;
    record.groupHigh = MOST_U32;
    for (const list of record.lists) list.length = 0;
    record.texts.fill(NO_TEXT);
    for (const { target, text } of this.#plan.constants) {
      const content = Buffer.from(text);
      const reason = this.#convert(target, content, 0, content.length);
      if (reason !== undefined) return `${reason}, in the path of the file`;
    }
    return undefined;
  }

  #take(target: Target): string | undefined {
    const { content, from, to } = this.#reader;
    return this.#convert(target, content, from, to);
  }

  /** Undefined when good, else what is wrong with the text in [from, to). */
  #convert(target: Target, content: Uint8Array, from: number, to: number): string | undefined {
    const record = this.#record;
    const isMissing = this.#isMissing(content, from, to);
    switch (target.kind) {
      case 'number': {
        const { name, missing } = target.column;
        if (isMissing && missing === 'error') return `column ${name} has no value`;
        const number = isMissing ? Number.NaN : this.#number(content, from, to);
        if (!isMissing && !Number.isFinite(Math.fround(number))) {
          return `column ${name}: ${quote(content, from, to)} is not a finite 32-bit number`;
        }
        record.numbers[target.slot] = number;
        return undefined;
      }
      case 'single': {
        const { seed, slot, column } = target;
        const id = isMissing ? missingId(seed) : categoryId(content.subarray(from, to), seed, column.buckets);
        record.single.set(halvesOf(id), 2 * slot);
        return undefined;
      }
      case 'list':
        return isMissing ? undefined : this.#list(target, content, from, to);
      case 'label':
        return this.#label(target, content, from, to, isMissing);
      case 'weight': {
        const weight = isMissing ? Number.NaN : this.#number(content, from, to);
        if (!isWeight(weight)) {
          return `column ${target.column.name}: weight ${quote(content, from, to)} is not a number from 0 on`;
        }
        record.weight = weight;
        return undefined;
      }
      case 'group':
        if (isMissing) return undefined;
        return this.#group(target, content, from, to);
      case 'text':
        record.texts[target.slot] = isMissing ? NO_TEXT : content.subarray(from, to);
        return undefined;
    }
  }

  #isMissing(content: Uint8Array, from: number, to: number): boolean {
    return this.#plan.missing.some(
      (text) => text.length === to - from && text.every((byte, at) => content[from + at] === byte),
    );
  }

  #number(content: Uint8Array, from: number, to: number): number {
    if (this.#plan.bytes.decimal !== COMMA) return parseDecimal(content, from, to);
    // A copy: `slice` of a Buffer is none.
    const text = Uint8Array.from(content.subarray(from, to));
    if (text.includes(POINT)) return Number.NaN;
    const comma = text.indexOf(COMMA);
    if (comma >= 0) text[comma] = POINT;
    return parseDecimal(text, 0, text.length);
  }

  #label(
    { column, texts }: Target & { kind: 'label' },
    content: Uint8Array,
    from: number,
    to: number,
    isMissing: boolean,
  ): string | undefined {
    if (isMissing) return `column ${column.name}: the label has no value`;
    const rule = this.#plan.labels;
    if (texts === undefined) {
      const label = labelOf(rule, this.#number(content, from, to));
      this.#record.label = label;
      if (!Number.isNaN(label)) return undefined;
      return `column ${column.name}: label ${quote(content, from, to)} is not ${expectedLabels(rule)}`;
    }
    const label = texts.labels.get(Buffer.from(content.subarray(from, to)).toString('latin1')) ?? texts.other;
    this.#record.label = label;
    if (!Number.isNaN(label)) return undefined;
    const known = texts.known.slice(0, SHOWN_TEXTS).map((text) => JSON.stringify(text));
    const more = texts.known.length - known.length;
    const all = `${known.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return `column ${column.name}: label ${quote(content, from, to)} is none of ${all}`;
  }

  #group(
    { column, seed }: Target & { kind: 'group' },
    content: Uint8Array,
    from: number,
    to: number,
  ): string | undefined {
    const record = this.#record;
    if (seed === undefined) {
      if (!parseU64(content, from, to, this.#id) || (this.#id.low === MOST_U32 && this.#id.high === MOST_U32)) {
        return `column ${column.name}: group ${quote(content, from, to)} is not a whole number from 0 to 2^64-2`;
      }
      record.groupLow = this.#id.low;
      record.groupHigh = this.#id.high;
      return undefined;
    }
    const id = hash64(content.subarray(from, to), seed);
    [record.groupLow, record.groupHigh] = halvesOf(id);
    return undefined;
  }

  #list(target: Target & { kind: 'list' }, content: Uint8Array, from: number, to: number): string | undefined {
    const { column, slot } = target;
    const ids = this.#record.lists[slot]!;
    const separator = column.type === 'categories' ? column.separator.charCodeAt(0) : -1;
    // Of the field alone: the next separator may be far behind it.
    const field = content.subarray(0, to);
    for (let start = from; start <= to; ) {
      const found = separator < 0 ? -1 : field.indexOf(separator, start);
      const end = found < 0 ? to : found;
      const [first, last] = this.#trimmed(content, start, end);
      start = end + 1;
      if (first === last) continue;
      const id = idOf(column, target.seed, content.subarray(first, last));
      if (id === undefined) {
        return `column ${column.name}: ${quote(content, first, last)} is not a whole number from -2^63 to 2^64-1`;
      }
      ids.push(...halvesOf(id));
    }
    const most = column.type === 'categories' ? column.maxLength : 1;
    if (ids.length > 2 * most) return `column ${column.name}: ${ids.length / 2} values, more than ${most} (maxLength)`;
    return undefined;
  }

  #trimmed(content: Uint8Array, from: number, to: number): [number, number] {
    let [first, last] = [from, to];
    while (first < last && this.#reader.isBlank(content[first])) first++;
    while (last > first && this.#reader.isBlank(content[last - 1])) last--;
    return [first, last];
  }

  #afterQuote(start: number, at: number): string {
    const { bytes } = this.#text;
    const after = bytes.subarray(at, at + AFTER_BYTES);
    const newline = after.indexOf(NEWLINE);
    const shown = quote(after, 0, newline < 0 ? after.length : newline);
    const before = bytes.subarray(start, at);
    const lines = before.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
    const where = lines === 0 ? '' : ` of the line that is ${lines} below`;
    return `text follows a closing quote, at character ${before.length - before.lastIndexOf(NEWLINE)}${where}: ${shown}`;
  }
}

/** `place`: its line and where it is, in the text. */
export function badRecord(
  { file, bytes, offset, firstLine }: CsvText,
  { line, start, end }: { readonly line: number; readonly start: number; readonly end: number },
  reason: string,
): BadRecord {
  const text = textOf(bytes, start, Math.min(end, start + SHOWN_BYTES)).trimEnd();
  return { file, line: firstLine + line, byteOffset: offset + start, reason, text };
}

/** Undefined when it is no whole number, and has to be one. */
function idOf({ ids, buckets }: CategoryColumn, seed: bigint | undefined, text: Uint8Array): bigint | undefined {
  if (ids === 'hash') return categoryId(text, seed!, buckets);
  const whole = wholeNumber(text);
  if (whole === undefined || seed === undefined) return whole === undefined ? undefined : BigInt.asUintN(64, whole);
  return categoryId(Buffer.from(String(whole)), seed, buckets);
}

/** -2^63 to 2^64 - 1. */
function wholeNumber(text: Uint8Array): bigint | undefined {
  const digits = textOf(text, 0, text.length);
  if (!/^[+-]?\d{1,40}$/.test(digits)) return undefined;
  const whole = BigInt(digits.replace(/^\+/, ''));
  return whole >= -(1n << 63n) && whole < 1n << 64n ? whole : undefined;
}

const wrongCount = (found: number, expected: number, lines: number): string =>
  `${found} fields, expected ${expected}${lines === 1 ? '' : `; a quoted text runs over ${lines} lines: is a quote missing?`}`;
