/** A base and three deltas of one pserver, and ways to lose one of them. */
import type { CheckpointMeta } from '../../src/checkpoint/file/format.ts';
import { checkpointPath } from '../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { type Generation, generationOf } from '../../src/checkpoint/registry/entry.ts';
import type { ShardRows } from '../../src/tensor/parameters.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import type { StoredFiles } from '../simulated-objects.ts';
import { SEED, trainedTables } from '../tensor/admission/kernel-job.ts';
import { rowsPart } from '../tensor/fixture.ts';
import { createFiles, ledgerOf, metaOf, PLACE, uuidOf } from './fixture.ts';

export const SHARDS = 3;
export const ALL = [0, 1, 2];
const spec = { dense: [], sparse: trainedTables([{ name: 'plain', hasSeen: true }]) };
export const EXPECTED = { jobId: 'a job', parameters: spec, seed: SEED, shards: SHARDS };
const IDS = Array.from({ length: 30 }, (_, id) => BigInt(id));
/** Shard 2 is whole in the second delta: its chain is shorter. */
const WHOLE_AGAIN = { shard: 2, file: 3 };
export const FILES = [1, 2, 3, 4];
export const pathOf = (number: number): string => checkpointPath(PLACE, uuidOf(number));

export interface Chain {
  readonly disk: StoredFiles;
  /** Newest first. */
  readonly generations: readonly Generation[];
  /** By file: the rows of each shard. */
  readonly states: ReadonlyMap<number, ShardRows[]>;
}

export async function saveChain(jobId = EXPECTED.jobId): Promise<Chain> {
  const disk = createFiles();
  const generations: Generation[] = [];
  const states = new Map<number, ShardRows[]>();
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (const shard of ALL) parameters.addShard(shard);
  for (const number of FILES) {
    const ids = number === 1 ? IDS : IDS.filter((id) => id % 5n === BigInt(number));
    const seen = new Uint32Array(SHARDS).fill(10 * number);
    parameters.push([rowsPart(0, ids, Array<number>(ids.length).fill(1))], [], Uint8Array.of(1, 1, 1), { seen });
    const isWhole = (shard: number): boolean =>
      number === 1 || (shard === WHOLE_AGAIN.shard && number === WHOLE_AGAIN.file);
    const parent = { uuid: uuidOf(number - 1), seq: 10 * (number - 1) };
    const kind = number === 1 ? {} : ({ kind: 'delta', parents: [parent.uuid] } as const);
    const meta: CheckpointMeta = metaOf(EXPECTED, { jobId, uuid: uuidOf(number), createdAt: number, ...kind });
    const file = await writeCheckpointFile({
      ...{ storage: disk.storage, folder: PLACE.folder, parameters, shards: ALL, meta },
      momentOf: (shard) => {
        const looks = { base: 0, moveAt: undefined, begins: [], lookAt: [undefined] };
        const changes = isWhole(shard) ? {} : { parent, removed: [new BigUint64Array(0)] };
        return { shard, epoch: 1, seq: 10 * number, ledger: ledgerOf(`file ${number}`), looks, ...changes };
      },
    });
    generations.unshift(generationOf(file, meta));
    states.set(
      number,
      ALL.map((shard) => parameters.exportRows(shard, 0)),
    );
  }
  return { disk, generations, states };
}

type Damage = (disk: StoredFiles, number: number) => unknown;

export const DAMAGES: Readonly<Record<string, { readonly code: string; readonly damage: Damage }>> = {
  missing: { code: 'CheckpointMissing', damage: (disk, number) => disk.remove(pathOf(number)) },
  torn: {
    code: 'CheckpointCorrupt',
    damage: (disk, number) => disk.place(pathOf(number), disk.content(pathOf(number))!.slice(0, -9)),
  },
  damaged: {
    code: 'CheckpointCorrupt',
    damage: (disk, number) => disk.flip(pathOf(number), disk.content(pathOf(number))!.length - 9),
  },
  'another one': {
    code: 'CheckpointCorrupt',
    damage: (disk, number) => disk.place(pathOf(number), disk.content(pathOf((number % 4) + 1))!),
  },
};
