/** Loads all shards of a set of files into a memory of its own: to score with a checkpoint that no store tells of. */
import type { Parameters } from '../../tensor/parameters.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { type CheckpointSet, expectWhole } from '../set/checkpoint-set.ts';
import { expectIntact } from '../set/verify.ts';
import { loadShards } from './load.ts';

/** Checks the files first. Throws `CheckpointCorrupt`, `CheckpointMissing` for shards that are in none of them. */
export async function loadSet(set: CheckpointSet): Promise<Parameters> {
  expectWhole(set);
  await expectIntact(set);
  const { parameters: spec, seed, shards } = set.facts;
  const into = createParameters({ spec, seed, shards });
  for (const part of set.parts) await loadShards(part.reader, { into, shards: part.shards });
  return into;
}
