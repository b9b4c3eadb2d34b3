/** What the golden file of format version 3 holds: made from nothing but this file. */
import type { Parameters } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { emptyParameters, jobOf, ledgerOf, metaOf, rowsOf, uuidOf } from './fixture.ts';

export const GOLDEN_FOLDER = new URL('../golden/checkpoint/v3/', import.meta.url).pathname;
/** A file of format version 2, which is refused. */
export const FORMER_FOLDER = new URL('../golden/checkpoint/v2/', import.meta.url).pathname;

export const GOLDEN_JOB = jobOf({
  parameters: {
    dense: [
      { name: 'w', shape: [3, 5], initializer: { type: 'xavier' } },
      { name: 'bias', shape: [15], initializer: { type: 'zeros' } },
    ],
    sparse: [
      { name: 'emb', width: 3, initializer: { type: 'uniform', low: -1, high: 1 } },
      { name: 'unused', width: 1, initializer: { type: 'zeros' } },
    ],
  },
  tables: { emb: { optimizer: { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.2, lambda2: 0.3 } } },
  blocks: { bias: { optimizer: { type: 'momentum', learningRate: 0.1, momentum: 0.9, l2: 0.001 } } },
  shards: 4,
});

export const GOLDEN_META = metaOf(GOLDEN_JOB, { uuid: uuidOf(0x901de4), token: 41n, recovery: 3n, clean: true });

export const goldenMoment = (shard: number) => ({
  shard,
  epoch: 2,
  seq: 100 + shard,
  ledger: ledgerOf(shard < 2 ? '{"watermark":1}' : '{"watermark":2}'),
});

const IDS = [0n, 1n, 2n, 300n, 4_000_000_000n, 0x1_0000_0001n, 0x7fff_ffff_ffff_ffffn, 0xffff_ffff_ffff_ffffn];

export function goldenParameters(): Parameters {
  const parameters = emptyParameters(GOLDEN_JOB);
  for (let shard = 0; shard < GOLDEN_JOB.shards; shard++) parameters.addShard(shard);
  const byShard = Map.groupBy(IDS, (id) => shardOfRow('emb', id, GOLDEN_JOB.shards));
  for (const [shard, ids] of byShard) parameters.importRows(shard, 0, rowsOf(GOLDEN_JOB, 0, ids, 0.5 * (shard + 1)));
  for (const shard of parameters.shards()) {
    for (const { block, parameter } of parameters.exportBlocks(shard)) {
      const floats = (scale: number): Float32Array => Float32Array.from({ length: 15 }, (_, at) => (at - 7) / scale);
      const slots = parameter === 0 ? { m: floats(3), v: floats(7) } : { velocity: floats(5) };
      const step = parameter === 0 ? 12 : undefined;
      parameters.importBlock(shard, { parameter, block, values: floats(11), slots, step });
    }
  }
  return parameters;
}
