/**
 * Which pserver takes a unit that has no live primary. The one that led it last, as it has the files next to it; where
 * there was none, or that index is not wanted any more, the planned one. If that pserver does not come in time, one of
 * those that are live. Every pserver works this out for itself; only transactions on the heads decide.
 */
import { plannedPrimary } from '../placement.ts';

export interface Orphan {
  readonly unit: number;
  /** Index of the pserver that led it last. */
  readonly last: number | undefined;
  /** Since when it is known to have no live primary. */
  readonly sinceMs: number;
}

export interface OrphanView {
  readonly orphans: readonly Orphan[];
  /** Indexes of live pservers, ascending. */
  readonly live: readonly number[];
  /** That the job should have. */
  readonly desired: number;
  readonly nowMs: number;
  /** How long a pserver that should take a unit is waited for. */
  readonly boundMs: number;
}

export interface OrphansFor {
  /** To be taken by this pserver now. */
  readonly units: readonly number[];
  /** When to look again, if nothing changes before; undefined: then only after a change. */
  readonly againAtMs: number | undefined;
}

export function orphansFor(me: number, view: OrphanView): OrphansFor {
  const { orphans, live, nowMs, boundMs } = view;
  const units: number[] = [];
  let againAtMs: number | undefined;
  for (const { unit, last, sinceMs } of orphans) {
    const first = firstChoice(unit, last, view);
    const isLate = nowMs - sinceMs >= boundMs;
    if (!live.includes(first) && !isLate)
      againAtMs = Math.min(againAtMs ?? Number.POSITIVE_INFINITY, sinceMs + boundMs);
    else if ((live.includes(first) ? first : live[unit % live.length]) === me) units.push(unit);
  }
  return { units, againAtMs };
}

function firstChoice(unit: number, last: number | undefined, { live, desired }: OrphanView): number {
  return last !== undefined && (last < desired || live.includes(last)) ? last : plannedPrimary(unit, desired);
}
