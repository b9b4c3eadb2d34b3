/**
 * A digest of all that is in one shard: rows and blocks with their optimizer state, and its ledger. Copies of a shard
 * that had the same updates have the same, bit by bit.
 */
import { createHash, type Hash } from 'node:crypto';
import type { Parameters } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';

type Readable = Pick<Parameters, 'exportRows' | 'exportBlocks'>;

/** SHA-256, in hex. */
export function shardDigest(
  parameters: Readable,
  { sparse }: Pick<ParameterSpec, 'sparse'>,
  shard: number,
  ledger: Uint8Array,
): string {
  const hash = createHash('sha256');
  sparse.forEach((_, table) => {
    const { ids, values, slots, steps } = parameters.exportRows(shard, table);
    const counts = steps === undefined ? [] : [steps];
    add(hash, `table ${table} ${ids.length}`, [ids, values, ...Object.values(slots), ...counts]);
  });
  for (const { parameter, block, values, slots, step } of parameters.exportBlocks(shard))
    add(hash, `block ${parameter} ${block} ${step}`, [values, ...Object.values(slots)]);
  add(hash, 'ledger', [ledger]);
  return hash.digest('hex');
}

function add(hash: Hash, what: string, parts: readonly ArrayBufferView[]): void {
  hash.update(`${what} ${parts.map(({ byteLength }) => byteLength).join(' ')}\n`);
  for (const part of parts) hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
}
