/**
 * Plans which pserver leads each unit (docs/copies.md). It is a pure function of the live pservers, the sizes of the
 * units and their current primaries, so all processes that know these compute the same plan. Only these units change
 * their primary:
 * - units of a pserver that leaves
 * - units without a live primary
 * - as many others as are needed to even out the sizes
 */
import { assert } from '../../base/assert.ts';

export interface PlannedUnit {
  readonly unit: number;
  /** Bytes of parameters and optimizer state; 0 if unknown. */
  readonly bytes: number;
  /** Index of its live primary. */
  readonly leader: number | undefined;
  /** Index of the pserver that led it last, which may have its file locally. */
  readonly last: number | undefined;
  /** Indexes of its live in-sync pservers. If the unit needs another primary, promoting one of them costs nothing. */
  readonly inSync?: readonly number[];
}

/** A live pserver. */
export interface PlannedPserver {
  readonly index: number;
  /** It hands over all its units and takes none. */
  readonly leaving: boolean;
}

export interface PlacementInput {
  readonly units: readonly PlannedUnit[];
  readonly pservers: readonly PlannedPserver[];
}

/** Unit → index of its primary. A unit is missing if no pserver can take it; it then stays where it is. */
export type UnitPlan = ReadonlyMap<number, number>;

export interface PlannedMove {
  readonly unit: number;
  readonly to: number;
}

/**
 * Cost of a unit in addition to its bytes, for its ledgers, its head and its part of each request. So units that are
 * almost empty are spread by number: 64 of them weigh as much as 4 MiB of parameters.
 */
const UNIT_OVERHEAD_BYTES = 65_536;

/** Weight of a unit when shares are evened out. */
export function weightOf(bytes: number): number {
  assert(bytes >= 0, 'a unit has a size');
  return bytes + UNIT_OVERHEAD_BYTES;
}

/** Shares count as even while the largest exceeds the smallest by at most this much. */
const TOLERATED_PERCENT = 10;

/** Largest weight of a unit that is moved: the move then reduces the difference to at most three quarters. */
const MOST_PERCENT_OF_DIFFERENCE = 87.5;

interface WeighedUnit {
  readonly unit: number;
  readonly weight: number;
}

interface HomelessUnit extends WeighedUnit {
  /** Shares that should take it; if empty, any share may. */
  readonly takers: readonly Share[];
}

interface Share {
  readonly index: number;
  weight: number;
  readonly units: Set<WeighedUnit>;
}

/** Ties go to the lower index and the lower unit. */
export function planUnits({ units, pservers }: PlacementInput): UnitPlan {
  const staying = pservers.filter(({ leaving }) => !leaving).map(({ index }) => index);
  const shares = new Map([...staying].sort(ascending).map((index) => [index, createShare(index)]));
  if (shares.size === 0) return new Map();
  const homeless: HomelessUnit[] = [];
  const live = new Set(pservers.map(({ index }) => index));
  for (const { unit, bytes, leader, last, inSync = [] } of units) {
    const weighed = { unit, weight: weightOf(bytes) };
    const takers = inSync.flatMap((index) => shares.get(index) ?? []).sort((a, b) => a.index - b.index);
    const isLed = leader !== undefined && live.has(leader);
    const home = isLed || takers.length > 0 ? leader : last;
    const share = home === undefined ? undefined : shares.get(home);
    if (share === undefined) homeless.push({ ...weighed, takers });
    else give(share, weighed);
  }
  for (const { takers, ...unit } of homeless.sort(heaviestFirst)) {
    give(lightest(takers.length > 0 ? takers : shares.values()), unit);
  }
  while (evenOut([...shares.values()]));
  return new Map([...shares.values()].flatMap(({ index, units: own }) => [...own].map(({ unit }) => [unit, index])));
}

/** The moves that the pserver at `index` should make, out of the units that it leads, ascending by unit. */
export function movesOf(plan: UnitPlan, index: number, led: Iterable<number>): PlannedMove[] {
  return [...led].sort(ascending).flatMap((unit) => {
    const to = plan.get(unit);
    return to === undefined || to === index ? [] : [{ unit, to }];
  });
}

/**
 * Moves one unit from a heavier share to the lightest one. False if all shares are even, or if no single move makes
 * them more even.
 */
function evenOut(shares: readonly Share[]): boolean {
  const to = lightest(shares);
  const heavier = shares.filter(({ weight }) => isUneven(weight, to.weight)).sort((a, b) => b.weight - a.weight);
  for (const from of heavier) {
    const unit = bestToMove(from, from.weight - to.weight);
    if (unit === undefined) continue;
    from.units.delete(unit);
    from.weight -= unit.weight;
    give(to, unit);
    return true;
  }
  return false;
}

const isUneven = (heavy: number, light: number): boolean => heavy * 100 > light * (100 + TOLERATED_PERCENT);

/**
 * Chooses the unit closest to half the difference, which brings the two shares closest together. A unit of almost the
 * whole difference would only make the light share the heavy one, and would move back and forth while a model grows.
 */
function bestToMove(from: Share, difference: number): WeighedUnit | undefined {
  let best: WeighedUnit | undefined;
  const distance = ({ weight }: WeighedUnit): number => Math.abs(2 * weight - difference);
  for (const unit of from.units) {
    if (unit.weight * 100 > difference * MOST_PERCENT_OF_DIFFERENCE) continue;
    const order = best === undefined ? -1 : distance(unit) - distance(best) || unit.unit - best.unit;
    if (order < 0) best = unit;
  }
  return best;
}

const ascending = (a: number, b: number): number => a - b;
const heaviestFirst = (a: WeighedUnit, b: WeighedUnit): number => b.weight - a.weight || a.unit - b.unit;

const createShare = (index: number): Share => ({ index, weight: 0, units: new Set() });

function give(share: Share, unit: WeighedUnit): void {
  share.units.add(unit);
  share.weight += unit.weight;
}

/** Ties go to the lower index, since shares are in the order of their indexes. */
function lightest(shares: Iterable<Share>): Share {
  const [first, ...rest] = shares;
  assert(first !== undefined, 'there is a pserver');
  return rest.reduce((least, one) => (one.weight < least.weight ? one : least), first);
}
