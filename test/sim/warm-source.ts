/** The checkpoint of another job, of two pservers, which a simulated job begins from. */
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { type OptimizerSpec, optimizerLayout } from '../../src/tensor/optimizer.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import { plannedShards } from '../checkpoint/cluster-fixture.ts';
import { emptyParameters, jobOf, metaOf, momentOf, uuidOf } from '../checkpoint/fixture.ts';
import { createSimulatedDisk } from '../simulated-disk.ts';
import { createDice } from './dice.ts';
import type { Mode } from './mode.ts';
import { createRoundWorkload } from './round-workload.ts';
import { SMALL } from './shape.ts';
import { createWorkload, PARAMETERS, SHARED_ID } from './workload.ts';

export const WARM_FROM = '/source';
const PSERVERS = 2;
/** Whole numbers: sums are exact in any order. */
const VALUE = 1_000;

/** By path. */
export async function warmSource(mode: Mode): Promise<ReadonlyMap<string, Uint8Array>> {
  const workload = mode === 'sync' ? createRoundWorkload : createWorkload;
  const { optimizer } = workload(createDice(0, 'source'), SMALL).job;
  const job = jobOf({ parameters: PARAMETERS, optimizer, shards: 5 });
  const parameters = emptyParameters(job);
  for (let shard = 0; shard < job.shards; shard++) {
    parameters.addShard(shard);
    for (const block of parameters.exportBlocks(shard)) {
      parameters.importBlock(shard, { ...block, values: block.values.map(() => VALUE) });
    }
    parameters.importRows(shard, 0, rowsOf(optimizer, ownIds(shard, job.shards)));
  }
  const disk = createSimulatedDisk();
  const files = new Map<string, Uint8Array>();
  for (let index = 0; index < PSERVERS; index++) {
    const uuid = uuidOf(1 + index);
    await writeCheckpointFile({
      ...{ storage: disk.storage, folder: WARM_FROM, parameters, momentOf: momentOf() },
      meta: metaOf(job, { index, uuid, jobName: 'source' }),
      shards: plannedShards(index, PSERVERS, job.shards),
    });
    const path = `${WARM_FROM}/${index}/${uuid}`;
    files.set(path, disk.content(path)!);
  }
  return files;
}

/** Of the rows that the job changes, and of one that it does not. */
const ownIds = (shard: number, shards: number): bigint[] =>
  [1n, 2n, 3n, 4n, 5n, BigInt(SHARED_ID), 7_777_777n].filter((id) => shardOfRow('rows', id, shards) === shard);

function rowsOf(optimizer: OptimizerSpec, ids: readonly bigint[]) {
  const values = new Float32Array(ids.length).fill(VALUE);
  const { slots, steps } = optimizerLayout(optimizer);
  return {
    ids: BigUint64Array.from(ids),
    values,
    slots: Object.fromEntries(slots.map((slot) => [slot, new Float32Array(ids.length).fill(1)])),
    steps: steps ? new Uint32Array(ids.length) : undefined,
  };
}
