/**
 * Lines of JSON to records, one by one: the plain form of `kernels/assembly/json.ts`, which leaves to this what is
 * unusual, all bad records among it.
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { isBlank, NEWLINE } from '../../ascii.ts';
import { tooLong } from '../../chunk-check.ts';
import { pathOf } from '../../columns/column.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import type { Line, LineReader, LineText } from '../text/lines.ts';
import type { LinePlan, Target } from '../text/plan.ts';
import { badRecord, RecordValues } from '../text/values.ts';
import { canonicalText, isArray, isObject, isRawNumber, type Json, jsonOf, kindOf, unfit } from './json.ts';

export class JsonLineReader implements LineReader<ColumnPiece> {
  readonly #text: LineText;
  readonly #values: RecordValues;
  readonly #columns: readonly { readonly target: Target; readonly path: readonly string[] }[];

  constructor(text: LineText, plan: LinePlan) {
    this.#text = text;
    this.#values = new RecordValues(plan);
    const targets = plan.targets.filter((target) => target !== undefined);
    this.#columns = targets.map((target) => ({ target, path: pathOf(target.column) }));
  }

  read(start: number, line: number): Line<ColumnPiece> {
    const { bytes } = this.#text;
    let at = start;
    while (at < bytes.length && isBlank(bytes[at]!)) at++;
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? bytes.length : newline + 1;
    if (at === bytes.length || at === newline) return { kind: 'none', end, lines: 1 };
    const place = { line, start, end };
    const isLong = end - start > LIMITS.recordBytes;
    const reason = isLong
      ? tooLong(end - start)
      : (this.#values.begin() ?? this.#take(bytes.subarray(at, newline < 0 ? end : newline)));
    if (reason === undefined) return { kind: 'good', end, lines: 1, piece: this.#values.piece(place) };
    return { kind: 'bad', end, lines: 1, bad: badRecord(this.#text, place, reason) };
  }

  /** Undefined when good, else what is wrong. */
  #take(line: Uint8Array): string | undefined {
    let record: Json;
    try {
      record = jsonOf(line);
    } catch (error) {
      if (error instanceof PaddletError) return error.message;
      throw error;
    }
    if (!isObject(record)) return `expected an object, got ${kindOf(record)}`;
    for (const { target, path } of this.#columns) {
      const found = valueAt(record, path);
      const reason =
        'fault' in found ? `column ${target.column.name}: ${found.fault}` : this.#takeValue(target, found.value);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  #takeValue(target: Target, value: Json): string | undefined {
    const values = this.#values;
    if (value === null) return values.takeNone(target);
    const { name, type } = target.column;
    if (isArray(value) && target.kind === 'list' && type === 'categories') {
      for (const one of value) {
        const fault = one === null ? undefined : unfit(one);
        if (fault !== undefined) return `column ${name}: ${fault} in the array`;
      }
      return values.takeList(target, textsOf(value));
    }
    const isNumber = isNumeric(target);
    const fault = isNumber && isRawNumber(value) ? undefined : unfit(value);
    if (fault !== undefined) return `column ${name}: expected ${EXPECTED[type] ?? 'one value'}, got ${fault}`;
    const text = canonicalText(value);
    const bytes = Buffer.from(text);
    if (values.isMissing(bytes, 0, bytes.length)) return values.takeNone(target);
    return values.takePresent(target, isNumber ? Buffer.from(numberText(value) ?? text) : bytes);
  }
}

function* textsOf(values: readonly Json[]): Generator<Uint8Array> {
  for (const value of values) if (value !== null) yield Buffer.from(canonicalText(value));
}

const EXPECTED: Readonly<Record<string, string>> = { number: 'a number', categories: 'an array or a text' };

/** A value that is not a text, as a number: true is 1. A number stays as it is written, so that -0 stays -0. */
function numberText(value: Json): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return isRawNumber(value) ? value.rawJSON : undefined;
}

/** Whether its value is read as a number. */
const isNumeric = (target: Target): boolean =>
  target.kind === 'number' || target.kind === 'weight' || (target.kind === 'label' && target.texts === undefined);

/** What an object lacks is null. */
export function valueAt(record: Json, path: readonly string[]): { readonly value: Json } | { readonly fault: string } {
  let value = record;
  for (const [depth, key] of path.entries()) {
    if (value === null) return { value };
    if (!isObject(value))
      return { fault: `expected an object at ${path.slice(0, depth).join('.')}, got ${kindOf(value)}` };
    value = Object.hasOwn(value, key) ? value[key]! : null;
  }
  return { value };
}
