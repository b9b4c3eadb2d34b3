/** The golden chain of format version 4: a base, a delta on it, and a delta on that. Made from this file alone. */
import type { Storage } from '../../src/base/seams.ts';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { type Generation, generationOf } from '../../src/checkpoint/registry/entry.ts';
import type { Parameters, ShardRows } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { emptyParameters, jobOf, ledgerOf, metaOf, uuidOf } from './fixture.ts';

export const CHAIN_FOLDER = new URL('../golden/checkpoint/v4-chain/', import.meta.url).pathname;

const optimizer = { type: 'adagrad', learningRate: 0.5, initialAccumulator: 0.1, epsilon: 1e-7, l2: 0 } as const;
const zeros = { type: 'zeros' } as const;
export const CHAIN_JOB = jobOf({
  ...{ shards: 2, optimizer },
  parameters: {
    dense: [{ name: 'w', shape: [3], initializer: zeros }],
    sparse: [{ name: 'emb', width: 2, initializer: zeros }],
  },
  tables: { emb: { admission: { type: 'count', min: 3 }, eviction: { unseenUpdates: 20 } } },
});
const [EMB, CANDIDATES] = [0, 1];
const NAMES = [0xc4a1, 0xc4a2, 0xc4a3].map(uuidOf);
const HIGH = 2n ** 64n - 5n;

/** What becomes of ids between two files. Each row and candidate has the `seen` that is given. */
interface Step {
  readonly seqs: readonly [number, number];
  /** Its `seen` count from there, in both shards. */
  readonly base: number;
  readonly lowerSeenBy: number;
  readonly gone: readonly bigint[];
  readonly rows: readonly bigint[];
  readonly candidates: readonly bigint[];
  readonly seen: number;
  /** Added to the values of what is put in. */
  readonly salt: number;
}

/** Some of the ids 1 to 12 change, go, come back or become rows. No update comes to shard 1 before the first delta. */
const STEPS: readonly Step[] = [
  {
    ...{ seqs: [10, 10], base: 0, lowerSeenBy: 0, seen: 7, salt: 1 },
    ...{ gone: [], rows: [1n, 2n, 3n, 4n, 5n, 6n, HIGH], candidates: [9n, 10n, 11n, 12n] },
  },
  {
    ...{ seqs: [14, 10], base: 0, lowerSeenBy: 0, seen: 13, salt: 2 },
    ...{ gone: [2n, 4n], rows: [1n, 9n, 10n], candidates: [11n, 7n] },
  },
  {
    ...{ seqs: [25, 21], base: 8, lowerSeenBy: 8, seen: 12, salt: 3 },
    ...{ gone: [3n, 11n, 12n], rows: [2n, 9n, HIGH], candidates: [8n] },
  },
];

/** Writes the files to a folder. Returns what was published, newest first, and the shards as the last file has them. */
export async function writeChain(storage: Storage, folder: string) {
  const parameters = emptyParameters(CHAIN_JOB);
  for (const shard of [0, 1]) parameters.addShard(shard);
  const generations: Generation[] = [];
  for (const [number, step] of STEPS.entries()) {
    const before = STEPS[number - 1];
    const removed = change(parameters, step, before);
    const parentOf = (shard: number) => before && { uuid: NAMES[number - 1]!, seq: before.seqs[shard]! };
    const kind = number === 0 ? {} : ({ kind: 'delta', parents: [NAMES[number - 1]!] } as const);
    const meta = metaOf(CHAIN_JOB, { uuid: NAMES[number]!, token: 41n, createdAt: 1_700_000_000 + number, ...kind });
    const file = await writeCheckpointFile({
      ...{ storage, folder, meta, parameters, shards: [0, 1] },
      momentOf: (shard) => {
        const looks = { base: step.base, moveAt: undefined, begins: [], lookAt: [shard === 0 ? 30 : undefined] };
        const parent = parentOf(shard);
        const changes = parent === undefined ? {} : { parent, removed: [removed[shard]!] };
        return { shard, epoch: 2, seq: step.seqs[shard]!, ledger: ledgerOf(`{"file":${number}}`), looks, ...changes };
      },
    });
    generations.unshift(generationOf(file, meta));
  }
  return { generations, parameters };
}

/** Returns the removed ids of each shard. */
function change(parameters: Parameters, step: Step, before: Step | undefined): BigUint64Array[] {
  return [0, 1].map((shard) => {
    const isOwn = (id: bigint): boolean => shardOfRow('emb', id, 2) === shard;
    const isChanged = before === undefined || step.seqs[shard] !== before.seqs[shard];
    if (!isChanged) return new BigUint64Array(0);
    if (step.lowerSeenBy > 0) parameters.lowerSeen(shard, step.lowerSeenBy);
    const [rows, candidates, gone] = [step.rows, step.candidates, step.gone].map((ids) =>
      BigUint64Array.from(ids.filter(isOwn)).sort(),
    ) as [BigUint64Array, BigUint64Array, BigUint64Array];
    for (const ids of [rows, candidates, gone]) parameters.removeIds(shard, EMB, ids);
    parameters.importRows(shard, EMB, rowsOf(rows, step));
    const counts = { steps: Uint32Array.from(candidates, (_, at) => 1 + (at % 2)), seen: seenOf(candidates, step) };
    parameters.importRows(shard, CANDIDATES, { ids: candidates, values: new Float32Array(0), slots: {}, ...counts });
    for (const { block, parameter } of parameters.exportBlocks(shard)) {
      const floats = Float32Array.of(step.salt, step.salt / 2, -step.salt);
      parameters.importBlock(shard, {
        parameter,
        block,
        values: floats,
        slots: { accumulator: floats },
        step: undefined,
      });
    }
    return gone;
  });
}

const seenOf = (ids: BigUint64Array, { seen }: Step): Uint32Array => Uint32Array.from(ids, () => seen);

function rowsOf(ids: BigUint64Array, step: Step): ShardRows {
  const floats = (scale: number): Float32Array =>
    Float32Array.from(
      { length: 2 * ids.length },
      (_, at) => Number(ids[at >> 1]! % 1000n) * scale + (at % 2) + step.salt,
    );
  return {
    ...{ ids, values: floats(0.5), slots: { accumulator: floats(0.25) } },
    ...{ steps: undefined, seen: seenOf(ids, step) },
  };
}
