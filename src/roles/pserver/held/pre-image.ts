/**
 * Sync mode: the pre-image of a round, that is, the old values of everything that the round changed. With it, the
 * previous version stays readable (docs/modes.md). Each group of units has its own pre-images. A unit that moves to
 * another pserver takes its part along.
 */
import { assert } from '../../../base/assert.ts';
import { blockLength } from '../../../tensor/blocks.ts';
import type { MemoryWatcher, ParameterMemory } from '../../../tensor/parameters.ts';
import { joinBytes, partsOfShards, type ShardParts } from '../../../tensor/shard-parts.ts';

interface OldBlocks {
  readonly parameter: number;
  readonly blocks: Uint32Array;
  /** Values of the blocks, one block after the other, f32. */
  readonly values: Uint8Array;
}

interface OldRows {
  readonly table: number;
  /** Distinct ids, u64 little-endian. */
  readonly ids: Uint8Array;
  /** One row for each id, f32. A row that did not exist has its initial values, as in the answer to a pull. */
  readonly values: Uint8Array;
}

/** Old values of everything that a round changed. Each parameter or table occurs at most once. */
export interface OldValues {
  readonly dense: readonly OldBlocks[];
  readonly sparse: readonly OldRows[];
}

/** Collects the values of the rows that a round removes, since tables may evict rows in a round. */
export class RemovedRows implements MemoryWatcher {
  readonly #parameters: ParameterMemory;
  readonly #tables: number;
  readonly #removed: OldRows[] = [];

  /** `tables`: number of tables of the model. */
  constructor(parameters: ParameterMemory, tables: number) {
    this.#parameters = parameters;
    this.#tables = tables;
  }

  removing(_: number, table: number, ids: BigUint64Array): void {
    // Candidates have no values.
    if (table >= this.#tables) return;
    const { values, ids: existing } = this.#parameters.readRows(table, ids);
    this.#removed.push({ table, ids: bytesIn(existing), values: bytesIn(values) });
  }

  lowering(): void {}

  replacing(): void {}

  /** Adds them to the old values of the round, which has named none of them. */
  addTo({ dense, sparse }: OldValues): OldValues {
    const tables = [...sparse, ...this.#removed].map(({ table }) => table);
    return {
      dense,
      sparse: [...new Set(tables)].map((table) => {
        const rows = [...sparse, ...this.#removed].filter((one) => one.table === table);
        if (rows.length === 1) return rows[0]!;
        return {
          table,
          ids: joinBytes(rows.map(({ ids }) => ids)),
          values: joinBytes(rows.map(({ values }) => values)),
        };
      }),
    };
  }
}

const bytesIn = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Source of the values of a pull: the current parameters, or the parameters of the previous version. */
export type ValueSource = Pick<ParameterMemory, 'pullDense' | 'pullSparse'>;

export class PreImage {
  readonly old: OldValues;
  readonly #of: ShardParts;
  readonly #blocks = new Map<string, Uint8Array>();

  constructor(of: ShardParts, old: OldValues) {
    this.#of = of;
    this.old = old;
    for (const { parameter, blocks, values } of old.dense) {
      let at = 0;
      for (const block of blocks) {
        const end = at + 4 * blockLength(of.spec.dense[parameter]!, block);
        this.#blocks.set(`${parameter}/${block}`, values.subarray(at, end));
        at = end;
      }
    }
  }

  get isEmpty(): boolean {
    return this.old.dense.length + this.old.sparse.length === 0;
  }

  /** Writes the old values into the blocks of `into` that the round changed. */
  putBlocks(parameter: number, blocks: Uint32Array, into: Uint8Array): void {
    let at = 0;
    for (const block of blocks) {
      const old = this.#blocks.get(`${parameter}/${block}`);
      if (old !== undefined) into.set(old, at);
      at += 4 * blockLength(this.#of.spec.dense[parameter]!, block);
    }
  }

  /** Writes the old rows into the rows of `into` that the round changed. The old ids are distinct: each has a place. */
  putRows(table: number, ids: Uint8Array, into: Uint8Array): void {
    const old = this.old.sparse.find((one) => one.table === table);
    if (old === undefined) return;
    const rowBytes = 4 * this.#of.spec.sparse[table]!.width;
    const oldCount = old.ids.byteLength / 8;
    const count = ids.byteLength / 8;
    assert(into.byteLength === count * rowBytes, 'there is a row for each id');
    const both = new Uint8Array(old.ids.byteLength + ids.byteLength);
    both.set(old.ids);
    both.set(ids, old.ids.byteLength);
    const { places } = this.#of.router.dedupe(both, oldCount + count);
    for (let i = 0; i < count; i++) {
      const place = places[oldCount + i]!;
      if (place < oldCount) into.set(old.values.subarray(place * rowBytes, (place + 1) * rowBytes), i * rowBytes);
    }
  }

  /** Returns the part for these shards. */
  partOf(shards: readonly number[]): PreImage {
    const all = {
      dense: this.old.dense.map(({ values, ...one }) => ({ ...one, gradients: values })),
      sparse: this.old.sparse.map(({ values, ...one }) => ({ ...one, gradients: values })),
    };
    const { dense, sparse } = partsOfShards(this.#of, all, shards);
    return new PreImage(this.#of, {
      dense: dense.map(({ gradients, ...one }) => ({ ...one, values: gradients })),
      sparse: sparse.map(({ gradients, ...one }) => ({ ...one, values: gradients })),
    });
  }
}

/** Returns a source in which the old values of these images replace the values of the parameters. */
export function withOldValues(parameters: ValueSource, images: readonly PreImage[]): ValueSource {
  if (images.length === 0) return parameters;
  return {
    pullDense(parameter, blocks, into) {
      parameters.pullDense(parameter, blocks, into);
      for (const image of images) image.putBlocks(parameter, blocks, into);
    },
    pullSparse(table, ids, into) {
      // Copy the ids: they may be in kernel memory, which may grow during the pull and thereby end its views.
      const own = ids.slice();
      parameters.pullSparse(table, own, into);
      for (const image of images) image.putRows(table, own, into);
    },
  };
}
