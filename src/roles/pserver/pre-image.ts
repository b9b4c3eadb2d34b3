/**
 * The version before the current one, readable beside it: what a round changed, as it was before (docs/modes.md).
 * Each group of units has its own, and a unit that goes to another pserver takes its part along.
 */
import { assert } from '../../base/assert.ts';
import { blockLength } from '../../tensor/blocks.ts';
import type { Parameters, RoundGradients } from '../../tensor/parameters.ts';
import { partsOfShards, type ShardParts } from '../../tensor/shard-parts.ts';
import type { ValueSource } from './request-parts.ts';
import type { OldValues } from './unit-rounds.ts';

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

  /** Replaces values of blocks that the round changed. */
  putBlocks(parameter: number, blocks: Uint32Array, into: Uint8Array): void {
    let at = 0;
    for (const block of blocks) {
      const old = this.#blocks.get(`${parameter}/${block}`);
      if (old !== undefined) into.set(old, at);
      at += 4 * blockLength(this.#of.spec.dense[parameter]!, block);
    }
  }

  /** Replaces rows that the round changed. The old ids are distinct: each has its own place. */
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

  /** What of it is in those shards. */
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

/**
 * Applies the round, with the learning rate times `rateScale`. Returns what it changed, as it was before. Throws what
 * `Parameters.push` throws.
 */
export function applyKeeping(
  of: ShardParts,
  parameters: Parameters,
  { dense, sparse }: RoundGradients,
  actions: Uint8Array,
  rateScale: number,
): PreImage {
  // Copies: they may be in kernel memory, and so be gone after the push.
  const ids = sparse.map((part) => part.ids.slice());
  const old = parameters.pushKeeping(sparse, dense, actions, rateScale);
  return new PreImage(of, {
    dense: dense.map(({ parameter, blocks }, at) => ({ parameter, blocks, values: old.dense[at]! })),
    sparse: sparse.map(({ table }, at) => ({ table, ids: ids[at]!, values: old.sparse[at]! })),
  });
}

/** The parameters, with the values of these images where they have any. */
export function withOldValues(parameters: ValueSource, images: readonly PreImage[]): ValueSource {
  if (images.length === 0) return parameters;
  return {
    pullDense(parameter, blocks, into) {
      parameters.pullDense(parameter, blocks, into);
      for (const image of images) image.putBlocks(parameter, blocks, into);
    },
    pullSparse(table, ids, into) {
      // They may be in kernel memory, which may grow in the pull: views of it end then.
      const own = ids.slice();
      parameters.pullSparse(table, own, into);
      for (const image of images) image.putRows(table, own, into);
    },
  };
}
