/** Values that were taken, and the records that have them. */
import { NO_TEXT } from '../../columns/piece.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import { RecordValues } from '../text/values.ts';
import type { ColumnValues } from './column.ts';

/** What some values become. What a faulty value becomes has no meaning. */
export interface Taken {
  /** Numbers, labels, weights, times. */
  readonly floats?: Float32Array | Float64Array;
  /** Ids, in u32 halves. */
  readonly halves?: Uint32Array;
  /** For lists: the ids of each value, in u32 halves. Without it each value has one id. */
  readonly lists?: readonly (readonly number[])[];
  /** For lists: 1 where a value is empty. */
  readonly empty?: Uint8Array;
  /** Reasons of faulty values, keyed by value. */
  readonly faults: ReadonlyMap<number, string>;
}

/** The values of each row of a row group. */
export interface RowValues {
  readonly floats?: Float32Array | Float64Array;
  readonly halves?: Uint32Array;
  readonly list?: RowLists;
  readonly faults: ReadonlyMap<number, string>;
}

export interface RowLists {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** Ids of all rows, in u32 halves. */
  readonly ids: Uint32Array;
}

export function rowsOf(target: Target, taken: Taken, column: ColumnValues, plan: ValuePlan): RowValues {
  if (target.kind === 'list') return listRows(target, taken, column);
  const { rows, indexes, nulls } = column;
  const { floats, halves } = taken;
  if (indexes === undefined && nulls === undefined) {
    // If each row has a separate value, the values are those of the rows.
    return { ...(floats && { floats }), ...(halves && { halves }), faults: taken.faults };
  }
  const none = noneOf(target, plan);
  const isNull = (row: number): boolean => nulls !== undefined && nulls[row] !== 0;
  const faults = new Map<number, string>();
  if (taken.faults.size > 0 || none.fault !== undefined) {
    for (let row = 0; row < rows; row++) {
      const fault = isNull(row) ? none.fault : taken.faults.get(indexes === undefined ? row : indexes[row]!);
      if (fault !== undefined) faults.set(row, fault);
    }
  }
  return {
    ...(floats && { floats: rowFloats(floats, column, none.float) }),
    ...(halves && { halves: rowHalves(halves, column, none) }),
    faults,
  };
}

function rowFloats<F extends Float32Array | Float64Array>(
  floats: F,
  { rows, indexes, nulls }: ColumnValues,
  none: number,
): F {
  const made = (floats instanceof Float64Array ? new Float64Array(rows) : new Float32Array(rows)) as F;
  if (indexes === undefined) made.set(floats);
  else for (let row = 0; row < rows; row++) made[row] = floats[indexes[row]!]!;
  if (nulls !== undefined) for (let row = 0; row < rows; row++) if (nulls[row] !== 0) made[row] = none;
  return made;
}

function rowHalves(
  halves: Uint32Array,
  { rows, indexes, nulls }: ColumnValues,
  { low, high }: { readonly low: number; readonly high: number },
): Uint32Array {
  const made = new Uint32Array(2 * rows);
  if (indexes === undefined) made.set(halves);
  else {
    for (let row = 0; row < rows; row++) {
      const at = 2 * indexes[row]!;
      made[2 * row] = halves[at]!;
      made[2 * row + 1] = halves[at + 1]!;
    }
  }
  if (nulls === undefined) return made;
  for (let row = 0; row < rows; row++) {
    if (nulls[row] === 0) continue;
    made[2 * row] = low;
    made[2 * row + 1] = high;
  }
  return made;
}

/** What a record has that lacks the value. */
function noneOf(target: Target, plan: ValuePlan) {
  const reader = new RecordValues(plan);
  const { record } = reader;
  reader.begin();
  const fault = target.kind === 'text' ? plan.times!.faultOf(oneTime(NO_TEXT), 0) : reader.takeNone(target);
  const single = target.kind === 'single' ? record.single.subarray(2 * target.slot) : undefined;
  return {
    fault,
    float: target.kind === 'number' ? record.numbers[target.slot]! : Number.NaN,
    low: single?.[0] ?? record.groupLow,
    high: single?.[1] ?? record.groupHigh,
  };
}

/** The time of one record, as `Times` reads it: there is one column of times at most. */
export const oneTime = (text: Uint8Array) => ({
  records: 1,
  texts: [{ starts: Uint32Array.of(0), ends: Uint32Array.of(text.length) }],
  bytes: text,
});

/** Lists of the file, or one value a row; a list that is missing has no ids. */
function listRows(target: Target & { kind: 'list' }, taken: Taken, column: ColumnValues): RowValues {
  const { rows, elements, indexes, nulls, listOffsets } = column;
  const { column: spec } = target;
  const most = spec.type === 'categories' ? spec.maxLength : 1;
  const faults = new Map<number, string>();
  const [starts, ends] = [new Uint32Array(rows), new Uint32Array(rows)];
  const made = new IdList(elements);
  for (let row = 0; row < rows; row++) {
    starts[row] = made.count;
    const to = listOffsets === undefined ? row + 1 : listOffsets[row + 1]!;
    for (let element = listOffsets === undefined ? row : listOffsets[row]!; element < to; element++) {
      if (nulls !== undefined && nulls[element] !== 0) continue;
      const at = indexes === undefined ? element : indexes[element]!;
      const fault = taken.faults.get(at);
      if (fault !== undefined && !faults.has(row)) faults.set(row, fault);
      if (taken.lists !== undefined) made.addAll(taken.lists[at]!);
      else if (taken.empty === undefined || taken.empty[at] === 0)
        made.add(taken.halves![2 * at]!, taken.halves![2 * at + 1]!);
    }
    ends[row] = made.count;
    const length = made.count - starts[row]!;
    if (length > most && !faults.has(row)) {
      faults.set(row, `column ${spec.name}: ${length} values, more than ${most} (maxLength)`);
    }
  }
  return { list: { starts, ends, ids: made.halves }, faults };
}

/** Ids one after the other, in room that grows. */
class IdList {
  #halves: Uint32Array;
  count = 0;

  constructor(room: number) {
    this.#halves = new Uint32Array(2 * room);
  }

  get halves(): Uint32Array {
    return this.#halves.subarray(0, 2 * this.count);
  }

  add(low: number, high: number): void {
    if (2 * this.count === this.#halves.length) {
      const larger = new Uint32Array(Math.max(64, 2 * this.#halves.length));
      larger.set(this.#halves);
      this.#halves = larger;
    }
    this.#halves[2 * this.count] = low;
    this.#halves[2 * this.count + 1] = high;
    this.count += 1;
  }

  addAll(halves: readonly number[]): void {
    for (let at = 0; at < halves.length; at += 2) this.add(halves[at]!, halves[at + 1]!);
  }
}
