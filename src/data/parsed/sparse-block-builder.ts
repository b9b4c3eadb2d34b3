/**
 * Puts the records of a task together as a block: from what the kernel reads, and one by one from the plain parser. Ids
 * are numbered batch by batch, as soon as a batch is whole.
 */
import { assert } from '../../base/assert.ts';
import { createIdDictionary } from '../../base/id-dictionary.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DistinctIds, ReadRecords, SparseKernel } from '../kernels/sparse-kernel.ts';
import type { BadRecord } from '../source.ts';
import { LineRuns } from './line-runs.ts';
import { type SparseBlock, START } from './sparse-block.ts';

const MOST_U32 = 2 ** 32 - 1;
/** Of a record without a group. */
const NO_GROUP_HALVES = [MOST_U32, MOST_U32] as const;

export interface BlockSize {
  /** At most so many, bad ones included. */
  readonly records: number;
  /** At most so many. */
  readonly features: number;
  readonly batchSize: number;
  /** Whether the fields of features are kept. */
  readonly hasFields?: boolean | undefined;
}

export class SparseBlockBuilder {
  readonly kernel: SparseKernel;
  readonly #size: BlockSize;
  readonly #starts: Uint32Array;
  readonly #labels: Float32Array;
  /** From the first weight on that is not 1. */
  #weights: Float32Array | undefined;
  /** From the first group on. */
  #groups: Uint32Array | undefined;
  readonly #offsets: Uint32Array;
  readonly #rows: Uint32Array;
  /** From the first value on that is not 1. */
  #values: Float32Array | undefined;
  readonly #fields: Uint16Array | undefined;
  #ids = new Uint8Array(8192);
  #records = 0;
  #good = 0;
  #features = 0;
  #distinct = 0;
  #batch = 0;
  /** Features of good records before the batch that is being read. */
  #batchFeatures = 0;
  /** The ids of the batch, in pieces, and of single features behind them: u32 halves. */
  #pieces: Uint8Array[] = [];
  #single: number[] = [];
  readonly #parts: { file: string; first: number }[] = [];
  readonly #bad: BadRecord[] = [];
  readonly #badPositions: number[] = [];
  readonly #lines = new LineRuns();
  /** Of the record that the plain parser reads: how many features, and the rest of it. */
  #pending = 0;
  #weight = 1;
  #group: readonly [number, number] = NO_GROUP_HALVES;

  constructor(size: BlockSize, kernel: SparseKernel) {
    this.kernel = kernel;
    this.#size = size;
    const batches = Math.ceil(size.records / size.batchSize);
    this.#starts = new Uint32Array(START.words * (batches + 1));
    this.#labels = new Float32Array(size.records);
    this.#offsets = new Uint32Array(size.records + batches);
    this.#rows = new Uint32Array(size.features);
    this.#fields = size.hasFields ? new Uint16Array(size.features) : undefined;
  }

  get records(): number {
    return this.#records;
  }

  get badRecords(): number {
    return this.#bad.length;
  }

  /** Records that may be added at once: up to the end of a batch. None when all that were announced are there. */
  get quota(): number {
    return Math.min((this.#batch + 1) * this.#size.batchSize, this.#size.records) - this.#records;
  }

  /** Features of the batch so far: the ends of the next records count from here. */
  get firstEnd(): number {
    return this.#features - this.#batchFeatures;
  }

  /** The records that follow are of this file. */
  startPart(file: string): void {
    this.#parts.push({ file, first: this.#records });
    this.#lines.break();
  }

  /** Takes at most `quota` records; `firstLine` is that of the text that they are in. */
  add(read: Omit<ReadRecords, 'status'>, firstLine: number): void {
    const { records, features } = read;
    if (records === 0) return;
    assert(records <= this.quota, 'no more records than the batch has room for');
    this.#labels.set(read.labels, this.#good);
    if (read.weights !== undefined) this.#allWeights().set(read.weights, this.#good);
    if (read.groups !== undefined) bytesOf(this.#allGroups()).set(read.groups, 8 * this.#good);
    this.#offsets.set(read.ends, this.#good + this.#batch + 1);
    if (read.values !== undefined) this.#allValues().set(read.values, this.#features);
    else this.#values?.fill(1, this.#features, this.#features + features);
    if (this.#fields !== undefined) {
      assert(read.fields !== undefined, 'what a model reads fields of has them');
      this.#fields.set(read.fields, this.#features);
    }
    this.#lines.addRuns(read.runs, records, firstLine);
    this.#features += features;
    this.#good += records;
    this.#records += records;
    if (this.quota === 0 && this.#isAlone(read) && features <= LIMITS.kernelIds) {
      this.#endBatch(this.kernel.distinctOfLast(features));
      return;
    }
    this.#park();
    // What the kernel has read is there until its next call only.
    this.#pieces.push(this.kernel.hasRead(read.ids) ? read.ids.slice() : read.ids);
    if (this.quota === 0) this.#endPieces();
  }

  /** Adds a feature to the record being read; its id in two u32 halves. */
  feature(low: number, high: number, value: number, field: number): void {
    const at = this.#features + this.#pending;
    if (this.#values === undefined && Math.fround(value) !== 1) this.#allValues();
    if (this.#values !== undefined) this.#values[at] = value;
    if (this.#fields !== undefined) this.#fields[at] = field;
    this.#single.push(low, high);
    this.#pending += 1;
  }

  /** How much the record being read counts. */
  weight(value: number): void {
    this.#weight = Math.fround(value);
  }

  /** The group of the record being read, in two u32 halves. */
  group(low: number, high: number): void {
    this.#group = [low, high];
  }

  /** Features of the record being read, so far. */
  get pending(): number {
    return this.#pending;
  }

  /** Ends the record being read. */
  good(label: number, line: number): void {
    this.#labels[this.#good] = label;
    if (this.#weight !== 1) this.#allWeights()[this.#good] = this.#weight;
    if (this.#group !== NO_GROUP_HALVES) this.#allGroups().set(this.#group, 2 * this.#good);
    this.#features += this.#pending;
    this.#pending = 0;
    this.#good += 1;
    this.#offsets[this.#good + this.#batch] = this.firstEnd;
    this.#endRecord(line);
  }

  /** Ends the record being read and drops its features. */
  bad(record: BadRecord): void {
    this.#single.length -= 2 * this.#pending;
    this.#pending = 0;
    this.#bad.push(record);
    this.#badPositions.push(this.#records);
    this.#endRecord(record.line);
  }

  /** Whether the batch has these records only, and the kernel their ids. */
  #isAlone({ ids }: Pick<ReadRecords, 'ids'>): boolean {
    return this.#pieces.length === 0 && this.#single.length === 0 && this.kernel.hasRead(ids);
  }

  /** The record being read is none of the block. */
  drop(): void {
    this.#single.length -= 2 * this.#pending;
    this.#pending = 0;
    this.#group = NO_GROUP_HALVES;
  }

  finish(): SparseBlock {
    if (this.#records > this.#batch * this.#size.batchSize) this.#endPieces();
    const { positions, lines } = this.#lines.finish();
    return {
      records: this.#records,
      batchSize: this.#size.batchSize,
      starts: this.#starts.subarray(0, START.words * (this.#batch + 1)),
      labels: this.#labels.subarray(0, this.#good),
      weights: this.#weights?.subarray(0, this.#good),
      groups: this.#groups && bytesOf(this.#groups).subarray(0, 8 * this.#good),
      offsets: this.#offsets.subarray(0, this.#good + this.#batch),
      rows: this.#rows.subarray(0, this.#features),
      values: this.#values?.subarray(0, this.#features),
      fields: this.#fields?.subarray(0, this.#features),
      ids: this.#ids.subarray(0, 8 * this.#distinct),
      badPositions: Uint32Array.from(this.#badPositions),
      runPositions: positions,
      runLines: lines,
      notes: { parts: this.#parts, bad: this.#bad },
    };
  }

  #endRecord(line: number): void {
    assert(this.quota > 0, 'no more records than were announced');
    this.#weight = 1;
    this.#group = NO_GROUP_HALVES;
    this.#lines.add(line);
    this.#records += 1;
    if (this.quota === 0) this.#endPieces();
  }

  #endPieces(): void {
    this.#park();
    this.#endBatch(this.#distinctOfPieces());
  }

  /** Puts the ids of single features behind the pieces. */
  #park(): void {
    if (this.#single.length === 0) return;
    this.#pieces.push(new Uint8Array(Uint32Array.from(this.#single).buffer));
    this.#single = [];
  }

  #distinctOfPieces(): DistinctIds {
    const count = this.firstEnd;
    return count <= LIMITS.kernelIds ? this.kernel.distinctOf(this.#pieces, count) : plainDistinct(this.#pieces, count);
  }

  #endBatch({ ids, distinct, places }: DistinctIds): void {
    this.#rows.set(places, this.#batchFeatures);
    const end = 8 * (this.#distinct + distinct);
    if (end > this.#ids.length) {
      const before = this.#ids;
      this.#ids = new Uint8Array(Math.max(end, 2 * before.length));
      this.#ids.set(before);
    }
    this.#ids.set(ids, 8 * this.#distinct);
    this.#distinct += distinct;
    this.#batchFeatures = this.#features;
    this.#pieces = [];
    this.#batch += 1;
    this.#starts.set([this.#good, this.#features, this.#distinct], START.words * this.#batch);
  }

  /** Those that come without one have it already. */
  #allWeights(): Float32Array {
    this.#weights ??= new Float32Array(this.#size.records).fill(1);
    return this.#weights;
  }

  #allGroups(): Uint32Array {
    this.#groups ??= new Uint32Array(2 * this.#size.records).fill(MOST_U32);
    return this.#groups;
  }

  #allValues(): Float32Array {
    this.#values ??= new Float32Array(this.#size.features).fill(1, 0, this.#features + this.#pending);
    return this.#values;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** For batches that the kernel's memory should not grow for. */
export function plainDistinct(pieces: readonly Uint8Array[], count: number): DistinctIds {
  const dictionary = createIdDictionary();
  const places = new Uint32Array(count);
  let at = 0;
  for (const piece of pieces) {
    const halves = new Uint32Array(piece.buffer, piece.byteOffset, piece.length / 4);
    for (let half = 0; half < halves.length; half += 2) {
      places[at++] = dictionary.indexOf(halves[half]!, halves[half + 1]!);
    }
  }
  const { size } = dictionary;
  return { ids: new Uint8Array(dictionary.halves.slice(0, 2 * size).buffer), distinct: size, places };
}
