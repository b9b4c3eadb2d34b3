/** Loads all shards of a set of files into separate memory, to score with a checkpoint without its store. */
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { type CheckpointSet, expectWhole } from '../set/checkpoint-set.ts';
import { expectIntact } from '../set/verify.ts';
import { loadShards } from './load-shards.ts';

/** Checks the files first. Throws `CheckpointCorrupt`, `CheckpointMissing` for shards that are in none of them. */
export async function loadSet(set: CheckpointSet, signal?: AbortSignal): Promise<ParameterMemory> {
  expectWhole(set);
  await expectIntact(set, signal && { signal });
  const { parameters: spec, seed, shards } = set.facts;
  const into = createParameters({ spec, seed, shards });
  for (const part of set.parts) {
    signal?.throwIfAborted();
    await loadShards(part.reader, { into, shards: part.shards });
  }
  return into;
}
