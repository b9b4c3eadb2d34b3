/**
 * A job whose shards are dealt to several pservers, each with a file of its own; and the same in one memory, to
 * compare.
 */

import type { Storage } from '../../src/base/seams.ts';
import type { CheckpointMeta } from '../../src/checkpoint/file/format.ts';
import { checkpointPath } from '../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import type { ExpectedJob } from '../../src/checkpoint/load/load.ts';
import { type Generation, generationOf } from '../../src/checkpoint/registry/entry.ts';
import type { FileRef } from '../../src/checkpoint/registry/file-ref.ts';
import { type CheckpointSet, openCheckpointSet } from '../../src/checkpoint/set/checkpoint-set.ts';
import { plannedPrimary } from '../../src/core/placement.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import { emptyParameters, fill, IDS, jobOf, ledgerOf, metaOf, uuidOf } from './fixture.ts';

export const FOLDER = '/data/checkpoints';

export interface ClusterOptions {
  readonly storage: Storage;
  readonly pservers: number;
  readonly job?: ExpectedJob;
  readonly folder?: string;
  readonly ids?: readonly bigint[];
  readonly salt?: number;
  /** Added to the numbers that the files' names are made of. */
  readonly names?: number;
  readonly meta?: Partial<CheckpointMeta>;
  readonly extentBytes?: number;
  /** Of every shard; by default each pserver has its own. */
  readonly ledger?: (shard: number) => Uint8Array;
}

export interface SavedCluster {
  readonly refs: readonly (FileRef & { readonly published: Generation })[];
  readonly generations: readonly Generation[];
  /** All shards. */
  readonly whole: Parameters;
}

export function wholeParameters(job: ExpectedJob, ids: readonly bigint[], salt: number): Parameters {
  const parameters = emptyParameters(job);
  for (let shard = 0; shard < job.shards; shard++) parameters.addShard(shard);
  fill(parameters, job, ids, salt);
  return parameters;
}

export const seqOf = (shard: number): number => 100 + shard;
export const epochOf = (shard: number): number => 1 + (shard % 3);

export async function saveCluster(options: ClusterOptions): Promise<SavedCluster> {
  const { storage, pservers, job = jobOf(), folder = FOLDER, ids = IDS, salt = 1, names = 0, extentBytes } = options;
  const whole = wholeParameters(job, ids, salt);
  const refs: (FileRef & { published: Generation })[] = [];
  for (let index = 0; index < pservers; index++) {
    const meta = metaOf(job, { uuid: uuidOf(1 + names + index), index, token: BigInt(5 + index), ...options.meta });
    const ledger = options.ledger ?? (() => ledgerOf(`ledger of pserver ${index}`));
    const file = await writeCheckpointFile({
      storage,
      folder,
      meta,
      parameters: whole,
      shards: plannedShards(index, pservers, job.shards),
      momentOf: (shard) => ({ shard, epoch: epochOf(shard), seq: seqOf(shard), ledger: ledger(shard) }),
      ...(extentBytes === undefined ? {} : { extentBytes }),
    });
    const published = generationOf(file, meta);
    refs.push({ path: checkpointPath({ folder, index }, meta.uuid), index, uuid: meta.uuid, published });
  }
  return { refs, generations: refs.map(({ published }) => published), whole };
}

export async function withSet<T>(
  storage: Storage,
  refs: readonly FileRef[],
  act: (set: CheckpointSet) => Promise<T>,
): Promise<T> {
  const set = await openCheckpointSet(storage, refs);
  try {
    return await act(set);
  } finally {
    await set.close();
  }
}

export const refsOf = (folder: string, generations: readonly Generation[]): FileRef[] =>
  generations.map((published, index) => ({
    path: checkpointPath({ folder, index }, published.uuid),
    index,
    uuid: published.uuid,
    published,
  }));

/** Of a job in which each shard is a unit. */
export const plannedShards = (index: number, pservers: number, shards: number): number[] =>
  Array.from({ length: shards }, (_, shard) => shard).filter((shard) => plannedPrimary(shard, pservers) === index);
