/**
 * Which pserver takes a unit that has no live primary. The one that led it last, as it has the files next to it; where
 * there was none, or that index is no longer wanted, the one that the plan gives it to (plan.ts). If that pserver does
 * not come in time, one of those that are live. Every pserver works this out for itself; only transactions on the heads
 * decide.
 */
import { type PlannedPserver, type PlannedUnit, planUnits } from './plan.ts';

export interface Orphan {
  readonly unit: number;
  /** Index of the pserver that led it last. */
  readonly last: number | undefined;
  /** Since when it is known to have no live primary. */
  readonly sinceMs: number;
}

export interface OrphanView {
  readonly orphans: readonly Orphan[];
  /** All other units of the job, with their leaders: who has little gets more. */
  readonly led: readonly PlannedUnit[];
  /** Size of an orphan in bytes; 0 if unknown. */
  readonly bytesOf: (unit: number) => number;
  /** Live pservers; those that leave take nothing. */
  readonly live: readonly PlannedPserver[];
  /** Number of pservers that the job should have. */
  readonly desired: number;
  readonly nowMs: number;
  /** How long a pserver that should take a unit is waited for. */
  readonly boundMs: number;
}

export interface OrphansFor {
  /** Units that this pserver is to take now. */
  readonly units: readonly number[];
  /** When to look again, if nothing changes before; undefined: then only after a change. */
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
    const isThere = live.some(({ index }) => index === wanted);
    const isLate = nowMs - sinceMs >= boundMs;
    if (!isThere && !isLate) againAtMs = Math.min(againAtMs ?? Number.POSITIVE_INFINITY, sinceMs + boundMs);
    else if ((isThere ? wanted : among.get(unit)) === me) units.push(unit);
  }
  return { units, againAtMs };
}

/** Among all that the job should have and those that are live beside them. */
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
