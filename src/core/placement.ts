/**
 * Which pserver should hold which shard. This is only a plan: the actual owners are in the head keys of the store,
 * where trainers read them (DESIGN §3).
 */
import { assert } from '../base/assert.ts';

/** Shard → pserver index, such that the pservers differ by at most one shard. */
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
 * Identifies a set of shards on the wire, by the highest head revision and the count. Head revisions only grow: a shard
 * that joins raises the revision, and one that leaves lowers the count unless another joins.
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
