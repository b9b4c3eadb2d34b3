/** Drops records of pieces that do not belong to a dataset, before anything is made from them. */
import { assert } from '../../base/assert.ts';
import { type Selection, type Selector, weightOf } from '../selection.ts';
import type { BadRecord } from '../source.ts';
import { type Column, slotsOf } from './column.ts';
import type { ColumnPiece, ListIds } from './piece.ts';
import type { PieceSink } from './piece-sink.ts';

const MOST_U32 = 2 ** 32 - 1;

type SplitBy = (piece: ColumnPiece, record: number) => readonly [low: number, high: number] | undefined;

export class SelectingSink implements PieceSink {
  readonly #inner: PieceSink;
  readonly #selector: Selector;
  readonly #splitBy: SplitBy;
  /** Position of the next record in the file. */
  #position: number;

  /** `position`: that of the first record that comes. */
  constructor(inner: PieceSink, selector: Selector, splitBy: SplitBy, position: number) {
    this.#inner = inner;
    this.#selector = selector;
    this.#splitBy = splitBy;
    this.#position = position;
  }

  get quota(): number {
    return this.#inner.quota;
  }

  get badRecords(): number {
    return this.#inner.badRecords;
  }

  add(piece: ColumnPiece, firstLine: number): void {
    const kept: number[] = [];
    for (let record = 0; record < piece.records; record++) {
      const [low, high] = this.#splitBy(piece, record) ?? [];
      const label = piece.labels[record]!;
      const position = this.#position + record;
      const timeMs = piece.times?.[record];
      if (this.#selector.keeps({ position, label, low, high, timeMs })) kept.push(record);
    }
    const first = this.#position;
    this.#position += piece.records;
    if (kept.length > 0) this.#inner.add(this.#picked(piece, kept, first), firstLine);
  }

  bad(record: BadRecord, start: number, end: number): void {
    const position = this.#position++;
    if (this.#selector.keeps({ position, label: Number.NaN })) this.#inner.bad(record, start, end, position);
  }

  #picked(piece: ColumnPiece, kept: readonly number[], first: number): ColumnPiece {
    const floats = (from: Float32Array): Float32Array => Float32Array.from(kept, (record) => from[record]!);
    const words = (from: Uint32Array): Uint32Array => Uint32Array.from(kept, (record) => from[record]!);
    const labels = floats(piece.labels);
    return {
      records: kept.length,
      labels,
      weights: this.#weights(labels, piece.weights && floats(piece.weights)),
      groups: piece.groups && pickedHalves(piece.groups, kept),
      numbers: piece.numbers.map(floats),
      single: piece.single.map((ids) => pickedHalves(ids, kept)),
      lists: piece.lists.map(({ starts, ends }): ListIds => ({ starts: words(starts), ends: words(ends) })),
      listIds: piece.listIds,
      texts: piece.texts.map(({ starts, ends }) => ({ starts: words(starts), ends: words(ends) })),
      bytes: piece.bytes,
      times: piece.times && Float64Array.from(kept, (record) => piece.times![record]!),
      lines: words(piece.lines),
      starts: words(piece.starts),
      ends: words(piece.ends),
      positions: Float64Array.from(kept, (record) => first + record),
    };
  }

  #weights(labels: Float32Array, weights: Float32Array | undefined): Float32Array | undefined {
    if (weights === undefined && labels.every((label) => this.#selector.factorOf(label) === 1)) return undefined;
    return labels.map((label, at) => weightOf(weights?.[at] ?? 1, this.#selector.factorOf(label)));
  }
}

/** Undefined where a record has none. */
function groupAt(groups: Uint32Array, record: number): [number, number] | undefined {
  const [low, high] = [groups[2 * record]!, groups[2 * record + 1]!];
  return low === MOST_U32 && high === MOST_U32 ? undefined : [low, high];
}

function pickedHalves(halves: Uint32Array, kept: readonly number[]): Uint32Array {
  const picked = new Uint32Array(2 * kept.length);
  kept.forEach((record, at) => {
    picked[2 * at] = halves[2 * record]!;
    picked[2 * at + 1] = halves[2 * record + 1]!;
  });
  return picked;
}

/** The value that a split goes by: of a category, or of the group. */
export function splitBy({ split }: Selection, columns: readonly Column[]): SplitBy {
  const by = split !== undefined && 'by' in split ? split.by : undefined;
  if (by === undefined) return () => undefined;
  const column = columns.find(({ name }) => name === by);
  assert(column !== undefined, 'a split is by a column of the job');
  const slots = slotsOf(columns);
  const halves = (ids: Uint32Array, at: number): [number, number] => [ids[2 * at]!, ids[2 * at + 1]!];
  if (column.type === 'group') return ({ groups }, record) => groups && groupAt(groups, record);
  const single = slots.single.findIndex(({ name }) => name === by);
  if (single >= 0) return (piece, record) => halves(piece.single[single]!, record);
  const list = slots.lists.findIndex(({ name }) => name === by);
  return ({ lists, listIds }, record) => {
    const { starts, ends } = lists[list]!;
    return starts[record] === ends[record] ? undefined : halves(listIds, starts[record]!);
  };
}
