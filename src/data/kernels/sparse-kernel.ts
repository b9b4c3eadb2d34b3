/**
 * The fast form of two loops over bytes: lines of text to records, ids to distinct ids. All calls are synchronous; what
 * they return are views of memory that is valid until the next call.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { randomMultiplier } from '../../tensor/random-multiplier.ts';
import type { LabelRule } from '../labels.ts';
import type { SparsePiece } from '../piece.ts';
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
  textFrom: 4,
  textTo: 5,
  labels: 6,
  weights: 7,
  groups: 8,
  featureEnds: 9,
  lines: 10,
  starts: 11,
  ends: 12,
  ids: 13,
  values: 14,
  labelRule: 15,
  classes: 16,
  mayHaveWeight: 17,
  featuresPerRecord: 18,
  fieldsEnd: 19,
  fields: 20,
  records: 21,
  features: 22,
  hasValues: 23,
  hasWeights: 24,
  hasGroups: 25,
} as const;
const FRAME_WORDS = 26;

/** Numbers of the label rules in the kernels. */
export const LABEL_RULES = { binary: 0, multiclass: 1, regression: 2 } as const;

export interface DistinctIds {
  /** u64 little-endian, in order of first appearance. */
  readonly ids: Uint8Array;
  readonly distinct: number;
  readonly places: Uint32Array;
}

/** How to read lines. */
export interface SparseLines {
  readonly labels: LabelRule;
  /** Whether features are `field:id:value`. */
  readonly hasFields: boolean;
}

/** Reads lines as `LineKernel` of `formats/text/lines.ts`. */
export class SparseKernel {
  readonly #instance = new KernelInstance();
  #textEnd = TEXT_AT;
  /** Where the last call put the ids that it read. */
  #ids = 0;

  /** The text that is read from now on: whole lines; the last one may lack its line break. */
  begin(text: Uint8Array, { labels, hasFields }: SparseLines): void {
    const isEnded = text.length === 0 || text.at(-1) === NEWLINE;
    this.#textEnd = TEXT_AT + text.length + (isEnded ? 0 : 1);
    this.#instance.reserve(this.#textEnd);
    const bytes = new Uint8Array(this.#instance.buffer);
    bytes.set(text, TEXT_AT);
    if (!isEnded) bytes[this.#textEnd - 1] = NEWLINE;
    const frame = this.#frame();
    frame.set([TEXT_AT, this.#textEnd, 0], FRAME.at);
    frame.set([TEXT_AT, TEXT_AT + text.length], FRAME.textFrom);
    frame[FRAME.labelRule] = LABEL_RULES[labels.task];
    frame[FRAME.classes] = labels.task === 'multiclass' ? labels.classes : 0;
    frame[FRAME.mayHaveWeight] = labels.mayHaveWeight === true ? 1 : 0;
    frame[FRAME.featuresPerRecord] = LIMITS.featuresPerRecord;
    frame[FRAME.fieldsEnd] = hasFields ? LIMITS.fields : 0;
  }

  /** Where the line that is read next begins in the text. */
  get at(): number {
    const frame = this.#frame();
    return Math.min(frame[FRAME.at]!, frame[FRAME.textTo]!) - TEXT_AT;
  }

  /** Lines read or skipped so far. */
  get lines(): number {
    return this.#frame()[FRAME.line]!;
  }

  /** Skips `lines` lines; the last one ends at `end`. */
  skip(end: number, lines: number): void {
    const frame = this.#frame();
    // The line break that was added ends a line that is left out.
    frame[FRAME.at] = TEXT_AT + end >= frame[FRAME.textTo]! ? this.#textEnd : TEXT_AT + end;
    frame[FRAME.line]! += lines;
  }

  /** Reads up to `quota` records. Any other call ends the views of the piece. */
  next(quota: number): { readonly status: number; readonly piece: SparsePiece } {
    // A record takes at least two bytes, a feature at least four.
    const textBytes = this.#textEnd - TEXT_AT;
    const most = Math.min(quota, Math.ceil(textBytes / 2));
    const room = Math.ceil(textBytes / 4);
    const groups = roundUp(this.#textEnd);
    const labels = groups + 8 * most;
    const weights = labels + 4 * most;
    const featureEnds = weights + 4 * most;
    const lines = featureEnds + 4 * most;
    const starts = lines + 4 * most;
    const ends = starts + 4 * most;
    const values = ends + 4 * most;
    const ids = roundUp(values + 4 * room);
    const fields = ids + 8 * room;
    const hasFields = this.#frame()[FRAME.fieldsEnd] !== 0;
    this.#instance.reserve(fields + (hasFields ? 2 * room : 0));
    const frame = this.#frame();
    frame[FRAME.quota] = most;
    frame.set([labels, weights, groups, featureEnds, lines, starts, ends, ids, values], FRAME.labels);
    frame[FRAME.fields] = fields;
    const status = this.#instance.kernels.parseLines(FRAME_AT);
    this.#ids = ids;
    const { buffer } = this.#instance;
    const records = frame[FRAME.records]!;
    const features = frame[FRAME.features]!;
    const words = (at: number): Uint32Array => new Uint32Array(buffer, at, records);
    const piece = {
      records,
      labels: new Float32Array(buffer, labels, records),
      weights: frame[FRAME.hasWeights] === 0 ? undefined : new Float32Array(buffer, weights, records),
      groups: frame[FRAME.hasGroups] === 0 ? undefined : new Uint32Array(buffer, groups, 2 * records),
      lines: words(lines),
      starts: words(starts),
      ends: words(ends),
      features: {
        features,
        ends: words(featureEnds),
        ids: new Uint8Array(buffer, ids, 8 * features),
        values: frame[FRAME.hasValues] === 0 ? undefined : new Float32Array(buffer, values, features),
        fields: hasFields ? new Uint16Array(buffer, fields, features) : undefined,
      },
    };
    return { status, piece };
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
