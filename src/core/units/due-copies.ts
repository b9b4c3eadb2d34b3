/**
 * Decides what a pserver should do now about the copies of the units that it leads. It follows the plan
 * (plan-copies.ts) as soon as all inputs of the plan are known. The order for each unit:
 * 1. The missing copies join.
 * 2. If the plan names another primary, the unit is handed over to it.
 * 3. The primary removes unwanted copies.
 * So a unit loses a copy only after it has all wanted copies. A pserver that leaves is replaced before it is removed.
 */
import { isKnown, type KnownView, type SeenPserver, type SeenUnit } from './due-moves.ts';
import type { PserverSite } from './failure-domains.ts';
import type { PlannedMove } from './plan.ts';
import { type CopiedUnit, type PlannedCopies, planCopies } from './plan-copies.ts';

export interface SeenCopies extends SeenUnit {
  /** Indexes of the live pservers in the unit's in-sync set, according to the store. */
  readonly inSync: readonly number[];
}

export interface SeenSite extends SeenPserver, PserverSite {}

export interface CopiesView extends Omit<KnownView, 'led'> {
  readonly isLeaving: boolean;
  /** All units of the job. */
  readonly units: readonly SeenCopies[];
  /** Units that this pserver leads → indexes of the live pservers in the in-sync set, by this pserver's own state. */
  readonly led: ReadonlyMap<number, readonly number[]>;
  /** Units that are being copied → indexes of the targets. */
  readonly joining: ReadonlyMap<number, ReadonlySet<number>>;
  /** Units that are being handed over → index of the target. */
  readonly handingOver: ReadonlyMap<number, number>;
  /** Live pservers, including this one. */
  readonly pservers: readonly SeenSite[];
  /** Number of wanted copies of each unit, including the primary's. */
  readonly replicas: number;
}

export interface PlannedRemoval {
  readonly unit: number;
  /** Index of the pserver. */
  readonly from: number;
}

/** Each list is sorted by unit. */
export interface DueCopies {
  readonly joins: readonly PlannedMove[];
  readonly handOvers: readonly PlannedMove[];
  /** A removal stays due until the in-sync set no longer has the copy. */
  readonly removals: readonly PlannedRemoval[];
}

/**
 * Undefined while an input of the plan is unknown. A pserver that leaves does not wait for unknown inputs: it hands its
 * units over to the pservers that serve.
 */
export function dueCopies(view: CopiesView): DueCopies | undefined {
  const { me, isLeaving, led, handingOver, replicas } = view;
  if (!isLeaving && !isKnown(view)) return undefined;
  const pservers = view.pservers.map(({ index, status, host, zone }) => {
    return { index, host, zone, leaving: index === me ? isLeaving : status !== 'up' };
  });
  const plan = planCopies({ units: view.units.map((unit) => expected(unit, view)), pservers, replicas });
  const due = { joins: [] as PlannedMove[], handOvers: [] as PlannedMove[], removals: [] as PlannedRemoval[] };
  for (const [unit, inSync] of [...led].sort(([a], [b]) => a - b)) {
    const wanted = plan.get(unit);
    if (wanted === undefined || handingOver.has(unit)) continue;
    const steps = stepsOf(wanted, { me, inSync, joining: view.joining.get(unit) ?? new Set() });
    due.joins.push(...steps.joins.map((to) => ({ unit, to })));
    due.handOvers.push(...steps.handOvers.map((to) => ({ unit, to })));
    due.removals.push(...steps.removals.map((from) => ({ unit, from })));
  }
  return due;
}

/** The unit as it will be after the current hand-overs and joins of this pserver. */
function expected({ unit, bytes = 0, leader, inSync }: SeenCopies, view: CopiesView): CopiedUnit {
  const own = view.led.get(unit);
  const now = view.handingOver.get(unit) ?? (own === undefined ? leader : view.me);
  return { unit, bytes, leader: now, last: now, inSync: [...(own ?? inSync), ...(view.joining.get(unit) ?? [])] };
}

interface LedCopies {
  readonly me: number;
  readonly inSync: readonly number[];
  readonly joining: ReadonlySet<number>;
}

interface Steps {
  readonly joins: readonly number[];
  readonly handOvers: readonly number[];
  readonly removals: readonly number[];
}

function stepsOf({ primary, backups }: PlannedCopies, { me, inSync, joining }: LedCopies): Steps {
  const wanted = [primary, ...backups];
  const missing = wanted.filter((index) => !inSync.includes(index));
  const joins = missing.filter((index) => !joining.has(index));
  if (missing.length > 0 || joining.size > 0) return { joins, handOvers: [], removals: [] };
  if (primary !== me) return { joins, handOvers: [primary], removals: [] };
  return { joins, handOvers: [], removals: inSync.filter((index) => !wanted.includes(index)) };
}
