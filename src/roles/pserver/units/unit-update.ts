/** The part of an update that concerns one unit, with arrays of its own: those of a request are gone when it ends. */
import type { RoundGradients } from '../../../tensor/parameters.ts';
import { partsOfShards, type ShardParts } from '../../../tensor/shard-parts.ts';
import type { ForwardedUpdate } from './forwarded-update.ts';

export interface UnitUpdate {
  readonly update: ForwardedUpdate;
  readonly byteLength: number;
}

/** What an update weighs beside its arrays, so that many empty ones are not taken for nothing. */
const OVERHEAD_BYTES = 64;

/** Undefined when no shard of the unit has applied it. */
export function updateOfUnit(
  of: ShardParts,
  update: ForwardedUpdate,
  shards: readonly number[],
): UnitUpdate | undefined {
  if (update.type === 'close') return { update, byteLength: OVERHEAD_BYTES * (1 + update.tasks.length) };
  if (update.type === 'round') {
    const { parts, byteLength } = ownParts(of, update, shards);
    return { update: { ...update, ...parts }, byteLength: byteLength + OVERHEAD_BYTES * update.batches.length };
  }
  const applied = new Set(update.shards);
  const applying = shards.filter((shard) => applied.has(shard));
  if (applying.length === 0) return undefined;
  const { parts, byteLength } = ownParts(of, update, applying);
  return { update: { ...update, ...parts, shards: applying }, byteLength };
}

/** Copies what would still be the memory of the request. */
export function ownParts(of: ShardParts, all: RoundGradients, shards: readonly number[]) {
  const parts = partsOfShards(of, all, shards);
  const borrowed = new Set<unknown>([
    ...all.dense.flatMap(({ blocks, gradients }) => [blocks.buffer, gradients.buffer]),
    ...all.sparse.flatMap(({ ids, gradients }) => [ids.buffer, gradients.buffer]),
  ]);
  const own = <T extends Uint8Array | Uint32Array>(array: T): T =>
    borrowed.has(array.buffer) ? (array.slice() as T) : array;
  const dense = parts.dense.map((part) => ({ ...part, blocks: own(part.blocks), gradients: own(part.gradients) }));
  const sparse = parts.sparse.map((part) => ({ ...part, ids: own(part.ids), gradients: own(part.gradients) }));
  const arrays = [
    ...dense.flatMap(({ blocks, gradients }) => [blocks, gradients]),
    ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
  ];
  const byteLength = arrays.reduce((sum, array) => sum + array.byteLength, OVERHEAD_BYTES);
  return { parts: { dense, sparse }, byteLength };
}
