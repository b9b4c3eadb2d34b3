/**
 * The gradient of a round out of those of its lanes (docs/modes.md): the mean over all good records of the round.
 * It depends on nothing but the lanes in their order; how parameters are spread over pservers changes nothing, as every
 * row and block is summed by itself.
 *
 * Lane `l` has the mean gradient `g_l` over its `n_l` records. In lane order, starting from zeros:
 *   sum := f32(sum + n_l · g_l), computed in 64 bits and rounded once; at the end f32(sum / Σ n_l)
 * Lanes without records add nothing.
 *
 * All of it is done in kernel memory, which is free again when the sum is: the sum itself, 16 bytes for each id of each
 * lane, and for a time an index of up to 11 bytes an id and one lane more. So it is bounded by what the lanes bring.
 */
import { assert } from '../base/assert.ts';
import { indexSize } from './id-router.ts';
import type { KernelHeap } from './kernel-heap.ts';
import type { DensePart, LaneGradients, LaneSum, RoundGradients, SparsePart } from './parameters.ts';
import type { PulledRows } from './pulled-rows.ts';
import { randomMultiplier } from './random-multiplier.ts';
import type { SparseTable } from './sparse-table.ts';

interface BlockSums {
  readonly parameter: number;
  readonly blocks: Uint32Array;
  readonly address: number;
  readonly byteLength: number;
}

interface RowSums {
  readonly table: number;
  readonly count: number;
  /**
   * Addresses: of the ids, of where their rows are or 0 for those that no pull has found (undefined: none was found by
   * one), of the sums.
   */
  readonly ids: number;
  readonly found: number | undefined;
  readonly sums: number;
  readonly byteLength: number;
}

/** A part of a lane that has records. */
type Weighted<Part> = Part & { readonly records: number };

export class LaneFold implements LaneSum {
  readonly #heap: KernelHeap;
  readonly #pulled: PulledRows | undefined;
  readonly #taken: number[] = [];
  readonly #dense: BlockSums[] = [];
  readonly #sparse: RowSums[] = [];
  #knowsRows = true;

  constructor(heap: KernelHeap, pulled: PulledRows | undefined) {
    this.#heap = heap;
    this.#pulled = pulled;
  }

  /**
   * Sums up `lanes`, which are in lane order. All those with records have the same blocks of the same parameters. To be
   * called once, and `free` after it even when it throws: `OutOfMemory`.
   */
  fold(lanes: readonly LaneGradients[], of: { readonly dense: number; readonly tables: readonly SparseTable[] }): void {
    const filled = lanes.filter(({ records }) => records > 0);
    const total = filled.reduce((sum, { records }) => sum + records, 0);
    for (let parameter = 0; parameter < of.dense; parameter++) {
      const parts = filled.flatMap(({ dense, records }) =>
        dense.filter((part) => part.parameter === parameter).map((part) => ({ ...part, records })),
      );
      if (parts.length > 0) this.#foldDense(parts, total);
    }
    of.tables.forEach((table, index) => {
      const parts = filled.flatMap(({ sparse, records }) =>
        sparse.filter((part) => part.table === index && part.ids.length > 0).map((part) => ({ ...part, records })),
      );
      if (parts.length > 0) this.#foldSparse(table, parts, total);
    });
  }

  #foldDense(parts: readonly Weighted<DensePart>[], total: number): void {
    const { kernels } = this.#heap;
    const { parameter, blocks, gradients: first } = parts[0]!;
    const byteLength = first.length;
    const address = this.#takeZeros(byteLength);
    for (const { gradients, records } of parts) {
      assert(gradients.length === byteLength, 'all lanes have the same blocks');
      this.#heap.withInputs([gradients], ([at]) => kernels.addFloats(address, at!, byteLength / 4, records));
    }
    kernels.divideFloats(address, byteLength / 4, total);
    this.#dense.push({ parameter, blocks, address, byteLength });
  }

  #foldSparse(table: SparseTable, parts: readonly Weighted<SparsePart>[], total: number): void {
    const { kernels } = this.#heap;
    const { width } = table.spec;
    const all = parts.reduce((sum, { ids }) => sum + ids.length / 8, 0);
    const ids = this.#take(16 * all);
    const found = ids + 8 * all;
    const places = found + 4 * all;
    this.#heap.bytes.fill(0, found, places);
    const { count, isFound } = this.#dedupe(table, parts, { all, ids, found, places });
    const byteLength = 4 * width * count;
    const sums = this.#takeZeros(byteLength);
    let at = places;
    for (const { gradients, records } of parts) {
      const n = gradients.length / (4 * width);
      this.#heap.withInputs([gradients], ([rows]) => kernels.addRows(sums, at, n, width, rows!, records));
      at += 4 * n;
    }
    kernels.divideFloats(sums, width * count, total);
    this.#sparse.push({ table: parts[0]!.table, count, ids, found: isFound ? found : undefined, sums, byteLength });
  }

  /**
   * Distinct ids, where their rows are as far as pulls have found them, and the places of all. Gives the number of ids,
   * and whether any pull has found rows: without one, all are looked for together, which is faster.
   */
  #dedupe(
    table: SparseTable,
    parts: readonly SparsePart[],
    to: { readonly all: number; readonly ids: number; readonly found: number; readonly places: number },
  ): { readonly count: number; readonly isFound: boolean } {
    const { kernels } = this.#heap;
    const multiplier = randomMultiplier();
    const size = indexSize(to.all);
    let known = 0;
    let isFound = false;
    let places = to.places;
    this.#heap.withScratch(4 * size, (index) => {
      for (const { ids } of parts) {
        const n = ids.length / 8;
        this.#heap.withInputs([ids], ([idsAt]) => {
          const before = known;
          known = kernels.dedupe(idsAt!, n, to.ids, before, places, index, size, multiplier);
          const put = (found: number): void => kernels.putFresh(places, n, before, found, to.found);
          if (this.#pulled?.take(table, idsAt!, n, put) === true) isFound = true;
        });
        places += 4 * n;
      }
    });
    return { count: known, isFound };
  }

  parts(): RoundGradients {
    const { bytes } = this.#heap;
    return {
      dense: this.#dense.map(({ parameter, blocks, address, byteLength }) => {
        return { parameter, blocks, gradients: bytes.subarray(address, address + byteLength) };
      }),
      sparse: this.#sparse.map(({ table, count, ids, sums, byteLength }) => {
        return { table, ids: bytes.subarray(ids, ids + 8 * count), gradients: bytes.subarray(sums, sums + byteLength) };
      }),
    };
  }

  copy(): RoundGradients {
    const { dense, sparse } = this.parts();
    return {
      dense: dense.map((part) => ({ ...part, gradients: part.gradients.slice() })),
      sparse: sparse.map((part) => ({ ...part, ids: part.ids.slice(), gradients: part.gradients.slice() })),
    };
  }

  /** Whether these are ids of the sum, which are distinct. `ids` is an address. */
  has(ids: number, count: number): boolean {
    return this.#sparse.some((rows) => rows.ids === ids && rows.count === count);
  }

  /** The address of where the rows of these ids of the sum are; undefined when they are to be looked for. */
  foundOf(ids: number, count: number): number | undefined {
    return this.#knowsRows ? this.#sparse.find((rows) => rows.ids === ids && rows.count === count)?.found : undefined;
  }

  /** Rows may be elsewhere from now on. */
  forgetRows(): void {
    this.#knowsRows = false;
  }

  free(): void {
    for (const address of this.#taken.splice(0)) this.#heap.free(address);
  }

  #take(byteLength: number): number {
    const address = this.#heap.allocate(byteLength);
    this.#taken.push(address);
    return address;
  }

  #takeZeros(byteLength: number): number {
    const address = this.#take(byteLength);
    this.#heap.bytes.fill(0, address, address + byteLength);
    return address;
  }
}
