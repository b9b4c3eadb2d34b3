/**
 * The shard of each row and block. With all arithmetic modulo 2^64:
 *
 *   nameHash(name) = mix64(FNV-1a-64 of the name's UTF-8 bytes)
 *   hash           = mix64(id XOR nameHash(name)), with a row's id or a block's number as `id`
 *   shard          = floor((hash >> 32) × shards / 2^32)
 *
 * FNV-1a is Fowler, Noll & Vo's. These are the plain forms; kernels do the same to whole batches, and a test compares
 * them.
 */
import { assert } from '../base/assert.ts';
import { mix64 } from '../base/mix64.ts';

const MASK_64 = 0xffff_ffff_ffff_ffffn;
const FNV_OFFSET = 0xcbf2_9ce4_8422_2325n;
const FNV_PRIME = 0x100_0000_01b3n;

export function fnv1a64(text: string): bigint {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(text, 'utf8')) hash = ((hash ^ BigInt(byte)) * FNV_PRIME) & MASK_64;
  return hash;
}

/** Hash of the name of a table or a dense parameter. */
export const nameHash = (name: string): bigint => mix64(fnv1a64(name));

function shardOf(hash: bigint, id: bigint, shards: number): number {
  assert(Number.isInteger(shards) && shards > 0, 'a job has shards');
  return Number(((mix64(id ^ hash) >> 32n) * BigInt(shards)) >> 32n);
}

/** The shard of a row; `table` is the table's name or its `nameHash`, `id` an unsigned 64-bit id. */
export function shardOfRow(table: string | bigint, id: bigint, shards: number): number {
  return shardOf(typeof table === 'string' ? nameHash(table) : table, id, shards);
}

/** The shard of a block of a dense parameter. */
export function shardOfBlock(parameter: string | bigint, block: number, shards: number): number {
  return shardOf(typeof parameter === 'string' ? nameHash(parameter) : parameter, BigInt(block), shards);
}
