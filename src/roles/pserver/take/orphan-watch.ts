/** Which units without a live primary this pserver is to take, as the store has it now. */
import type { Clock } from '../../../base/seams.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import { type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import { type OrphanView, orphansFor } from '../../../core/units/orphans.ts';
import type { PlannedUnit } from '../../../core/units/plan.ts';
import type { OwnedIndex } from '../claim/owned-index.ts';
import { type Restored, readRestored } from '../files/restored.ts';
import type { OrphanHead } from './take-units.ts';

export interface OrphanWatchOptions {
  readonly clock: Clock;
  /** Notified when the records change as well. */
  readonly view: Pick<PlacementView, 'changed' | 'version' | 'orphans' | 'units' | 'live' | 'desired' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded' | 'version'>;
  readonly restored: Restored;
  /** Of this pserver. */
  readonly index: number;
  /** How long a pserver that should take a unit is waited for. */
  readonly boundMs: number;
}

export interface OrphanWatch {
  /** Notified when there may be others. */
  readonly view: Signal;
  /** Those to be taken by this pserver. */
  due(): OrphanHead[];
  /** Resolves when `due` may give others. Throws `Interrupted`. */
  changed(signal: AbortSignal): Promise<void>;
  /** Whether this unit has no live primary still, under the head that was seen. */
  isOrphan(orphan: OrphanHead): boolean;
}

/** Without the claim of an index, which others see as live, nothing may be taken. */
export function watchOrphans(options: OrphanWatchOptions): OrphanWatch {
  const { clock, view, records, restored, index, boundMs } = options;
  const since = new Map<number, number>();
  let againAtMs: number | undefined;

  function look(): OrphanHead[] {
    const orphans = view.orphans().map(({ unit, head }) => {
      return { unit, modRevision: head?.modRevision ?? 0n, head: restored.headOf(unit, head) };
    });
    const nowMs = clock.monotonicMs();
    for (const unit of since.keys()) if (!orphans.some((one) => one.unit === unit)) since.delete(unit);
    for (const { unit } of orphans) if (!since.has(unit)) since.set(unit, nowMs);
    return orphans;
  }

  const version = (): number => view.version() + records.version();

  return {
    view: view.changed,
    due() {
      const desired = view.desired();
      if (!view.isLoaded() || !records.isLoaded() || desired === undefined) return [];
      const orphans = look();
      const seen = orphans.map(({ unit, head }) => ({ unit, last: head?.primary.index, sinceMs: since.get(unit)! }));
      const nowMs = clock.monotonicMs();
      const mine = orphansFor(index, { orphans: seen, ...placedUnits(options), desired, nowMs, boundMs });
      againAtMs = mine.againAtMs;
      return orphans.filter(({ unit }) => mine.units.includes(unit));
    },
    async changed(signal) {
      const seen = version();
      const maxWaitMs = againAtMs === undefined ? NEVER_MS : Math.max(1, againAtMs - clock.monotonicMs());
      await untilOrLate(view.changed, () => version() !== seen || undefined, { clock, maxWaitMs, signal });
      // Told once: one that takes nothing for now does not look, and waits on.
      if (againAtMs !== undefined && clock.monotonicMs() >= againAtMs) againAtMs = undefined;
    },
    isOrphan: ({ unit, modRevision }) =>
      view.orphans().some((one) => one.unit === unit && (one.head?.modRevision ?? 0n) === modRevision),
  };
}

/** Who leads what, who is there, and how large the units are: all of it as the store has it, so that all agree. */
function placedUnits({ view, records }: OrphanWatchOptions): Pick<OrphanView, 'led' | 'bytesOf' | 'live'> {
  const bytesOf = (unit: number, leader?: number): number => records.bytesOf(unit, leader) ?? 0;
  const led = view.units().flatMap(({ unit, last, owner }): PlannedUnit[] => {
    return owner === undefined ? [] : [{ unit, bytes: bytesOf(unit, last), leader: last, last }];
  });
  const live = view.live().map((one) => ({ index: one.index, leaving: records.of(one.index)?.status === 'draining' }));
  return { led, bytesOf: (unit) => bytesOf(unit), live };
}

/** Longer than a timer is set for, there is always a change. */
const NEVER_MS = 2 ** 31 - 1;

/** From when this pserver, which has announced itself, is seen as live, by itself as by others. */
export async function watchOwnOrphans(
  owned: Pick<OwnedIndex, 'context' | 'record' | 'index' | 'fence'>,
  { view, records }: { readonly view: PlacementView; readonly records: PserverRecords },
  stopSignal: AbortSignal,
): Promise<OrphanWatch> {
  const { context, record, index, fence } = owned;
  const restored = await readRestored(context);
  // The record of the process before may say that it leaves: this one would not take what its index led.
  const isSeen = (): boolean => view.isLive(index, fence.token) && records.of(index)?.status === 'loading';
  await view.changed.until(() => isSeen() || undefined, stopSignal);
  const boundMs = ORPHAN_LEASES * record.job.cluster.leaseTtlMs;
  return watchOrphans({ clock: context.host.clock, view, records, index, restored, boundMs });
}

/** So many lease times a pserver is waited for that should take units before another one takes them. */
const ORPHAN_LEASES = 2;
