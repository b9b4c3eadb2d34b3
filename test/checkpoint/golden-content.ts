/** What the golden files hold: made from nothing but this file. */
import type { LookState } from '../../src/core/shard/looks.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { emptyParameters, jobOf, ledgerOf, metaOf, rowsOf, uuidOf } from './fixture.ts';

const folderOf = (version: number): string => new URL(`../golden/checkpoint/v${version}/`, import.meta.url).pathname;
/** A file of format version 2, which is refused. */
export const REFUSED_FOLDER = folderOf(2);
/** A file of format version 3, which is read. */
export const FORMER_FOLDER = folderOf(3);
export const GOLDEN_FOLDER = folderOf(4);

/** The job of the file of version 3. */
export const FORMER_JOB = jobOf({
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

const META = { uuid: uuidOf(0x901de4), token: 41n, recovery: 3n, clean: true };
export const FORMER_META = metaOf(FORMER_JOB, META);

/** The same with a `seen` and candidates in its first table. */
export const GOLDEN_JOB = {
  ...FORMER_JOB,
  parameters: {
    ...FORMER_JOB.parameters,
    sparse: FORMER_JOB.parameters.sparse.map((table, at) =>
      at > 0 ? table : { ...table, hasSeen: true, admission: { type: 'count' as const, min: 3 }, shardBytes: 4096 },
    ),
  },
};
export const GOLDEN_META = metaOf(GOLDEN_JOB, META);

export const goldenMoment = (shard: number) => ({
  shard,
  epoch: 2,
  seq: 100 + shard,
  ledger: ledgerOf(shard < 2 ? '{"watermark":1}' : '{"watermark":2}'),
  looks: goldenLooks(shard),
});

export const goldenLooks = (shard: number): LookState => ({
  base: shard === 3 ? 50 : 0,
  moveAt: shard === 2 ? 120 : undefined,
  begins:
    shard === 0
      ? []
      : [
          [1, 20 + shard],
          [2, 60],
        ],
  lookAt: [shard === 1 ? 110 : undefined, undefined],
});

const IDS = [0n, 1n, 2n, 300n, 4_000_000_000n, 0x1_0000_0001n, 0x7fff_ffff_ffff_ffffn, 0xffff_ffff_ffff_ffffn];

/** What is in the file of version 3. */
export function formerParameters(): Parameters {
  const parameters = emptyParameters(FORMER_JOB);
  fillShards(parameters, (shard, ids) => {
    parameters.importRows(shard, 0, rowsOf(FORMER_JOB, 0, ids, 0.5 * (shard + 1)));
  });
  return parameters;
}

export function goldenParameters(): Parameters {
  const parameters = emptyParameters(GOLDEN_JOB);
  fillShards(parameters, (shard, ids) => {
    const rows = rowsOf(GOLDEN_JOB, 0, ids, 0.5 * (shard + 1));
    parameters.importRows(shard, 0, { ...rows, seen: Uint32Array.from(ids, (_, at) => 10 * shard + at) });
  });
  const candidates = Map.groupBy([5n, 6n, 7n, 2n ** 63n], (id) => shardOfRow('emb', id, GOLDEN_JOB.shards));
  for (const [shard, ids] of candidates) {
    const counts = { steps: Uint32Array.from(ids, () => 1 + (shard % 2)), seen: Uint32Array.from(ids, () => 9) };
    const rows = { ids: BigUint64Array.from(ids), values: new Float32Array(0), slots: {}, ...counts };
    parameters.importRows(shard, CANDIDATES, rows);
  }
  return parameters;
}

/** Place of the candidates among the stored tables. */
const CANDIDATES = GOLDEN_JOB.parameters.sparse.length;

function fillShards(parameters: Parameters, putRows: (shard: number, ids: readonly bigint[]) => void): void {
  for (let shard = 0; shard < GOLDEN_JOB.shards; shard++) parameters.addShard(shard);
  const byShard = Map.groupBy(IDS, (id) => shardOfRow('emb', id, GOLDEN_JOB.shards));
  for (const [shard, ids] of byShard) putRows(shard, ids);
  for (const shard of parameters.shards()) {
    for (const { block, parameter } of parameters.exportBlocks(shard)) {
      const floats = (scale: number): Float32Array => Float32Array.from({ length: 15 }, (_, at) => (at - 7) / scale);
      const slots = parameter === 0 ? { m: floats(3), v: floats(7) } : { velocity: floats(5) };
      const step = parameter === 0 ? 12 : undefined;
      parameters.importBlock(shard, { parameter, block, values: floats(11), slots, step });
    }
  }
}
