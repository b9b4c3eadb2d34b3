/** Numbers as models take them: normalized by what is known of the training records, or as one of some parts. */
import { assert } from '../../base/assert.ts';
import { log1p } from '../../tensor/math.ts';
import type { Column, NumberColumn } from './column.ts';
import { type Halves, halvesOf, missingId, numberedId, vocabularySeed } from './hash.ts';
import type { NumberStatistics } from './statistics.ts';

const MOST_F32 = 3.4028234663852886e38;

/** Columns with what is known of the training records. */
export interface KnownColumns {
  readonly columns: readonly Column[];
  readonly statistics: readonly NumberStatistics[];
}

/** The number as models take it, f64. */
export type Normalize = (value: number) => number;

/** `statistics`: of the column. */
export function normalizer({ normalize }: NumberColumn, { mean, deviation, min, max }: NumberStatistics): Normalize {
  switch (normalize) {
    case 'none':
      return (value) => value;
    case 'standard': {
      // If all values of a column are the same, the deviation is 0 and each value becomes 0.
      const scale = deviation > 0 ? deviation : 1;
      return (value) => bounded((value - mean) / scale);
    }
    case 'minmax': {
      const range = max > min ? max - min : 1;
      return (value) => bounded((value - min) / range);
    }
    case 'log':
      return (value) => (value < 0 ? -logOf(-value) : logOf(value));
  }
}

/** log(1 + x) of the whole numbers below its length: most numbers of click logs are small counts. */
let ofCounts: Float64Array | undefined;
const COUNTS = 4096;

/** log(1 + value), of a value from 0 on. */
function logOf(value: number): number {
  ofCounts ??= Float64Array.from({ length: COUNTS }, (_, count) => log1p(count));
  const count = value >>> 0;
  // There are two zeros, each with its own logarithm.
  return count === value && count > 0 && count < COUNTS ? ofCounts[count]! : log1p(value);
}

/** Far from what the training records have, a number would be infinite as f32. */
const bounded = (value: number): number => Math.max(-MOST_F32, Math.min(MOST_F32, value));

/** What a missing number counts as. */
export const stand = ({ missing }: NumberColumn, { mean }: NumberStatistics): number => (missing === 'mean' ? mean : 0);

/** The part of a column with `quantiles` that a value is in: how many bounds are not above it. */
export function partOf(bounds: readonly number[], value: number): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bounds[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A number as a category. */
export class NumberParts {
  readonly #bounds: readonly number[];
  readonly #ids: readonly Halves[];
  readonly #missing: Halves;

  constructor(column: NumberColumn, statistics: NumberStatistics) {
    const seed = vocabularySeed(column.name);
    const { bounds } = statistics;
    assert(bounds !== undefined, 'a column with quantiles has bounds');
    this.#bounds = bounds;
    this.#ids = Array.from({ length: bounds.length + 1 }, (_, part) => halvesOf(numberedId(BigInt(part), seed)));
    this.#missing = column.missing === 'zero' ? this.#ids[partOf(bounds, 0)]! : halvesOf(missingId(seed));
  }

  idOf(value: number): Halves {
    return Number.isNaN(value) ? this.#missing : this.#ids[partOf(this.#bounds, value)]!;
  }
}
