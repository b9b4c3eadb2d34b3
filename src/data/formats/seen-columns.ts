/** Which columns have a value in any record: one that has none is hardly meant. */
import { type Column, slotsOf, vocabularyOf } from '../columns/column.ts';
import { type Halves, halvesOf, missingId, vocabularySeed } from '../columns/hash.ts';
import type { ColumnPiece } from '../columns/piece.ts';

type HasValue = (piece: ColumnPiece, record: number) => boolean;

export class SeenColumns {
  /** Those of which no value was seen. */
  readonly #unseen = new Map<string, HasValue>();

  constructor(columns: readonly Column[]) {
    const { numbers, single, lists } = slotsOf(columns);
    numbers.forEach(({ name }, slot) => {
      this.#unseen.set(name, ({ numbers: all }, record) => !Number.isNaN(all[slot]![record]!));
    });
    single.forEach((column, slot) => {
      const [low, high]: Halves = halvesOf(missingId(vocabularySeed(vocabularyOf(column)!)));
      const isMissing = (ids: Uint32Array, record: number): boolean =>
        ids[2 * record] === low && ids[2 * record + 1] === high;
      this.#unseen.set(column.name, ({ single: all }, record) => !isMissing(all[slot]!, record));
    });
    lists.forEach(({ name }, slot) => {
      this.#unseen.set(name, ({ lists: all }, record) => all[slot]!.starts[record]! < all[slot]!.ends[record]!);
    });
  }

  add(piece: ColumnPiece): void {
    for (const [name, hasValue] of this.#unseen) {
      for (let record = 0; record < piece.records; record++) {
        if (!hasValue(piece, record)) continue;
        this.#unseen.delete(name);
        break;
      }
    }
  }

  get unseen(): string[] {
    return [...this.#unseen.keys()];
  }
}
