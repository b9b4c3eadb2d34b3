/** Loads all shards of a set of files into separate memory, to score with a checkpoint without its store. */
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { storedTables } from '../../tensor/stored-tables.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { createRowBuffers } from '../file/row-pieces.ts';
import { type CheckpointSet, expectWhole } from '../set/checkpoint-set.ts';
import { piecesOf } from '../set/shard-rows.ts';
import type { ShardSource } from '../set/shard-source.ts';
import { expectIntact } from '../set/verify.ts';
import { asDamage, loadBlocks, loadShards } from './load-shards.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

/** Checks the files first. Throws `CheckpointCorrupt`, `CheckpointMissing` for shards that are in none of them. */
export async function loadSet(set: CheckpointSet, signal?: AbortSignal): Promise<ParameterMemory> {
  expectWhole(set);
  await expectIntact(set, signal && { signal });
  const { parameters: spec, seed, shards } = set.facts;
  const into = createParameters({ spec, seed, shards });
  const chains = set.shards.filter(({ links }) => links.length > 1);
  const whole = set.shards.filter(({ links }) => links.length === 1);
  for (const [reader, sources] of Map.groupBy(whole, (source) => source.reader)) {
    signal?.throwIfAborted();
    await loadShards(reader, { into, shards: sources.map(({ shard }) => shard) });
  }
  for (const source of chains) {
    signal?.throwIfAborted();
    await loadChain(source, into);
  }
  return into;
}

async function loadChain(source: ShardSource, into: ParameterMemory): Promise<void> {
  const { reader, shard, blocksIn } = source;
  into.addShard(shard);
  for (const [table, { width, layout }] of storedTables(reader.facts.parameters.sparse).entries()) {
    const buffers = createRowBuffers(width, layout, PIECE_BYTES);
    for await (const rows of piecesOf(source, table, buffers))
      asDamage(reader, shard, () => into.importRows(shard, table, rows));
  }
  await loadBlocks(blocksIn, [shard], into);
}
