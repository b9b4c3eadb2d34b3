/** Puts a sparse input of a block together. Ids are numbered batch by batch, as soon as a batch is whole. */
import { assert } from '../../base/assert.ts';
import { createIdDictionary } from '../../base/id-dictionary.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DistinctIds, SparseKernel } from '../kernels/sparse-kernel.ts';
import type { ReadFeatures } from '../piece.ts';
import { giveBack, takeArray, takeMemory } from '../spare-memory.ts';
import { type BlockFeatures, START } from './block.ts';

export interface InputSize {
  readonly records: number;
  readonly batches: number;
  /** Maximum number of features. */
  readonly features: number;
  readonly hasFields: boolean;
}

export class InputBuilder {
  readonly #kernel: SparseKernel;
  readonly #size: InputSize;
  readonly #starts: Uint32Array;
  readonly #offsets: Uint32Array;
  /** Where the next offset goes. The first one of a batch is 0. */
  #nextOffset = 1;
  readonly #rows: Uint32Array;
  /** Present from the first value on that is not 1. */
  #values: Float32Array | undefined;
  readonly #fields: Uint16Array | undefined;
  #ids = new Uint8Array(8192);
  #features = 0;
  #distinct = 0;
  #batch = 0;
  /** Features of good records before the batch that is being read. */
  #batchFeatures = 0;
  /** The ids of the batch, in pieces. */
  #pieces: Uint8Array[] = [];

  constructor(size: InputSize, kernel: SparseKernel) {
    this.#size = size;
    this.#kernel = kernel;
    this.#starts = new Uint32Array(START.words * (size.batches + 1));
    this.#offsets = new Uint32Array(size.records + size.batches + 1);
    this.#rows = takeArray(Uint32Array, size.features);
    this.#fields = size.hasFields ? takeArray(Uint16Array, size.features) : undefined;
  }

  /** `isLast`: with these records the batch is whole. */
  add({ features, ends, ids, values, fields }: ReadFeatures, isLast: boolean): void {
    const before = this.#ofBatch;
    const offsets = this.#offsets;
    let next = this.#nextOffset;
    for (let record = 0; record < ends.length; record++) offsets[next++] = before + ends[record]!;
    this.#nextOffset = next;
    if (values !== undefined) this.#allValues().set(values, this.#features);
    else this.#values?.fill(1, this.#features, this.#features + features);
    if (this.#fields !== undefined) {
      assert(fields !== undefined, 'what a model reads fields of has them');
      this.#fields.set(fields, this.#features);
    }
    this.#features += features;
    if (isLast && this.#pieces.length === 0 && features <= LIMITS.kernelIds) {
      const isRead = this.#kernel.hasRead(ids);
      this.#endBatch(isRead ? this.#kernel.distinctOfLast(features) : this.#kernel.distinctOf([ids], features));
      return;
    }
    // These ids are views of memory that is reused.
    this.#pieces.push(ids.slice());
    if (isLast) this.endBatch();
  }

  endBatch(): void {
    this.#endBatch(this.#distinctOfPieces());
  }

  finish(): BlockFeatures {
    return {
      starts: this.#starts.subarray(0, START.words * (this.#batch + 1)),
      offsets: this.#offsets.subarray(0, this.#nextOffset - 1),
      rows: this.#rows.subarray(0, this.#features),
      values: this.#values?.subarray(0, this.#features),
      fields: this.#fields?.subarray(0, this.#features),
      ids: this.#ids.subarray(0, 8 * this.#distinct),
    };
  }

  /** Features of the batch so far. */
  get #ofBatch(): number {
    return this.#features - this.#batchFeatures;
  }

  #distinctOfPieces(): DistinctIds {
    const count = this.#ofBatch;
    return count <= LIMITS.kernelIds
      ? this.#kernel.distinctOf(this.#pieces, count)
      : plainDistinct(this.#pieces, count);
  }

  #endBatch({ ids, distinct, places }: DistinctIds): void {
    this.#rows.set(places, this.#batchFeatures);
    const end = 8 * (this.#distinct + distinct);
    if (end > this.#ids.length) {
      const before = this.#ids;
      // Estimates the total from the share of distinct ids so far, so that ids are rarely copied again.
      const ofAll = Math.ceil((end / this.#features) * this.#size.features);
      this.#ids = new Uint8Array(
        takeMemory(Math.max(end, 2 * before.length, Math.min(ofAll, 8 * this.#size.features))),
      );
      this.#ids.set(before);
      giveBack(before.buffer);
    }
    this.#ids.set(ids, 8 * this.#distinct);
    this.#distinct += distinct;
    this.#batchFeatures = this.#features;
    this.#pieces = [];
    this.#batch += 1;
    this.#nextOffset += 1;
    this.#starts.set([this.#features, this.#distinct], START.words * this.#batch);
  }

  #allValues(): Float32Array {
    this.#values ??= takeArray(Float32Array, this.#size.features).fill(1, 0, this.#features);
    return this.#values;
  }
}

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
