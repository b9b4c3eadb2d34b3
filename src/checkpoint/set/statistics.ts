/** Sums over the values of a parameter or table, taken in pieces; nothing of the values is kept. */

export interface ValueStatistics {
  readonly count: number;
  /** Minimum, maximum and mean of the finite values; undefined if there are none. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly mean: number | undefined;
  /** Euclidean norm of the finite values. */
  readonly norm: number;
  readonly nans: number;
  readonly infinities: number;
}

export interface TopRow {
  /** Unsigned decimal. */
  readonly id: string;
  readonly norm: number;
}

export class Statistics {
  #count = 0;
  #finite = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #sum = 0;
  #squares = 0;
  #nans = 0;

  /** Adds `values[from]` to `values[to]`; the sum of their squares (of finite ones). */
  add(values: Float32Array, from: number, to: number): number {
    let sum = 0;
    let squares = 0;
    let min = this.#min;
    let max = this.#max;
    let finite = 0;
    for (let at = from; at < to; at++) {
      const value = values[at]!;
      if (value - value !== 0) {
        if (Number.isNaN(value)) this.#nans += 1;
        continue;
      }
      finite += 1;
      sum += value;
      squares += value * value;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    this.#min = min;
    this.#max = max;
    this.#finite += finite;
    this.#count += to - from;
    this.#sum += sum;
    this.#squares += squares;
    return squares;
  }

  result(): ValueStatistics {
    const some = this.#finite > 0;
    return {
      count: this.#count,
      min: some ? this.#min : undefined,
      max: some ? this.#max : undefined,
      mean: some ? this.#sum / this.#finite : undefined,
      norm: Math.sqrt(this.#squares),
      nans: this.#nans,
      infinities: this.#count - this.#finite - this.#nans,
    };
  }
}

/** The `size` rows with the greatest norms; of equal ones those with the least ids. */
export class TopRows {
  readonly #size: number;
  /** Greatest first. */
  readonly #rows: { id: bigint; squares: number }[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** Whether `add` would keep a row of these squares, so that its id need not be made for nothing. */
  wants(squares: number): boolean {
    if (this.#rows.length < this.#size) return true;
    return this.#size > 0 && squares >= this.#rows.at(-1)!.squares;
  }

  add(id: bigint, squares: number): void {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.#rows[middle]!;
      if (row.squares > squares || (row.squares === squares && row.id < id)) low = middle + 1;
      else high = middle;
    }
    this.#rows.splice(low, 0, { id, squares });
    if (this.#rows.length > this.#size) this.#rows.pop();
  }

  result(): TopRow[] {
    return this.#rows.map(({ id, squares }) => ({ id: id.toString(), norm: Math.sqrt(squares) }));
  }
}
