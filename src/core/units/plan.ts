/**
 * Which pserver leads which unit (docs/copies.md). A pure function of the live pservers, the sizes of the units and
 * who leads them now, so that every process that knows these works out the same plan. Only few units change their
 * leader: those of a pserver that leaves, those without a live leader, and as many others as even out the sizes.
 */
import { assert } from '../../base/assert.ts';

export interface PlannedUnit {
  readonly unit: number;
  /** Bytes of parameters and optimizer state; 0 if unknown. */
  readonly bytes: number;
  /** Index of the live pserver that leads it. */
  readonly leader: number | undefined;
  /** Index of the pserver that led it last, which may have its file locally. */
  readonly last: number | undefined;
  /** Indexes of live pservers that have all of it: when it needs another leader, one of them becomes it at no cost. */
  readonly inSync?: readonly number[];
}

/** A live one. */
export interface PlannedPserver {
  readonly index: number;
  /** It hands over all its units and takes none. */
  readonly leaving: boolean;
}

export interface PlacementInput {
  readonly units: readonly PlannedUnit[];
  readonly pservers: readonly PlannedPserver[];
}

/** Unit → index. A unit is missing when no pserver can take it: then it stays where it is. */
export type UnitPlan = ReadonlyMap<number, number>;

export interface PlannedMove {
  readonly unit: number;
  readonly to: number;
}

/**
 * What a unit costs beside its bytes: ledgers, heads, its part of each request. So units that are almost empty are
 * spread by number, and 64 of them weigh as much as 4 MiB of parameters.
 */
const UNIT_OVERHEAD_BYTES = 65_536;

/** What a unit counts for where pservers are evened out. */
export function weightOf(bytes: number): number {
  assert(bytes >= 0, 'a unit has a size');
  return bytes + UNIT_OVERHEAD_BYTES;
}

/** Nothing is moved while the largest pserver has at most this much more than the smallest. */
const TOLERATED_PERCENT = 10;

/** A unit that moves takes at least a quarter of the difference away, unless it is too small for that. */
const MOST_PERCENT_OF_DIFFERENCE = 87.5;

interface WeighedUnit {
  readonly unit: number;
  readonly weight: number;
}

interface HomelessUnit extends WeighedUnit {
  /** One of these should take it; any pserver when there is none. */
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

/** What the pserver at `index` should hand over of the units that it leads, ascending by unit. */
export function movesOf(plan: UnitPlan, index: number, led: Iterable<number>): PlannedMove[] {
  return [...led].sort(ascending).flatMap((unit) => {
    const to = plan.get(unit);
    return to === undefined || to === index ? [] : [{ unit, to }];
  });
}

/**
 * Makes one move to the lightest share that brings it closer to a heavier one. False when all are even, or no single
 * move makes them more even.
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
 * The unit closest to half the difference, which brings the two shares closest together. One of almost the whole
 * difference would only make the light share the heavy one: while a model grows, it would come back repeatedly.
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

/** The first of the lightest: shares are in the order of their indexes. */
function lightest(shares: Iterable<Share>): Share {
  const [first, ...rest] = shares;
  assert(first !== undefined, 'there is a pserver');
  return rest.reduce((least, one) => (one.weight < least.weight ? one : least), first);
}
