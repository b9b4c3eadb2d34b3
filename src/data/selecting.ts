/** Drops records that are not in the selected part of a dataset, before their features are made. */
import type { BadRecord } from './bad-record.ts';
import { type BadPlace, type Piece, type PieceSink, picked } from './piece.ts';
import { type Selector, weightOf } from './selection.ts';

/** How to select among records of one kind. */
export interface Picking<P extends Piece> {
  /** The value that decides the split, in u32 halves. Undefined if the position decides. */
  splitBy?(piece: P, record: number): readonly [low: number, high: number] | undefined;
  /** Time in ms since 1970. Undefined if records have no time. */
  timeOf?(piece: P, record: number): number | undefined;
  /** A piece of the kept records. `facts`: its parts that do not depend on the kind. */
  pick(piece: P, kept: readonly number[], facts: Piece): P;
}

export class SelectingSink<P extends Piece> implements PieceSink<P> {
  readonly #inner: PieceSink<P>;
  readonly #selector: Selector;
  readonly #picking: Picking<P>;
  /** Position of the next record in the file. */
  #position: number;

  /** `position`: that of the first record that comes. */
  constructor(inner: PieceSink<P>, selector: Selector, picking: Picking<P>, position: number) {
    this.#inner = inner;
    this.#selector = selector;
    this.#picking = picking;
    this.#position = position;
  }

  get quota(): number {
    return this.#inner.quota;
  }

  get badRecords(): number {
    return this.#inner.badRecords;
  }

  add(piece: P, firstLine: number): void {
    const picking = this.#picking;
    const kept: number[] = [];
    for (let record = 0; record < piece.records; record++) {
      const [low, high] = picking.splitBy?.(piece, record) ?? [];
      const label = piece.labels[record]!;
      const position = this.#position + record;
      const timeMs = picking.timeOf?.(piece, record);
      if (this.#selector.keeps({ position, label, low, high, timeMs })) kept.push(record);
    }
    const first = this.#position;
    this.#position += piece.records;
    if (kept.length === 0) return;
    this.#inner.add(picking.pick(piece, kept, this.#facts(piece, kept, first)), firstLine);
  }

  bad(record: BadRecord, place: BadPlace): void {
    const position = this.#position++;
    const { label = Number.NaN } = place;
    // Models take -1 as the label 0.
    if (!this.#selector.keeps({ position, label: label === -1 ? 0 : label })) return;
    this.#inner.bad(record, { ...place, position });
  }

  #facts(piece: Piece, kept: readonly number[], first: number): Piece {
    const labels = picked.floats(piece.labels, kept);
    return {
      records: kept.length,
      labels,
      weights: this.#weights(labels, piece.weights && picked.floats(piece.weights, kept)),
      groups: piece.groups && picked.halves(piece.groups, kept),
      lines: picked.words(piece.lines, kept),
      starts: picked.words(piece.starts, kept),
      ends: picked.words(piece.ends, kept),
      positions: Float64Array.from(kept, (record) => first + record),
    };
  }

  #weights(labels: Float32Array, weights: Float32Array | undefined): Float32Array | undefined {
    if (weights === undefined && labels.every((label) => this.#selector.factorOf(label) === 1)) return undefined;
    return labels.map((label, at) => weightOf(weights?.[at] ?? 1, this.#selector.factorOf(label)));
  }
}
