/**
 * The gates of all units of a pserver (docs/modes.md). Units in the same state are one group with one gate, so
 * usually there is one group. A unit that comes from another pserver brings its version and no lanes, and is a group of
 * its own until its round is complete.
 *
 * A lane is judged by group: taken for those that lack it. It is refused whole when a unit has yet to reach its round.
 * So units stay at neighboring versions, and a group waits with all its state until the others are where it is. Groups
 * at the same version are merged when no lane is kept in either.
 */
import { assert } from '../../base/assert.ts';
import { createRoundGate, type LanePosition, type RoundGate, type VersionWanted } from './gate.ts';

/** `Kept` is what belongs to the group beside its gate: the lanes and values that the gate only counts. */
export interface GateGroup<Kept> {
  /** Ascending, at least one. */
  readonly units: readonly number[];
  readonly gate: RoundGate;
  readonly kept: Kept;
}

export type LaneJudgement<Kept> =
  /** `groups` lack the lane; the other ones have it, or are past its round. */
  | { readonly verdict: 'take'; readonly groups: readonly GateGroup<Kept>[] }
  | { readonly verdict: 'duplicate' }
  | { readonly verdict: 'ahead' }
  | { readonly verdict: 'otherTimeline' };

export type PullJudgement<Kept> =
  /** `previous`: groups that read what was kept of it; the other ones are at that version. */
  | { readonly verdict: 'read'; readonly previous: readonly GateGroup<Kept>[] }
  | { readonly verdict: 'wait' }
  | { readonly verdict: 'gone' }
  | { readonly verdict: 'otherTimeline' };

/** Where a unit is that joins. */
export interface UnitPosition {
  readonly version: number;
  /** The version before is readable, too. */
  readonly keepsPrevious: boolean;
}

export interface RoundGates<Kept> {
  readonly timeline: number;
  /** Groups sorted by their lowest units. */
  groups(): readonly GateGroup<Kept>[];
  groupOf(unit: number): GateGroup<Kept>;
  /** The lowest of any unit: the current round. 0 without units. */
  version(): number;
  highest(): number;
  /** The lowest version that every unit can give. */
  oldest(): number;
  /** Lanes that a unit at the lowest version still wants, ascending. */
  missing(): number[];
  judgeLane(position: LanePosition): LaneJudgement<Kept>;
  judgePull(wanted: VersionWanted): PullJudgement<Kept>;
  /** A unit joins that none of the groups has. */
  add(unit: number, at: UnitPosition, kept: Kept): void;
  /** Takes the unit out of its group. Returns what is left of that; undefined when it was its only unit. */
  remove(unit: number): GateGroup<Kept> | undefined;
  /**
   * These units of the group have applied its round, of which it has all lanes: they are one version further. Where
   * they are not the whole group, `passed` is what belongs to them from now on. Gives their group.
   */
  advance(group: GateGroup<Kept>, units: readonly number[], passed: () => Kept): GateGroup<Kept>;
  /** To be called when rounds were applied. `kept` of merged groups is what `mergeKept` makes of theirs. */
  merge(): void;
}

export interface GatesOptions<Kept> {
  readonly timeline: number;
  readonly lanes: number;
  /** Merges what two groups keep that are at the same version and keep no lane; the first has the lowest unit. */
  readonly mergeKept: (first: Kept, second: Kept) => Kept;
}

/** Starts without units. */
export function createRoundGates<Kept>({ timeline, lanes, mergeKept }: GatesOptions<Kept>): RoundGates<Kept> {
  let groups: readonly GateGroup<Kept>[] = [];
  const versions = (): number[] => groups.map(({ gate }) => gate.version());
  function version(): number {
    let lowest = Number.POSITIVE_INFINITY;
    // Asked for with every lane.
    for (const { gate } of groups) lowest = Math.min(lowest, gate.version());
    return groups.length === 0 ? 0 : lowest;
  }
  function groupOf(unit: number): GateGroup<Kept> {
    const group = groups.find(({ units }) => units.includes(unit));
    assert(group !== undefined, `unit ${unit} is one of these`);
    return group;
  }

  function merge(): void {
    if (groups.length < 2) return;
    const merged: GateGroup<Kept>[] = [];
    for (const group of groups) {
      const at = merged.findIndex((other) => isEqual(other.gate, group.gate, lanes));
      if (at < 0) merged.push(group);
      else merged[at] = united(merged[at]!, group, mergeKept);
    }
    groups = merged;
  }

  return {
    timeline,
    groups: () => groups,
    groupOf,
    version,
    highest: () => Math.max(0, ...versions()),
    oldest: () => Math.max(0, ...groups.map(({ gate }) => gate.oldest())),
    missing() {
      const lowest = groups.filter(({ gate }) => gate.version() === version());
      return [...new Set(lowest.flatMap(({ gate }) => gate.missing()))].sort((a, b) => a - b);
    },
    judgeLane(position) {
      if (position.timeline !== timeline) return { verdict: 'otherTimeline' };
      if (position.round > version()) return { verdict: 'ahead' };
      const taking = groups.filter(({ gate }) => gate.judgeLane(position) === 'take');
      return taking.length === 0 ? { verdict: 'duplicate' } : { verdict: 'take', groups: taking };
    },
    judgePull(wanted) {
      if (wanted.timeline !== timeline) return { verdict: 'otherTimeline' };
      const verdicts = groups.map((group) => ({ group, verdict: group.gate.judgePull(wanted) }));
      for (const verdict of ['gone', 'wait'] as const) {
        if (verdicts.some((one) => one.verdict === verdict)) return { verdict };
      }
      const previous = verdicts.flatMap(({ group, verdict }) => (verdict === 'previous' ? [group] : []));
      return { verdict: 'read', previous };
    },
    add(unit, at, kept) {
      assert(!groups.some(({ units }) => units.includes(unit)), `unit ${unit} is not one of these yet`);
      const gate = createRoundGate({ timeline, lanes, ...at });
      groups = sorted([...groups, { units: [unit], gate, kept }]);
      merge();
    },
    remove(unit) {
      const group = groupOf(unit);
      const units = group.units.filter((other) => other !== unit);
      const left = units.length === 0 ? undefined : { ...group, units };
      groups = sorted(groups.flatMap((other) => (other === group ? (left ?? []) : [other])));
      return left;
    },
    advance(group, units, passed) {
      const { gate } = group;
      const left = group.units.filter((unit) => !units.includes(unit));
      if (left.length === 0) {
        gate.advance();
        return group;
      }
      assert(gate.missing().length === 0, 'a round is applied when all its lanes are there');
      const at = { version: gate.version() + 1, keepsPrevious: true };
      const further = { units, gate: createRoundGate({ timeline, lanes, ...at }), kept: passed() };
      groups = sorted(groups.flatMap((other) => (other === group ? [{ ...group, units: left }, further] : [other])));
      return further;
    },
    merge,
  };
}

/** Every unit in these groups is in the same state, and no lane of theirs is kept. */
function isEqual(a: RoundGate, b: RoundGate, lanes: number): boolean {
  const isAtStart = a.missing().length === lanes && b.missing().length === lanes;
  return isAtStart && a.version() === b.version() && a.oldest() === b.oldest();
}

function united<Kept>(
  first: GateGroup<Kept>,
  second: GateGroup<Kept>,
  mergeKept: GatesOptions<Kept>['mergeKept'],
): GateGroup<Kept> {
  const units = [...first.units, ...second.units].sort((a, b) => a - b);
  return { units, gate: first.gate, kept: mergeKept(first.kept, second.kept) };
}

const sorted = <Kept>(groups: GateGroup<Kept>[]): GateGroup<Kept>[] => groups.sort((a, b) => a.units[0]! - b.units[0]!);
