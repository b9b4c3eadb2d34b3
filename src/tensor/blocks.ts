/**
 * Dense parameters are cut into blocks of a fixed number of floats, the last one shorter: the unit of placement and
 * of updates.
 */
import { assert } from '../base/assert.ts';
import { nameHash, shardOfBlock } from './shard-hash.ts';
import type { DenseSpec } from './spec.ts';

/** Floats in a block. 64 KiB of values: small enough to spread, large enough that its head costs nothing. */
export const denseBlockFloats = 16_384;

/** Floats in the parameter: the product of its shape, 1 for a scalar. */
export const elementCount = (spec: Pick<DenseSpec, 'shape'>): number =>
  spec.shape.reduce((product, size) => product * size, 1);

export const blockCount = (spec: Pick<DenseSpec, 'shape'>): number => Math.ceil(elementCount(spec) / denseBlockFloats);

/** Floats in block number `block`. */
export function blockLength(spec: Pick<DenseSpec, 'shape'>, block: number): number {
  const left = elementCount(spec) - block * denseBlockFloats;
  assert(Number.isInteger(block) && block >= 0 && left > 0, 'block is one of the parameter');
  return Math.min(left, denseBlockFloats);
}

/** The shard of each block, by block number. */
export function blockShards(spec: DenseSpec, shards: number): Uint32Array {
  const hash = nameHash(spec.name);
  return Uint32Array.from({ length: blockCount(spec) }, (_, block) => shardOfBlock(hash, block, shards));
}
