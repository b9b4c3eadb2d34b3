/** Puts the records of a task together as a block. */
import { assert } from '../../base/assert.ts';
import type { BadRecord } from '../bad-record.ts';
import type { SparseKernel } from '../kernels/sparse-kernel.ts';
import type { Piece, ReadFeatures } from '../piece.ts';
import { takeArray } from '../spare-memory.ts';
import type { ParsedBlock } from './block.ts';
import { InputBuilder } from './input-builder.ts';
import { LineRuns } from './line-runs.ts';

const MOST_U32 = 2 ** 32 - 1;

/** What a block keeps of records, besides their inputs. */
export type RecordFacts = Pick<Piece, 'records' | 'labels' | 'weights' | 'groups' | 'lines'>;

export interface BlockSize {
  /** Maximum number of records, including bad ones. */
  readonly records: number;
  /** Maximum number of features of each sparse input. */
  readonly features: readonly number[];
  readonly batchSize: number;
  /** Whether the fields of features are kept. */
  readonly hasFields?: boolean | undefined;
  /** Floats of the dense input per record; absent if there is no dense input. */
  readonly width?: number | undefined;
}

export class BlockBuilder {
  readonly kernel: SparseKernel;
  readonly inputs: readonly InputBuilder[];
  readonly #size: BlockSize;
  readonly #goods: Uint32Array;
  readonly #labels: Float32Array;
  /** Present from the first weight on that is not 1. */
  #weights: Float32Array | undefined;
  /** Present from the first group on. */
  #groups: Uint32Array | undefined;
  readonly #rows: Float32Array | undefined;
  #records = 0;
  #good = 0;
  #batch = 0;
  readonly #parts: { file: string; first: number }[] = [];
  readonly #bad: BadRecord[] = [];
  readonly #badPositions: number[] = [];
  readonly #lines = new LineRuns();

  constructor(size: BlockSize, kernel: SparseKernel) {
    this.kernel = kernel;
    this.#size = size;
    const { records, features, batchSize, hasFields = false, width } = size;
    const batches = Math.ceil(records / batchSize);
    this.inputs = features.map((most) => new InputBuilder({ records, batches, features: most, hasFields }, kernel));
    this.#goods = new Uint32Array(batches + 1);
    this.#labels = new Float32Array(records);
    this.#rows = width === undefined ? undefined : takeArray(Float32Array, records * width);
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

  /** The records that follow are of this file. */
  startPart(file: string): void {
    this.#parts.push({ file, first: this.#records });
    this.#lines.break();
  }

  /**
   * Takes at most `quota` records, with their features for each sparse input, and their floats for the dense one;
   * `firstLine` is that of the text that they are in.
   */
  add(read: RecordFacts, firstLine: number, inputs: readonly ReadFeatures[], rows?: Float32Array): void {
    const { records } = read;
    if (records === 0) return;
    assert(records <= this.quota, 'no more records than the batch has room for');
    this.#labels.set(read.labels, this.#good);
    if (read.weights !== undefined) this.#allWeights().set(read.weights, this.#good);
    if (read.groups !== undefined) this.#allGroups().set(read.groups, 2 * this.#good);
    if (rows !== undefined) this.#rows!.set(rows, this.#good * this.#size.width!);
    this.#lines.addAll(read.lines, firstLine);
    this.#good += records;
    this.#records += records;
    const isLast = this.quota === 0;
    for (const [at, input] of this.inputs.entries()) input.add(inputs[at]!, isLast);
    if (isLast) this.#nextBatch();
  }

  bad(record: BadRecord): void {
    assert(this.quota > 0, 'no more records than were announced');
    this.#bad.push(record);
    this.#badPositions.push(this.#records);
    this.#lines.add(record.line);
    this.#records += 1;
    if (this.quota === 0) this.#endBatch();
  }

  finish(): ParsedBlock {
    const { batchSize, width } = this.#size;
    if (this.#records > this.#batch * batchSize) this.#endBatch();
    const { positions, lines } = this.#lines.finish();
    return {
      records: this.#records,
      batchSize,
      goods: this.#goods.subarray(0, this.#batch + 1),
      labels: this.#labels.subarray(0, this.#good),
      weights: this.#weights?.subarray(0, this.#good),
      groups: this.#groups && bytesOf(this.#groups).subarray(0, 8 * this.#good),
      sparse: this.inputs.map((input) => input.finish()),
      dense: this.#rows && { width: width!, values: this.#rows.subarray(0, this.#good * width!) },
      badPositions: Uint32Array.from(this.#badPositions),
      runPositions: positions,
      runLines: lines,
      notes: { parts: this.#parts, bad: this.#bad },
    };
  }

  #endBatch(): void {
    for (const input of this.inputs) input.endBatch();
    this.#nextBatch();
  }

  #nextBatch(): void {
    this.#batch += 1;
    this.#goods[this.#batch] = this.#good;
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
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
