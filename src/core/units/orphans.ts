/**
 * Decides which pserver takes an orphan, that is, a unit without a live primary:
 * 1. The pserver that led it last, since that pserver has the files locally.
 * 2. If no pserver led it, or its index is leaving the job, the pserver that the plan gives it to (plan.ts).
 * 3. If that pserver does not come in time, one of the live pservers.
 * Every pserver works this out for itself; only transactions on the heads decide.
 */
import { type PlannedPserver, type PlannedUnit, planUnits } from './plan.ts';

export interface Orphan {
  readonly unit: number;
  /** Index of the pserver that led it last. */
  readonly last: number | undefined;
  /** Since when this pserver has known that the unit has no live primary. */
  readonly sinceMs: number;
}

export interface OrphanView {
  readonly orphans: readonly Orphan[];
  /** All other units of the job with their primaries: pservers with small shares get more. */
  readonly led: readonly PlannedUnit[];
  /** Size of an orphan in bytes; 0 if unknown. */
  readonly bytesOf: (unit: number) => number;
  /** Live pservers. A pserver that leaves takes no unit. */
  readonly live: readonly PlannedPserver[];
  /** Number of pservers that the job should have. */
  readonly desired: number;
  readonly nowMs: number;
  /** How long the others wait for the pserver that should take a unit. */
  readonly boundMs: number;
}

export interface OrphansFor {
  /** Units that this pserver is to take now. */
  readonly units: readonly number[];
  /** When to decide again, if nothing changes before; undefined: only after a change. */
  readonly againAtMs: number | undefined;
}

export function orphansFor(me: number, view: OrphanView): OrphansFor {
  const { orphans, live, nowMs, boundMs } = view;
  if (orphans.length === 0) return { units: [], againAtMs: undefined };
  const first = firstChoices(view);
  const among = planOf(view, live, () => undefined);
  const units: number[] = [];
  let againAtMs: number | undefined;
  for (const { unit, sinceMs } of orphans) {
    const wanted = first.get(unit);
    const isWantedLive = live.some(({ index }) => index === wanted);
    const isLate = nowMs - sinceMs >= boundMs;
    if (!isWantedLive && !isLate) againAtMs = Math.min(againAtMs ?? Number.POSITIVE_INFINITY, sinceMs + boundMs);
    else if ((isWantedLive ? wanted : among.get(unit)) === me) units.push(unit);
  }
  return { units, againAtMs };
}

/** Orphan → the pserver that should take it, out of the desired pservers and all other live ones. */
function firstChoices(view: OrphanView): ReadonlyMap<number, number> {
  const { live, desired, orphans } = view;
  const leaving = new Set(live.flatMap((one) => (one.leaving ? [one.index] : [])));
  const present = new Set(live.map(({ index }) => index));
  const coming = Array.from({ length: desired }, (_, index) => index).filter((index) => !present.has(index));
  const wanted = [...live, ...coming.map((index) => ({ index, leaving: false }))];
  const isWanted = (index: number): boolean => !leaving.has(index) && (index < desired || present.has(index));
  const lastOf = ({ last }: Orphan): number | undefined => (last !== undefined && isWanted(last) ? last : undefined);
  const plan = planOf(view, wanted, lastOf);
  const choices = orphans.map((one) => [one.unit, lastOf(one) ?? plan.get(one.unit)] as const);
  return new Map(choices.filter((choice): choice is [number, number] => choice[1] !== undefined));
}

/** Where the units would go if these were the pservers. */
function planOf(
  { orphans, led, bytesOf }: OrphanView,
  pservers: readonly PlannedPserver[],
  lastOf: (orphan: Orphan) => number | undefined,
): ReadonlyMap<number, number> {
  const lost = orphans.map((one): PlannedUnit => {
    return { unit: one.unit, bytes: bytesOf(one.unit), leader: undefined, last: lastOf(one) };
  });
  return planUnits({ units: [...led, ...lost], pservers });
}
