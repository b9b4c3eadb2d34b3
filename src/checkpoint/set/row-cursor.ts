/** Two streams of rows, both ascending by id, gone through side by side. */
import type { ShardRows } from '../../tensor/parameters.ts';
import { wordsOf } from '../file/words.ts';

const NO_ROWS: ShardRows = {
  ids: new BigUint64Array(0),
  values: new Float32Array(0),
  slots: {},
  steps: undefined,
};

/** A position at a row of a stream of batches. */
export class RowCursor {
  rows = NO_ROWS;
  at = 0;
  /** Rows passed. */
  count = 0;
  #halves: Uint32Array = new Uint32Array(0);
  readonly #batches: AsyncGenerator<ShardRows>;
  readonly #onPassed: (batch: ShardRows) => void;

  /** `onPassed` is called with each batch before the next one, which takes its place. */
  constructor(batches: AsyncGenerator<ShardRows>, onPassed: (batch: ShardRows) => void) {
    this.#batches = batches;
    this.#onPassed = onPassed;
  }

  isAtEnd(): boolean {
    return this.at >= this.rows.ids.length;
  }

  /** To the next row of the batch; false when there is none. */
  skip(): boolean {
    this.at += 1;
    return this.at < this.rows.ids.length;
  }

  /** Moves to the first row of the next batch. */
  async step(): Promise<void> {
    this.count += this.rows.ids.length;
    this.#onPassed(this.rows);
    const next = await this.#batches.next();
    this.rows = next.done === true ? NO_ROWS : next.value;
    this.#halves = wordsOf(this.rows.ids);
    this.at = 0;
  }

  /** By unsigned id; one at its end is above all. */
  compare(other: RowCursor): number {
    if (this.isAtEnd() || other.isAtEnd()) return Number(this.isAtEnd()) - Number(other.isAtEnd());
    const high = this.#halves[2 * this.at + 1]! - other.#halves[2 * other.at + 1]!;
    return high === 0 ? this.#halves[2 * this.at]! - other.#halves[2 * other.at]! : high;
  }
}
