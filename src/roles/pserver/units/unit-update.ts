/** The part of an update that concerns one unit, with arrays of its own: those of a request are gone when it ends. */
import { partsOfShards, type ShardParts } from '../../../tensor/shard-parts.ts';
import type { ForwardedUpdate } from './incoming-unit.ts';

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
  const applied = new Set(update.shards);
  const applying = shards.filter((shard) => applied.has(shard));
  if (applying.length === 0) return undefined;
  const parts = partsOfShards(of, update, applying);
  const borrowed = new Set(
    [...update.dense, ...update.sparse].flatMap((part) => Object.values(part)).flatMap(bufferOf),
  );
  const own = <T extends Uint8Array | Uint32Array>(array: T): T =>
    borrowed.has(array.buffer) ? (array.slice() as T) : array;
  const dense = parts.dense.map((part) => ({ ...part, blocks: own(part.blocks), gradients: own(part.gradients) }));
  const sparse = parts.sparse.map((part) => ({ ...part, ids: own(part.ids), gradients: own(part.gradients) }));
  const arrays = [
    ...dense.flatMap(({ blocks, gradients }) => [blocks, gradients]),
    ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
  ];
  const byteLength = arrays.reduce((sum, array) => sum + array.byteLength, OVERHEAD_BYTES);
  return { update: { ...update, shards: applying, dense, sparse }, byteLength };
}

const bufferOf = (field: number | ArrayBufferView): ArrayBufferLike[] =>
  typeof field === 'number' ? [] : [field.buffer];
