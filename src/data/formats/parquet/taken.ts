/** Values that were taken, and the records that have them. */
import type { Target, ValuePlan } from '../text/plan.ts';
import { RecordValues } from '../text/values.ts';
import type { ColumnValues } from './column.ts';

/** Of some values. What a faulty one has otherwise says nothing. */
export interface Taken {
  /** Numbers, labels, weights, times. */
  readonly floats?: Float32Array | Float64Array;
  /** Ids, in u32 halves. */
  readonly halves?: Uint32Array;
  /** Of lists: the ids of each value, in u32 halves. Without it each value has one id. */
  readonly lists?: readonly (readonly number[])[];
  /** Of lists: 1 where a value is none. */
  readonly empty?: Uint8Array;
  /** By value. */
  readonly faults: ReadonlyMap<number, string>;
}

/** Of each row of a row group. */
export interface RowValues {
  readonly floats?: Float32Array | Float64Array;
  readonly halves?: Uint32Array;
  readonly list?: RowLists;
  readonly faults: ReadonlyMap<number, string>;
}

export interface RowLists {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** Of all rows, in u32 halves. */
  readonly ids: Uint32Array;
}

export function rowsOf(target: Target, taken: Taken, column: ColumnValues, plan: ValuePlan): RowValues {
  if (target.kind === 'list') return listRows(target, taken, column);
  const { rows, indexes, nulls } = column;
  const faults = new Map<number, string>();
  const none = noneOf(target, plan);
  const { floats, halves } = taken;
  const rowFloats = floats && (floats instanceof Float64Array ? new Float64Array(rows) : new Float32Array(rows));
  const rowHalves = halves && new Uint32Array(2 * rows);
  const hasFaults = taken.faults.size > 0;
  for (let row = 0; row < rows; row++) {
    const at = indexes === undefined ? row : indexes[row]!;
    const isNull = nulls !== undefined && nulls[row] !== 0;
    if (rowFloats !== undefined) rowFloats[row] = isNull ? none.float : floats![at]!;
    if (rowHalves !== undefined) {
      rowHalves[2 * row] = isNull ? none.low : halves![2 * at]!;
      rowHalves[2 * row + 1] = isNull ? none.high : halves![2 * at + 1]!;
    }
    if (!isNull && !hasFaults) continue;
    const fault = isNull ? none.fault : taken.faults.get(at);
    if (fault !== undefined) faults.set(row, fault);
  }
  return { ...(rowFloats && { floats: rowFloats }), ...(rowHalves && { halves: rowHalves }), faults };
}

/** What a record has that lacks the value. */
function noneOf(target: Target, plan: ValuePlan) {
  const reader = new RecordValues(plan);
  const { record } = reader;
  reader.begin();
  const fault = target.kind === 'text' ? plan.times!.faultOf(NO_TIME(target.slot), 0) : reader.takeNone(target);
  const single = target.kind === 'single' ? record.single.subarray(2 * target.slot) : undefined;
  return {
    fault,
    float: target.kind === 'number' ? record.numbers[target.slot]! : Number.NaN,
    low: single?.[0] ?? record.groupLow,
    high: single?.[1] ?? record.groupHigh,
  };
}

const ZERO = Uint32Array.of(0);
/** A record whose text of that slot is empty. */
const NO_TIME = (slot: number) => ({
  records: 1,
  texts: Array.from({ length: slot + 1 }, () => ({ starts: ZERO, ends: ZERO })),
  bytes: new Uint8Array(0),
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
