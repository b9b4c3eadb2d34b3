/**
 * Decides when this pserver hands over a unit, and to whom: what the plan says, once the cluster has been the same for
 * a while, so that pservers which come together are planned for together. Where only sizes have changed, it waits for
 * longer (growth.ts).
 */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/seams.ts';
import type { LivePserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { PserverRecords } from '../../../cluster/placement/pserver-records.ts';
import { type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import { dueMoves, hasTaker, type MovesView, type SeenPserver, type SeenUnit } from '../../../core/units/due-moves.ts';
import { Growth } from '../../../core/units/growth.ts';
import type { PlannedMove } from '../../../core/units/plan.ts';
import type { OwnedHeads } from '../owned-heads.ts';

/** Units that are handed over at a time. */
const MOST_AT_A_TIME = 2;
/** For so long the same pservers are there, in the same state, before anything is evened out. */
const SETTLE_MS = 1_000;
/** Before the same pserver is asked again, after it has not taken a unit. */
const ASK_AGAIN: Backoff = { firstMs: 500, capMs: 15_000 };
/** Longer than a timer is set for, there is always a change. */
const NEVER_MS = 2 ** 31 - 1;

export interface MovePlannerOptions {
  readonly clock: Clock;
  readonly me: number;
  readonly view: Pick<PlacementView, 'units' | 'live' | 'isLoaded'>;
  readonly records: Pick<PserverRecords, 'of' | 'bytesOf' | 'isLoaded'>;
  readonly heads: Pick<OwnedHeads, 'units' | 'areResting' | 'wake'>;
  /** Notified when any of this may have changed. */
  readonly changed: Signal;
  /** Changes with each notification. */
  readonly version: () => number;
  readonly isLeaving: () => boolean;
  /** This pserver serves, and its units may change. */
  readonly mayMove: () => boolean;
  /** Unit → index of its target. */
  readonly moving: () => ReadonlyMap<number, number>;
  readonly begin: (unit: number, target: LivePserver) => void;
}

export class MovePlanner {
  readonly #options: MovePlannerOptions;
  /** Bytes of units as they were told last: a record has a unit only after a while. */
  readonly #bytes = new Map<number, number>();
  readonly #refused = new Map<number, { readonly times: number; readonly untilMs: number }>();
  #cluster = '';
  #sinceMs = 0;
  readonly #growth = new Growth();

  constructor(options: MovePlannerOptions) {
    this.#options = options;
  }

  /** Throws `Interrupted`, and like `OwnedHeads.wake`. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, changed, version } = this.#options;
    for (;;) {
      const seen = version();
      const againAtMs = await this.#beginDue();
      const maxWaitMs = againAtMs === undefined ? NEVER_MS : Math.max(1, againAtMs - clock.monotonicMs());
      await untilOrLate(changed, () => version() !== seen || undefined, { clock, maxWaitMs, signal });
    }
  }

  /** A pserver that has refused a unit is left alone for a while. */
  settled({ to }: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    if (outcome === 'moved') {
      this.#refused.delete(to);
      return;
    }
    const times = this.#refused.get(to)?.times ?? 0;
    const untilMs = this.#options.clock.monotonicMs() + backoffMs(times, ASK_AGAIN);
    this.#refused.set(to, { times: times + 1, untilMs });
  }

  /** Whether there is a pserver that could take units of this one. */
  hasTaker(): boolean {
    return hasTaker(this.#options.me, this.#pservers());
  }

  /** Gives the time at which to look again even if nothing changes. */
  async #beginDue(): Promise<number | undefined> {
    const { clock, heads, mayMove, isLeaving, moving, view, begin } = this.#options;
    const settledAtMs = this.#observe();
    if (!mayMove()) return undefined;
    const due = this.#due();
    if (due === undefined) return undefined;
    const { size } = moving();
    const grownAtMs = this.#growth.observe({ isDue: due.length > 0, isMoving: size > 0 }, clock.monotonicMs());
    if (due.length === 0) return undefined;
    const notBeforeMs = Math.max(settledAtMs, grownAtMs);
    if (!isLeaving() && clock.monotonicMs() < notBeforeMs) return notBeforeMs;
    if (heads.areResting) {
      await heads.wake();
      // The world may have changed in the meantime.
      return clock.monotonicMs();
    }
    const targets = new Map(view.live().map((one) => [one.index, one]));
    let againAtMs: number | undefined;
    for (const { unit, to } of due) {
      if (moving().size >= MOST_AT_A_TIME) break;
      const untilMs = this.#refused.get(to)?.untilMs ?? Number.NEGATIVE_INFINITY;
      if (untilMs > clock.monotonicMs()) againAtMs = Math.min(againAtMs ?? untilMs, untilMs);
      else begin(unit, targets.get(to)!);
    }
    return againAtMs;
  }

  /** Undefined while that cannot be said. */
  #due(): readonly PlannedMove[] | undefined {
    const { me, view, records, heads, moving, isLeaving } = this.#options;
    if (!view.isLoaded() || !records.isLoaded()) return undefined;
    const seen: MovesView = {
      ...{ me, isLeaving: isLeaving(), units: this.#units(), pservers: this.#pservers() },
      ...{ led: new Set(heads.units()), moving: moving() },
    };
    return dueMoves(seen);
  }

  #units(): SeenUnit[] {
    const { view, records } = this.#options;
    return view.units().map(({ unit, last, owner }) => {
      const told = records.bytesOf(unit, last);
      if (told !== undefined) this.#bytes.set(unit, told);
      return { unit, leader: owner === undefined ? undefined : last, bytes: this.#bytes.get(unit) };
    });
  }

  #pservers(): SeenPserver[] {
    const { view, records } = this.#options;
    return view.live().map(({ index }) => ({ index, status: statusIn(records.of(index)?.status) }));
  }

  /** When the pservers will have been the same for long enough. */
  #observe(): number {
    const { clock, view } = this.#options;
    const cluster = JSON.stringify([this.#pservers(), view.live().map(({ token }) => token.toString())]);
    if (cluster !== this.#cluster) {
      this.#sinceMs = clock.monotonicMs();
      this.#growth.clusterChanged();
    }
    this.#cluster = cluster;
    return this.#sinceMs + SETTLE_MS;
  }
}

function statusIn(told: 'up' | 'loading' | 'draining' | 'down' | undefined): SeenPserver['status'] {
  if (told === 'up') return 'up';
  return told === 'draining' ? 'leaving' : 'unknown';
}
