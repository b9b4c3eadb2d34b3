/**
 * Which pserver should hold which shard. A plan only: what is so stands in the store's head keys, and trainers read it
 * there (DESIGN §3).
 */
import { assert } from '../base/assert.ts';

/** Shard → index, spread so that loads differ by at most one shard. */
export function plannedPrimary(shard: number, pservers: number): number {
  assert(pservers > 0, 'there is a pserver');
  return shard % pservers;
}

export function plannedShards(index: number, pservers: number, shards: number): number[] {
  const mine: number[] = [];
  for (let shard = 0; shard < shards; shard++) if (plannedPrimary(shard, pservers) === index) mine.push(shard);
  return mine;
}

/**
 * What a set of shards is known by on the wire: the highest head revision and the count. Head revisions only grow, so
 * a shard that joins raises the first, and one that leaves without another joining lowers the second.
 */
export interface PlacementStamp {
  readonly revision: string;
  readonly shards: number;
}

export function stampOf(headRevisions: Iterable<bigint>): PlacementStamp {
  let revision = 0n;
  let shards = 0;
  for (const head of headRevisions) {
    if (head > revision) revision = head;
    shards += 1;
  }
  return { revision: revision.toString(), shards };
}

export const sameStamp = (a: PlacementStamp, b: PlacementStamp): boolean =>
  a.revision === b.revision && a.shards === b.shards;
