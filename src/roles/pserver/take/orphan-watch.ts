/** Watches the store for orphans, that is, units without a live primary, and decides which ones this pserver takes. */
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
  /** Also notified when the records change. */
  readonly view: Pick<PlacementView, 'changed' | 'version' | 'orphans' | 'units' | 'live' | 'desired' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded' | 'version'>;
  readonly restored: Restored;
  /** Index of this pserver. */
  readonly index: number;
  /** How long to wait for the pserver that should take a unit. */
  readonly boundMs: number;
}

export interface OrphanWatch {
  /** Notified when `due` may return other units. */
  readonly view: Signal;
  /** The orphans that this pserver is to take now. */
  due(): OrphanHead[];
  /** Resolves when `due` may return other units. Throws `Interrupted`. */
  changed(signal: AbortSignal): Promise<void>;
  /** Whether this unit still has no live primary and still has the same head. */
  isOrphan(orphan: OrphanHead): boolean;
}

/** The caller must have claimed an index that the other pservers see as live: otherwise it may not take units. */
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
      // Report the time only once: a caller that does not call `due` now must continue to wait.
      if (againAtMs !== undefined && clock.monotonicMs() >= againAtMs) againAtMs = undefined;
    },
    isOrphan: ({ unit, modRevision }) =>
      view.orphans().some((one) => one.unit === unit && (one.head?.modRevision ?? 0n) === modRevision),
  };
}

/** The primaries, live pservers and sizes of units. All of them are from the store, so that all pservers agree. */
function placedUnits({ view, records }: OrphanWatchOptions): Pick<OrphanView, 'led' | 'bytesOf' | 'live'> {
  const bytesOf = (unit: number, leader?: number): number => records.bytesOf(unit, leader) ?? 0;
  const led = view.units().flatMap(({ unit, last, owner }): PlannedUnit[] => {
    return owner === undefined ? [] : [{ unit, bytes: bytesOf(unit, last), leader: last, last }];
  });
  const live = view.live().map((one) => ({ index: one.index, leaving: records.of(one.index)?.status === 'draining' }));
  return { led, bytesOf: (unit) => bytesOf(unit), live };
}

/** The longest possible timer; something changes earlier. */
const NEVER_MS = 2 ** 31 - 1;

/** Waits until the view shows this pserver, which has announced itself, as live. Then watches orphans for it. */
export async function watchOwnOrphans(
  owned: Pick<OwnedIndex, 'context' | 'record' | 'index' | 'fence'>,
  { view, records }: { readonly view: PlacementView; readonly records: PserverRecords },
  stopSignal: AbortSignal,
): Promise<OrphanWatch> {
  const { context, record, index, fence } = owned;
  const restored = await readRestored(context);
  // The record of the previous process may still say that it leaves. Then this one would not take units of its index.
  const isSeen = (): boolean => view.isLive(index, fence.token) && records.of(index)?.status === 'loading';
  await view.changed.until(() => isSeen() || undefined, stopSignal);
  const boundMs = ORPHAN_LEASES * record.job.cluster.leaseTtlMs;
  return watchOrphans({ clock: context.host.clock, view, records, index, restored, boundMs });
}

/** Number of lease times to wait for the pserver that should take a unit. After that, another pserver takes it. */
const ORPHAN_LEASES = 2;
