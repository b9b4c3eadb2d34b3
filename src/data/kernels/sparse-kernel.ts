/**
 * The fast form of two loops over bytes: lines of text to records, ids to distinct ids. All calls are synchronous; what
 * they return are views of memory that is valid until the next call.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { randomMultiplier } from '../../tensor/random-multiplier.ts';
import type { LabelRule } from '../labels.ts';
import { FRAME_AT, KernelInstance, PAGE_BYTES, roundUp } from './instance.ts';

export { READ } from './exports.ts';

const NEWLINE = 10;
const TEXT_AT = FRAME_AT + PAGE_BYTES;

/** Places of the fields of `Frame` in `assembly/libsvm.ts`, as indexes of u32. */
const FRAME = {
  at: 0,
  end: 1,
  line: 2,
  quota: 3,
  labels: 4,
  weights: 5,
  groups: 6,
  ends: 7,
  ids: 8,
  values: 9,
  runs: 10,
  firstEnd: 11,
  labelRule: 12,
  classes: 13,
  mayHaveWeight: 14,
  featuresPerRecord: 15,
  fieldsEnd: 16,
  fields: 17,
  nextLine: 18,
  records: 19,
  features: 20,
  runCount: 21,
  hasValues: 22,
  hasWeights: 23,
  hasGroups: 24,
} as const;
const FRAME_WORDS = 25;

/** Numbers of the label rules in the kernels. */
export const LABEL_RULES = { binary: 0, multiclass: 1, regression: 2 } as const;

/** Some good records, besides their features. */
export interface RecordFacts {
  readonly records: number;
  readonly labels: Float32Array;
  /** Undefined when all are 1. */
  readonly weights: Float32Array | undefined;
  /** u64 little-endian; undefined when no record has one. */
  readonly groups: Uint8Array | undefined;
  /** Pairs: the records before a run of lines that follow each other, and the first of these lines. */
  readonly runs: Uint32Array;
}

/** Features of these records. */
export interface ReadFeatures {
  readonly features: number;
  /** For each record, where its features end. */
  readonly ends: Uint32Array;
  /** u64 little-endian. */
  readonly ids: Uint8Array;
  /** Undefined when all are 1. */
  readonly values: Float32Array | undefined;
  /** Undefined when features have none. */
  readonly fields?: Uint16Array | undefined;
}

/** Records of some lines. */
export interface ReadRecords extends RecordFacts, ReadFeatures {
  readonly status: number;
}

export interface DistinctIds {
  /** u64 little-endian, in order of first appearance. */
  readonly ids: Uint8Array;
  readonly distinct: number;
  readonly places: Uint32Array;
}

export class SparseKernel {
  readonly #instance = new KernelInstance();
  #textEnd = TEXT_AT;
  #firstLine = 0;
  #nextLine = 0;
  /** Where the last call put the ids that it read. */
  #ids = 0;

  /**
   * The text that is read from now on: whole lines; the last one may lack its line break. `hasFields`: features are
   * `field:id:value`.
   */
  begin(text: Uint8Array, firstLine: number, rule: LabelRule, hasFields = false): void {
    const isEnded = text.length === 0 || text.at(-1) === NEWLINE;
    this.#textEnd = TEXT_AT + text.length + (isEnded ? 0 : 1);
    this.#instance.reserve(this.#textEnd);
    const bytes = new Uint8Array(this.#instance.buffer);
    bytes.set(text, TEXT_AT);
    if (!isEnded) bytes[this.#textEnd - 1] = NEWLINE;
    const frame = this.#frame();
    frame[FRAME.at] = TEXT_AT;
    frame[FRAME.end] = this.#textEnd;
    frame[FRAME.labelRule] = LABEL_RULES[rule.task];
    frame[FRAME.classes] = rule.task === 'multiclass' ? rule.classes : 0;
    frame[FRAME.mayHaveWeight] = rule.mayHaveWeight === true ? 1 : 0;
    frame[FRAME.featuresPerRecord] = LIMITS.featuresPerRecord;
    frame[FRAME.fieldsEnd] = hasFields ? LIMITS.fields : 0;
    frame[FRAME.line] = 0;
    this.#firstLine = firstLine;
    this.#nextLine = -1;
  }

  /** Where the line that is read next begins in the text. */
  get at(): number {
    return this.#frame()[FRAME.at]! - TEXT_AT;
  }

  /** Lines read or skipped so far. */
  get lines(): number {
    return this.#frame()[FRAME.line]!;
  }

  /** The number of that line. */
  get line(): number {
    return this.#firstLine + this.lines;
  }

  /** Leaves out the line that is read next; it ends at `end`. */
  skipLine(end: number): void {
    const frame = this.#frame();
    frame[FRAME.at] = Math.min(TEXT_AT + end + 1, this.#textEnd);
    frame[FRAME.line]! += 1;
  }

  /** Up to `quota` records. Their ends count from `firstEnd`. */
  next(quota: number, firstEnd: number): ReadRecords {
    // A record takes at least two bytes, a feature at least four.
    const textBytes = this.#textEnd - TEXT_AT;
    const most = Math.min(quota, Math.ceil(textBytes / 2));
    const features = Math.ceil(textBytes / 4);
    const groups = roundUp(this.#textEnd);
    const labels = groups + 8 * most;
    const weights = labels + 4 * most;
    const ends = weights + 4 * most;
    const runs = ends + 4 * most;
    const values = runs + 8 * most;
    const ids = roundUp(values + 4 * features);
    const hasFields = this.#frame()[FRAME.fieldsEnd] !== 0;
    const fields = ids + 8 * features;
    this.#instance.reserve(fields + (hasFields ? 2 * features : 0));
    const frame = this.#frame();
    frame[FRAME.fields] = fields;
    frame.set([most, labels, weights, groups, ends, ids, values, runs, firstEnd], FRAME.quota);
    frame[FRAME.nextLine] = this.#nextLine;
    const status = this.#instance.kernels.parseLines(FRAME_AT);
    this.#nextLine = frame[FRAME.nextLine]!;
    this.#ids = ids;
    const { buffer } = this.#instance;
    const count = frame[FRAME.records]!;
    const read = frame[FRAME.features]!;
    return {
      status,
      records: count,
      features: read,
      labels: new Float32Array(buffer, labels, count),
      weights: frame[FRAME.hasWeights] === 0 ? undefined : new Float32Array(buffer, weights, count),
      groups: frame[FRAME.hasGroups] === 0 ? undefined : new Uint8Array(buffer, groups, 8 * count),
      ends: new Uint32Array(buffer, ends, count),
      ids: new Uint8Array(buffer, ids, 8 * read),
      values: frame[FRAME.hasValues] === 0 ? undefined : new Float32Array(buffer, values, read),
      fields: hasFields ? new Uint16Array(buffer, fields, read) : undefined,
      runs: new Uint32Array(buffer, runs, 2 * frame[FRAME.runCount]!),
    };
  }

  /** Whether these ids are those that the last `next` returned. */
  hasRead(ids: Uint8Array): boolean {
    return ids.buffer === this.#instance.buffer && ids.byteOffset === this.#ids;
  }

  /** The distinct ones of the ids that the last `next` returned. */
  distinctOfLast(count: number): DistinctIds {
    return this.#dedupe(this.#ids, count);
  }

  /** The distinct ones of `pieces` one after the other, `count` ids in all. What was read before is overwritten. */
  distinctOf(pieces: readonly Uint8Array[], count: number): DistinctIds {
    const ids = roundUp(this.#textEnd);
    this.#instance.reserve(ids + 8 * count);
    const bytes = new Uint8Array(this.#instance.buffer, ids, 8 * count);
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    assert(at === bytes.length, 'the pieces have as many ids as said');
    return this.#dedupe(ids, count);
  }

  #dedupe(ids: number, count: number): DistinctIds {
    const size = indexSize(count);
    const distinctAt = ids + 8 * count;
    const places = distinctAt + 8 * count;
    const index = places + 4 * count;
    this.#instance.reserve(index + 4 * size);
    const distinct = this.#instance.kernels.dedupe(ids, count, distinctAt, 0, places, index, size, randomMultiplier());
    const { buffer } = this.#instance;
    return {
      ids: new Uint8Array(buffer, distinctAt, 8 * distinct),
      distinct,
      places: new Uint32Array(buffer, places, count),
    };
  }

  #frame(): Uint32Array {
    return new Uint32Array(this.#instance.buffer, FRAME_AT, FRAME_WORDS);
  }
}

let shared: SparseKernel | undefined;

/** One for the process: each of its calls ends before another one begins. */
export function sparseKernel(): SparseKernel {
  shared ??= new SparseKernel();
  return shared;
}

/** A power of two, so that at most 3/4 is filled. */
function indexSize(count: number): number {
  let size = 16;
  while (count * 4 > size * 3) size *= 2;
  return size;
}
