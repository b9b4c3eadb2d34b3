/** Numbers of a column: range, mean, and a histogram of all of them or of a sample. */
import { hashOfPosition } from '../hash32.ts';

export interface NumberFacts {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly deviation: number;
  /** Records by parts of the range of equal width; of a sample if there are many. */
  readonly histogram: readonly number[];
}

const BINS = 16;
const SAMPLE_RECORDS = 4096;
const SAMPLE_SEED = 1;

export class NumberProfile {
  /** By slot; NaN where the record has no number. */
  readonly #sample: number[] = [];
  #count = 0;
  #mean = 0;
  /** Σ (value - mean)². */
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  add(value: number): void {
    this.#count += 1;
    const distance = value - this.#mean;
    this.#mean += distance / this.#count;
    this.#squares += distance * (value - this.#mean);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** The number of a record of the sample, or NaN. */
  keep(value: number, slot: number): void {
    this.#sample[slot] = value;
  }

  /** Adds the number of the record at this position; NaN if the record has no number. */
  take(value: number, position: number): void {
    if (!Number.isNaN(value)) this.add(value);
    const slot = slotOf(position);
    if (slot !== undefined) this.keep(value, slot);
  }

  /** Undefined when there is none. */
  facts(): NumberFacts | undefined {
    if (this.#count === 0) return undefined;
    const [min, max] = [this.#min, this.#max];
    return {
      count: this.#count,
      min,
      max,
      mean: this.#mean,
      deviation: Math.sqrt(this.#squares / this.#count),
      histogram: histogramOf(this.#kept(), min, max),
    };
  }

  /** The quantile of the numbers at `share`: of the sample, or the mean if the sample is empty. */
  part(share: number): number {
    const sorted = Float64Array.from(this.#kept()).sort();
    return sorted[Math.floor(share * (sorted.length - 1))] ?? this.#mean;
  }

  #kept(): number[] {
    return this.#sample.filter((value) => !Number.isNaN(value));
  }
}

export function histogramOf(values: Iterable<number>, min: number, max: number): number[] {
  const bins: number[] = new Array(min === max ? 1 : BINS).fill(0);
  for (const value of values) {
    const bin = Math.floor(((value - min) / (max - min)) * bins.length);
    bins[Math.min(bins.length - 1, Number.isNaN(bin) ? 0 : bin)]! += 1;
  }
  return bins;
}

/**
 * Where a sample of `SAMPLE_RECORDS` keeps the record of this position, in place of an earlier one; undefined when it
 * is not taken (Vitter's algorithm R). All columns have the same records.
 */
export function slotOf(position: number): number | undefined {
  if (position < SAMPLE_RECORDS) return position;
  const slot = Math.floor((hashOfPosition(position, SAMPLE_SEED) / 2 ** 32) * (position + 1));
  return slot < SAMPLE_RECORDS ? slot : undefined;
}
