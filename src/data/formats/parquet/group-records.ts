/** The records of a row group: its columns put together, and passed on in pieces. */
import { LIMITS } from '../../../base/limits.ts';
import { type ColumnPiece, slicePiece } from '../../columns/piece.ts';
import type { PieceSink } from '../../piece.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import { RecordValues } from '../text/values.ts';
import { oneTime, type RowLists, type RowValues } from './taken.ts';

export class GroupRecords {
  readonly #plan: ValuePlan;
  readonly #rows: number;
  readonly #firstRow: number;
  readonly #values = new Map<string, RowValues>();
  /** By row: what is wrong with the first column that is bad. */
  readonly #faults = new Map<number, string>();
  #piece: ColumnPiece | undefined;

  constructor(plan: ValuePlan, rows: number, firstRow: number) {
    this.#plan = plan;
    this.#rows = rows;
    this.#firstRow = firstRow;
  }

  /** To be called in the order of the plan. */
  add(target: Target, values: RowValues): void {
    this.#values.set(keyOf(target), values);
    for (const [row, fault] of values.faults) if (!this.#faults.has(row)) this.#faults.set(row, fault);
  }

  /** Once all columns are there: the good ones among its records are those of the group. */
  finish(): ColumnPiece {
    if (this.#piece !== undefined) return this.#piece;
    const constants = new RecordValues(this.#plan);
    const constantFault = constants.begin() ?? this.#timeFault(constants);
    if (constantFault !== undefined) for (let row = 0; row < this.#rows; row++) this.#faults.set(row, constantFault);
    this.#piece = this.#pieceOf(constants);
    return this.#piece;
  }

  /**
   * The records of these rows in their order, as far as the sink has room: some at a time, so that the event loop can
   * turn and what takes them can keep up. Ends early when the sink is full, with false.
   */
  *pass(file: string, sink: PieceSink<ColumnPiece>, from = 0, to = this.#rows): Generator<void, boolean> {
    const piece = this.finish();
    const bad = [...this.#faults.keys()].filter((row) => row >= from && row < to).sort((a, b) => a - b);
    let row = from;
    for (const end of [...bad, to]) {
      while (row < end) {
        if (sink.quota === 0) return false;
        const next = Math.min(end, row + Math.min(sink.quota, LIMITS.pieceRecords));
        sink.add(slicePiece(piece, row, next), this.#firstRow + 1);
        row = next;
        yield;
      }
      if (end === to) break;
      if (sink.quota === 0) return false;
      const reason = this.#faults.get(end)!;
      sink.bad({ file, line: this.#firstRow + end + 1, byteOffset: 0, reason }, { start: end, end: end + 1 });
      row = end + 1;
    }
    return true;
  }

  /** What is wrong with a time in the path of the file; undefined if nothing is. */
  #timeFault({ record }: RecordValues): string | undefined {
    const { times, constants } = this.#plan;
    if (times === undefined || !constants.some(({ target }) => target.kind === 'text')) return undefined;
    const one = oneTime(record.texts[0]!);
    return Number.isNaN(times.of(one)[0]!) ? times.faultOf(one, 0) : undefined;
  }

  #pieceOf({ record }: RecordValues): ColumnPiece {
    const { slots, hasWeights, hasGroups, times } = this.#plan;
    const rows = this.#rows;
    const places = new Uint32Array(rows + 1);
    for (let row = 0; row <= rows; row++) places[row] = row;
    const floatsOf = (key: string, constant: number): Float32Array => {
      const floats = this.#values.get(key)?.floats as Float32Array | undefined;
      if (floats !== undefined) return floats;
      return constant === 0 ? new Float32Array(rows) : new Float32Array(rows).fill(constant);
    };
    const halvesOf = (key: string, [low, high]: Iterable<number>): Uint32Array => {
      const halves = this.#values.get(key)?.halves;
      return halves ?? new Uint32Array(2 * rows).map((_, at) => (at % 2 === 0 ? low! : high!));
    };
    const lists = slots.lists.map(
      (_, slot) => this.#values.get(`list ${slot}`)?.list ?? sameFor(rows, record.lists[slot]!),
    );
    const timesOf = (): Float64Array =>
      (this.#values.get('text 0')?.floats as Float64Array | undefined) ??
      new Float64Array(rows).fill(times!.of(oneTime(record.texts[0]!))[0]!);
    let base = 0;
    const spans = lists.map(({ starts, ends, ids }) => {
      const moved = { starts: starts.map((start) => start + base), ends: ends.map((end) => end + base) };
      base += ids.length / 2;
      return moved;
    });
    const listIds = new Uint32Array(2 * base);
    lists.reduce((at, { ids }) => {
      listIds.set(ids, at);
      return at + ids.length;
    }, 0);
    return {
      records: rows,
      labels: floatsOf('label', record.label),
      weights: hasWeights ? floatsOf('weight', 1) : undefined,
      groups: hasGroups ? halvesOf('group', [record.groupLow, record.groupHigh]) : undefined,
      numbers: slots.numbers.map((_, slot) => floatsOf(`number ${slot}`, record.numbers[slot]!)),
      single: slots.single.map((_, slot) => halvesOf(`single ${slot}`, record.single.subarray(2 * slot))),
      lists: spans,
      listIds,
      texts: [],
      bytes: new Uint8Array(0),
      times: times === undefined ? undefined : timesOf(),
      lines: places.subarray(0, rows),
      starts: places.subarray(0, rows),
      ends: places.subarray(1),
    };
  }
}

/** There is one label, one weight, one group. */
const keyOf = (target: Target): string => ('slot' in target ? `${target.kind} ${target.slot}` : target.kind);

/** The same list for each row. */
function sameFor(rows: number, ids: readonly number[]): RowLists {
  return {
    starts: new Uint32Array(rows),
    ends: new Uint32Array(rows).fill(ids.length / 2),
    ids: Uint32Array.from(ids),
  };
}
