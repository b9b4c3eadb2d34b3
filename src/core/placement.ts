/**
 * Which pserver should hold which unit of shards. This is only a plan: the actual owners are in the head keys of the
 * store, where trainers read them (docs/design.md §3).
 */
import { assert } from '../base/assert.ts';
import { mix64 } from '../base/mix64.ts';
import { type Grouping, sizeOfUnit } from './units/units.ts';

/** Unit → pserver index, such that the pservers differ by at most one unit. */
export function plannedPrimary(unit: number, pservers: number): number {
  assert(pservers > 0, 'there is a pserver');
  return unit % pservers;
}

/** A unit that a pserver leads, and the epoch with which it began to. */
export interface LedUnit {
  readonly unit: number;
  readonly led: number;
}

/**
 * Identifies on the wire the units that a pserver leads: a digest of them, and how many shards they have. A change of a
 * head that leaves the primary as it is changes no stamp. A unit that comes back to a pserver has another `led`.
 */
export interface PlacementStamp {
  /** 64 bits as decimal text. */
  readonly revision: string;
  readonly shards: number;
}

/** The sum of mix64(mix64(unit) + led) modulo 2^64: the same in whatever order. */
export function stampOf(led: Iterable<LedUnit>, grouping: Grouping): PlacementStamp {
  let revision = 0n;
  let shards = 0;
  for (const { unit, led: since } of led) {
    revision += mix64(mix64(BigInt(unit)) + BigInt(since));
    shards += sizeOfUnit(unit, grouping);
  }
  return { revision: BigInt.asUintN(64, revision).toString(), shards };
}

export const sameStamp = (a: PlacementStamp, b: PlacementStamp): boolean =>
  a.revision === b.revision && a.shards === b.shards;
