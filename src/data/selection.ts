/**
 * Which records of the files are records of a dataset (docs/columns.md, "Splits and sampling"): those of one side of a
 * split, and of the negative ones a sample. Decided from the seed, the file and the position of a record in it, from
 * the value of a column, or from its time, so every process decides the same, in any order.
 */
import { halvesOf, hash64 } from './columns/hash.ts';
import { hash32, hashOfPosition } from './hash32.ts';

export interface Selection {
  readonly part: 'train' | 'test';
  /** `training.seed`. */
  readonly seed: number;
  readonly split?: Split | undefined;
  /** Sampling of the training records; test records are not sampled. */
  readonly negatives?: NegativeSampling | undefined;
}

/** The test records: this part of all, or those from a time on. */
export type Split =
  | {
      readonly test: number;
      /** All records with the same value of this column are on one side. */
      readonly by?: string | undefined;
    }
  | {
      /** Milliseconds since 1970. */
      readonly fromMs: number;
    };

export interface NegativeSampling {
  /** Fraction of the records with label 0 to keep. */
  readonly rate: number;
  /** `weight`: each that stays counts 1 / rate. */
  readonly correction: 'weight' | 'none';
}

const MOST_F32 = 3.4028234663852886e38;

/** So much a record of that weight counts; never infinite as f32. */
export const weightOf = (weight: number, factor: number): number => Math.min(weight * factor, MOST_F32);

/** What is known of a record when its side is decided. */
export interface SelectedBy {
  /** Position of the record in its file, counting records that are bad or not selected. */
  readonly position: number;
  /** NaN where it is not known. */
  readonly label: number;
  /** The id in `split.by`, in u32 halves; undefined for bad records. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** Undefined for bad records. */
  readonly timeMs?: number | undefined;
}

/** Selects the records of one file. */
export class Selector {
  readonly #selection: Selection;
  readonly #splitSeed: number;
  readonly #negativeSeed: number;

  /** `path`: of the file, as it is in the index. */
  constructor(selection: Selection, path: string) {
    this.#selection = selection;
    // One value of a column is on one side in all files.
    const isByValue = selection.split !== undefined && 'by' in selection.split && selection.split.by !== undefined;
    this.#splitSeed = seedOf(selection.seed, 'split', isByValue ? '' : path);
    this.#negativeSeed = seedOf(selection.seed, 'negatives', path);
  }

  /** Whether the record is one of the dataset. What a bad record lacks puts it among the training records. */
  keeps(record: SelectedBy): boolean {
    const { part, split, negatives } = this.#selection;
    if (split !== undefined && this.#isTest(split, record) !== (part === 'test')) return false;
    if (part === 'test' || negatives === undefined || record.label !== 0) return true;
    return isBelow(hashOfPosition(record.position, this.#negativeSeed), negatives.rate);
  }

  /** What the weight of a record is multiplied with. */
  factorOf(label: number): number {
    const { part, negatives } = this.#selection;
    const isCorrected = part === 'train' && negatives?.correction === 'weight' && label === 0;
    return isCorrected ? 1 / negatives.rate : 1;
  }

  #isTest(split: Split, { position, low, high, timeMs }: SelectedBy): boolean {
    if ('fromMs' in split) return timeMs !== undefined && timeMs >= split.fromMs;
    if (split.by === undefined) return isBelow(hashOfPosition(position, this.#splitSeed), split.test);
    return low !== undefined && high !== undefined && isBelow(hash32(low, high, this.#splitSeed), split.test);
  }
}

const seedOf = (seed: number, purpose: string, path: string): number =>
  halvesOf(hash64(Buffer.from(`${seed} ${purpose} ${path}`), 0n))[0];

/** Whether a hash of 32 bits is in the given fraction of all hashes. */
const isBelow = (hash: number, share: number): boolean => hash < share * 4_294_967_296;
