/** When the shards of a job look for what is unseen (core/shard/looks.ts): from the tables of the job file. */
import { type Eviction, LOOK_SPREAD, type LookRules, SEEN_RANGE } from '../../core/shard/looks.ts';
import type { Job } from '../../job/schema.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';

/** Undefined: no table has a `seen`. */
export function lookRulesOf({ tables, cluster }: Job, { sparse }: TrainedSpec): LookRules | undefined {
  if (!sparse.some(({ hasSeen }) => hasSeen)) return undefined;
  return {
    ...{ shards: cluster.shards, seenRange: SEEN_RANGE, spread: LOOK_SPREAD },
    evictions: sparse.map(({ name }) => evictionOf(Object.hasOwn(tables, name) ? tables[name]!.eviction : undefined)),
  };
}

function evictionOf(eviction: Job['tables'][string]['eviction']): Eviction | undefined {
  if (eviction?.unseenPasses !== undefined) return { unseenPasses: eviction.unseenPasses };
  if (eviction?.unseenUpdates !== undefined) return { unseenUpdates: eviction.unseenUpdates };
  return undefined;
}
