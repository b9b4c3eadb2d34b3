/**
 * Texts to the values of a record, one by one: the plain form of `kernels/assembly/values.ts`, which leaves to this
 * what is unusual, all bad records among it.
 */
import { isBlank, parseU64, quote, textOf } from '../../ascii.ts';
import type { BadRecord } from '../../bad-record.ts';
import type { CategoryColumn } from '../../columns/column.ts';
import { categoryId, halvesOf, hash64, missingId } from '../../columns/hash.ts';
import { type ColumnPiece, emptyRecord, NO_TEXT, type OneRecord, pieceOf } from '../../columns/piece.ts';
import { expectedLabels, isWeight, labelOf } from '../../labels.ts';
import type { LineText } from './lines.ts';
import { type LabelTexts, labelNumber, numberOf, type Target, type ValuePlan } from './plan.ts';

const SHOWN_BYTES = 4096;
const SHOWN_TEXTS = 8;
const MOST_U32 = 2 ** 32 - 1;

/** Where a record is, in its text. */
export interface RecordPlace {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/** Makes one record after the other. What is wrong with a value is returned as a text, as for a bad record. */
export class RecordValues {
  readonly #plan: ValuePlan;
  readonly #record: OneRecord;
  readonly #id = { low: 0, high: 0 };

  constructor(plan: ValuePlan) {
    this.#plan = plan;
    this.#record = emptyRecord(plan.slots);
  }

  /** What was taken since `begin`: the same object for each record. */
  get record(): Readonly<OneRecord> {
    return this.#record;
  }

  /** The same as a piece. */
  piece(place: RecordPlace): ColumnPiece {
    const { hasWeights, hasGroups } = this.#plan;
    return pieceOf(this.#record, { weights: hasWeights, groups: hasGroups }, place);
  }

  /** A record begins. Undefined when good, else what is wrong with a value in the path. */
  begin(): string | undefined {
    const record = this.#record;
    record.weight = 1;
    record.groupLow = MOST_U32;
    record.groupHigh = MOST_U32;
    for (const list of record.lists) list.length = 0;
    record.texts.fill(NO_TEXT);
    for (const { target, text, from } of this.#plan.constants) {
      const content = Buffer.from(text);
      // What the job says is never missing, whatever texts mean that in its files.
      const isMissing = from === 'folder' && this.isMissing(content, 0, content.length);
      const reason = this.#convert(target, content, 0, content.length, isMissing);
      if (reason !== undefined) return `${reason}, in the path of the file`;
    }
    return undefined;
  }

  /** Undefined when good, else what is wrong with the text in [from, to). */
  take(target: Target, content: Uint8Array, from: number, to: number): string | undefined {
    return this.#convert(target, content, from, to, this.isMissing(content, from, to));
  }

  /** The same of what is known not to be missing. */
  takePresent(target: Target, content: Uint8Array): string | undefined {
    return this.#convert(target, content, 0, content.length, false);
  }

  /** The record has no value of it. Undefined when it needs none. */
  takeNone(target: Target): string | undefined {
    return this.#convert(target, NO_TEXT, 0, 0, true);
  }

  #convert(target: Target, content: Uint8Array, from: number, to: number, isMissing: boolean): string | undefined {
    const record = this.#record;
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

  /** Whether it is a text of what is missing. */
  isMissing(content: Uint8Array, from: number, to: number): boolean {
    return this.#plan.missing.some(
      (text) => text.length === to - from && text.every((byte, at) => content[from + at] === byte),
    );
  }

  #number(content: Uint8Array, from: number, to: number): number {
    return numberOf(content, from, to, this.#plan.dialect);
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
    const text = Buffer.from(content.subarray(from, to));
    if (rule.numberOf !== undefined) {
      this.#record.label = rule.numberOf(text.toString());
      return undefined;
    }
    const label = texts.labels.get(text.toString('latin1')) ?? this.#labelAsNumber(texts, text);
    this.#record.label = label;
    if (!Number.isNaN(label)) return undefined;
    const known = texts.known.slice(0, SHOWN_TEXTS).map((text) => JSON.stringify(text));
    const more = texts.known.length - known.length;
    const all = `${known.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return `column ${column.name}: label ${quote(content, from, to)} is not one of ${all}`;
  }

  #labelAsNumber({ numbers, other }: LabelTexts, text: Uint8Array): number {
    if (numbers.size === 0) return other;
    const number = labelNumber(text, 0, text.length, this.#plan.dialect);
    return (number === undefined ? undefined : numbers.get(number)) ?? other;
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
    const { column } = target;
    const separator = column.type === 'categories' ? column.separator.charCodeAt(0) : -1;
    return this.takeList(target, this.#divided(content, from, to, separator));
  }

  *#divided(content: Uint8Array, from: number, to: number, separator: number): Generator<Uint8Array> {
    // Searches the field alone: the next separator may be far behind it.
    const field = content.subarray(0, to);
    for (let start = from; start <= to; ) {
      const found = separator < 0 ? -1 : field.indexOf(separator, start);
      const end = found < 0 ? to : found;
      yield content.subarray(...this.#trimmed(content, start, end));
      start = end + 1;
    }
  }

  /** Takes a list whose values are divided already; empty values are skipped. */
  takeList({ column, slot, seed }: Target & { kind: 'list' }, texts: Iterable<Uint8Array>): string | undefined {
    const ids = this.#record.lists[slot]!;
    const most = column.type === 'categories' ? column.maxLength : 1;
    let count = 0;
    for (const text of texts) {
      if (text.length === 0) continue;
      count += 1;
      // There may be millions more: they are only counted.
      if (count > most) continue;
      const id = idOf(column, seed, text);
      if (id === undefined) {
        return `column ${column.name}: ${quote(text, 0, text.length)} is not a whole number from -2^63 to 2^64-1`;
      }
      ids.push(...halvesOf(id));
    }
    if (count > most) return `column ${column.name}: ${count} values, more than ${most} (maxLength)`;
    return undefined;
  }

  #trimmed(content: Uint8Array, from: number, to: number): [number, number] {
    const { delimiter } = this.#plan.dialect;
    const isBlankAt = (at: number): boolean => isBlank(content[at]!) && content[at] !== delimiter;
    let [first, last] = [from, to];
    while (first < last && isBlankAt(first)) first++;
    while (last > first && isBlankAt(last - 1)) last--;
    return [first, last];
  }
}

export function badRecord(
  { file, bytes, offset, firstLine }: LineText,
  { line, start, end }: RecordPlace,
  reason: string,
): BadRecord {
  const text = textOf(bytes, start, Math.min(end, start + SHOWN_BYTES)).trimEnd();
  return { file, line: firstLine + line, byteOffset: offset + start, reason, text };
}

/** Undefined if the text must be a whole number and is not. */
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
