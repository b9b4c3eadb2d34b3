/**
 * A digest of all that is in one shard: rows, candidates and blocks with their state, its ledger, and when it looks for
 * what is unseen. Copies of a shard that had the same updates have the same, bit by bit.
 */
import { createHash, type Hash } from 'node:crypto';
import { lookWords } from '../../core/shard/look-words.ts';
import type { LookState } from '../../core/shard/looks.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import { storedTables } from '../../tensor/stored-tables.ts';

type Readable = Pick<Parameters, 'exportRows' | 'exportBlocks'>;

/** SHA-256, in hex. */
export function shardDigest(
  parameters: Readable,
  { sparse }: Pick<TrainedSpec, 'sparse'>,
  shard: number,
  { ledger, looks }: { readonly ledger: Uint8Array; readonly looks?: LookState | undefined },
): string {
  const hash = createHash('sha256');
  storedTables(sparse).forEach((_, table) => {
    const { ids, values, slots, steps, seen } = parameters.exportRows(shard, table);
    const words = [steps, seen].filter((one) => one !== undefined);
    add(hash, `table ${table} ${ids.length}`, [ids, values, ...Object.values(slots), ...words]);
  });
  if (looks !== undefined) add(hash, 'looks', Object.values(lookWords(looks)));
  for (const { parameter, block, values, slots, step } of parameters.exportBlocks(shard))
    add(hash, `block ${parameter} ${block} ${step}`, [values, ...Object.values(slots)]);
  add(hash, 'ledger', [ledger]);
  return hash.digest('hex');
}

function add(hash: Hash, what: string, parts: readonly ArrayBufferView[]): void {
  hash.update(`${what} ${parts.map(({ byteLength }) => byteLength).join(' ')}\n`);
  for (const part of parts) hash.update(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
}
