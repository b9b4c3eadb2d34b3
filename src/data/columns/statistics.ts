/**
 * What is known of the number columns of all training records, for their normalization. Sums are f64 over runs of
 * `RUN_RECORDS` records in file order, joined as in Chan, Golub & LeVeque (1983), so the same records give the same
 * bits however they are cut into files and tasks. Quantiles are those of all values, or of a sample that depends on the
 * positions of the records alone.
 */
import { hashOfPosition } from '../hash32.ts';
import type { ColumnSlots } from './column.ts';
import type { ColumnPiece } from './piece.ts';

export interface NumberStatistics {
  readonly name: string;
  /** Records with and without a value. */
  readonly present: number;
  readonly missing: number;
  readonly mean: number;
  /** Root of the mean squared distance from the mean. */
  readonly deviation: number;
  /** 0 when all are missing. */
  readonly min: number;
  readonly max: number;
  /** Ascending bounds between the parts of a column with `quantiles`, each once. */
  readonly bounds?: readonly number[] | undefined;
}

export const RUN_RECORDS = 4096;
const SAMPLE_VALUES = 65_536;
const SAMPLE_SEED = 0;
/** Room that a sample begins with. */
const FIRST_VALUES = 1024;

export class StatisticsBuilder {
  readonly #columns: readonly ColumnStatistics[];
  #records = 0;

  constructor({ numbers }: Pick<ColumnSlots, 'numbers'>) {
    this.#columns = numbers.map(({ name, quantiles }) => new ColumnStatistics(name, quantiles));
  }

  add({ records, numbers }: Pick<ColumnPiece, 'records' | 'numbers'>): void {
    this.#columns.forEach((column, at) => {
      column.add(numbers[at]!.subarray(0, records), this.#records);
    });
    this.#records += records;
  }

  finish(): NumberStatistics[] {
    return this.#columns.map((column) => column.finish());
  }
}

class ColumnStatistics {
  readonly #name: string;
  readonly #quantiles: number | undefined;
  readonly #sample: Sample | undefined;
  /** The values of the run that is being read. */
  readonly #run = new Float32Array(RUN_RECORDS);
  #inRun = 0;
  /** Records of the run, with and without a value. */
  #runRecords = 0;
  #missing = 0;
  #present = 0;
  #mean = 0;
  /** Σ (value - mean)². */
  #squares = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  constructor(name: string, quantiles: number | undefined) {
    this.#name = name;
    this.#quantiles = quantiles;
    this.#sample = quantiles === undefined ? undefined : new Sample();
  }

  /** `position`: records before these. */
  add(values: Float32Array, position: number): void {
    for (let at = 0; at < values.length; at++) {
      const value = values[at]!;
      if (!Number.isNaN(value)) {
        this.#run[this.#inRun++] = value;
        if (value < this.#min) this.#min = value;
        if (value > this.#max) this.#max = value;
        this.#sample?.add(value, position + at);
      } else this.#missing += 1;
      if (++this.#runRecords === RUN_RECORDS) this.#endRun();
    }
  }

  finish(): NumberStatistics {
    this.#endRun();
    const present = this.#present;
    return {
      name: this.#name,
      present,
      missing: this.#missing,
      mean: this.#mean,
      deviation: present === 0 ? 0 : Math.sqrt(this.#squares / present),
      // In JSON, the format that statistics are kept in, zeros have no sign: -0 + 0 is 0.
      min: present === 0 ? 0 : this.#min + 0,
      max: present === 0 ? 0 : this.#max + 0,
      ...(this.#sample === undefined ? {} : { bounds: this.#sample.bounds(this.#quantiles!) }),
    };
  }

  #endRun(): void {
    const count = this.#inRun;
    this.#inRun = 0;
    this.#runRecords = 0;
    if (count === 0) return;
    let sum = 0;
    for (let at = 0; at < count; at++) sum += this.#run[at]!;
    const mean = sum / count;
    let squares = 0;
    for (let at = 0; at < count; at++) {
      const distance = this.#run[at]! - mean;
      squares += distance * distance;
    }
    const total = this.#present + count;
    const apart = mean - this.#mean;
    this.#squares += squares + (apart * apart * this.#present * count) / total;
    this.#mean += (apart * count) / total;
    this.#present = total;
  }
}

/**
 * The values whose positions have the smallest hashes: some `SAMPLE_VALUES` of them, or all. Whether a value is in
 * it depends on its position and on how many there are, on nothing else.
 */
class Sample {
  #values = new Float32Array(FIRST_VALUES);
  #hashes = new Uint32Array(FIRST_VALUES);
  #count = 0;
  #below = 4_294_967_296;

  add(value: number, position: number): void {
    const hash = hashOfPosition(position, SAMPLE_SEED);
    if (hash >= this.#below) return;
    this.#values[this.#count] = value;
    this.#hashes[this.#count] = hash;
    if (++this.#count < this.#values.length) return;
    if (this.#count < 2 * SAMPLE_VALUES) this.#grow();
    else this.#thin();
  }

  #grow(): void {
    const [values, hashes] = [this.#values, this.#hashes];
    this.#values = new Float32Array(2 * values.length);
    this.#values.set(values);
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#hashes.set(hashes);
  }

  #thin(): void {
    this.#below /= 2;
    let kept = 0;
    for (let at = 0; at < this.#count; at++) {
      if (this.#hashes[at]! >= this.#below) continue;
      this.#values[kept] = this.#values[at]!;
      this.#hashes[kept++] = this.#hashes[at]!;
    }
    this.#count = kept;
    // All hashes may be small, though that is very unlikely: then the next half is dropped.
    if (kept === this.#values.length) this.#thin();
  }

  bounds(parts: number): number[] {
    const sorted = this.#values.slice(0, this.#count).sort();
    if (sorted.length === 0) return [];
    const all = Array.from({ length: parts - 1 }, (_, at) => sorted[Math.floor(((at + 1) * sorted.length) / parts)]!);
    return [...new Set(all)];
  }
}
