/**
 * Which pserver leads which unit, and which ones have the other copies (docs/copies.md). A pure function of the live
 * pservers, the sizes of the units and their heads, like the plan of primaries (plan.ts), which decides who leads. The
 * other copies follow their primary: all units of a pserver have the same peers (peer-table.ts), as many as are wanted
 * or as there are pservers, on different hosts, then in different zones, where that is possible.
 *
 * Evenness: where each host has as many pservers as every other one, and each zone as many hosts, every pserver that
 * stays backs up `replicas` - 1 others. So of all copies the largest pserver has at most so many times as much as the
 * smallest as it may lead: 1.1 where units are small. Where hosts force more copies on a pserver, it has them: being
 * apart comes first. A pserver that leads nothing, since there are fewer units than pservers, is not counted here.
 */
import { assert } from '../../base/assert.ts';
import { FailureDomains, type PserverSite } from './failure-domains.ts';
import { PeerTable } from './peer-table.ts';
import { type PlannedPserver, type PlannedUnit, planUnits, type UnitPlan, weightOf } from './plan.ts';

export interface CopiedUnit extends PlannedUnit {
  /** Indexes of the live pservers that have all of it, its leader among them. */
  readonly inSync: readonly number[];
}

/** A live one. */
export interface CopyPserver extends PlannedPserver, PserverSite {}

export interface CopiesInput {
  readonly units: readonly CopiedUnit[];
  readonly pservers: readonly CopyPserver[];
  /** Copies of each unit that are wanted, the one of its primary included. */
  readonly replicas: number;
}

export interface PlannedCopies {
  /** Index. */
  readonly primary: number;
  /** Indexes of all other copies, ascending. */
  readonly backups: readonly number[];
}

/** A unit is missing when no pserver can take it: then it stays where it is. */
export type CopyPlan = ReadonlyMap<number, PlannedCopies>;

export function planCopies({ units, pservers, replicas }: CopiesInput): CopyPlan {
  assert(replicas >= 1, 'a unit has a copy');
  const primaries = planUnits({ units: replicas === 1 ? units.map(withoutCopies) : units, pservers });
  const domains = new FailureDomains(pservers.filter(({ leaving }) => !leaving));
  const copies = Math.min(replicas, domains.indexes.length);
  const kept = keptWeights(units, primaries);
  const peers = new PeerTable(new Set(primaries.values()), { domains, copies, kept });
  return new Map([...primaries].map(([unit, primary]) => [unit, { primary, backups: peers.of(primary) }]));
}

const withoutCopies = ({ unit, bytes, leader, last }: CopiedUnit): PlannedUnit => ({ unit, bytes, leader, last });

function keptWeights(units: readonly CopiedUnit[], primaries: UnitPlan): (owner: number, peer: number) => number {
  const weights = new Map<number, Map<number, number>>();
  for (const { unit, bytes, inSync } of units) {
    const owner = primaries.get(unit);
    if (owner === undefined) continue;
    const ofOwner = weights.get(owner) ?? new Map<number, number>();
    weights.set(owner, ofOwner);
    for (const index of new Set(inSync)) ofOwner.set(index, (ofOwner.get(index) ?? 0) + weightOf(bytes));
  }
  return (owner, peer) => weights.get(owner)?.get(peer) ?? 0;
}
