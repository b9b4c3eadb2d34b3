/**
 * Plans which pserver leads each unit, and which pservers have its backups (docs/copies.md). Like the plan of primaries
 * that it builds on (plan.ts), it is a pure function of the live pservers, the sizes of the units and their heads. The
 * backups follow the primary: all units of a pserver have the same peers (peer-table.ts). Where possible, the copies
 * are on different hosts, then in different zones.
 *
 * Evenness: if all hosts have the same number of pservers, and all zones the same number of hosts, every pserver that
 * stays backs up `replicas` - 1 others. Then the copies of the largest and the smallest pserver differ by at most the
 * factor that the plan of primaries tolerates, which is 1.1 if units are small. Separate hosts come before evenness.
 * Pservers that lead no unit, because the job has fewer units than pservers, are not covered.
 */
import { assert } from '../../base/assert.ts';
import { FailureDomains, type PserverSite } from './failure-domains.ts';
import { PeerTable } from './peer-table.ts';
import { type PlannedPserver, type PlannedUnit, planUnits, type UnitPlan, weightOf } from './plan.ts';

export interface CopiedUnit extends PlannedUnit {
  /** Indexes of the live pservers in its in-sync set, including its primary. */
  readonly inSync: readonly number[];
}

/** A live pserver. */
export interface CopyPserver extends PlannedPserver, PserverSite {}

export interface CopiesInput {
  readonly units: readonly CopiedUnit[];
  readonly pservers: readonly CopyPserver[];
  /** Number of wanted copies of each unit, including the primary's. */
  readonly replicas: number;
}

export interface PlannedCopies {
  /** Index of the primary. */
  readonly primary: number;
  /** Indexes of the backups, ascending. */
  readonly backups: readonly number[];
}

/** By unit. A unit is missing if no pserver can take it; it then stays where it is. */
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
