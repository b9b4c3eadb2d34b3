/** Which columns have a value in any record, and which ones in all: a name that is misspelled has none. */
import { type Column, slotsOf, vocabularyOf } from './column.ts';
import { halvesOf, missingId, vocabularySeed } from './hash.ts';
import type { ColumnPiece } from './piece.ts';

/** Whether a record of the piece has a value, or if `isMissing`, lacks it. */
type Search = (piece: ColumnPiece, isMissing: boolean) => boolean;

export class SeenColumns {
  readonly #unseen = new Map<string, Search>();
  readonly #complete: Map<string, Search>;
  readonly #names: readonly string[];

  /** Watches the columns that make features. */
  constructor(columns: readonly Column[]) {
    const { numbers, single, lists } = slotsOf(columns);
    numbers.forEach(({ name }, slot) => {
      this.#unseen.set(name, (piece, isMissing) => searchNumbers(piece, slot, isMissing));
    });
    single.forEach((column, slot) => {
      const [low, high] = halvesOf(missingId(vocabularySeed(vocabularyOf(column)!)));
      this.#unseen.set(column.name, ({ records, single: all }, isMissing) => {
        const ids = all[slot]!;
        for (let at = 0; at < 2 * records; at += 2) {
          if ((ids[at] === low && ids[at + 1] === high) === isMissing) return true;
        }
        return false;
      });
    });
    lists.forEach(({ name }, slot) => {
      this.#unseen.set(name, ({ records, lists: all }, isMissing) => {
        const { starts, ends } = all[slot]!;
        for (let record = 0; record < records; record++) {
          if ((starts[record] === ends[record]) === isMissing) return true;
        }
        return false;
      });
    });
    this.#complete = new Map(this.#unseen);
    this.#names = [...this.#unseen.keys()];
  }

  add(piece: ColumnPiece): void {
    for (const [name, search] of this.#unseen) if (search(piece, false)) this.#unseen.delete(name);
    for (const [name, search] of this.#complete) if (search(piece, true)) this.#complete.delete(name);
  }

  /** Columns without a value in any record. */
  get unseen(): string[] {
    return [...this.#unseen.keys()];
  }

  /** Columns with a value in a record. */
  get seen(): string[] {
    return this.#names.filter((name) => !this.#unseen.has(name));
  }

  /** Columns with a value in every record. */
  get complete(): string[] {
    return [...this.#complete.keys()];
  }
}

function searchNumbers({ records, numbers }: ColumnPiece, slot: number, isMissing: boolean): boolean {
  const values = numbers[slot]!;
  for (let record = 0; record < records; record++) if (Number.isNaN(values[record]!) === isMissing) return true;
  return false;
}
