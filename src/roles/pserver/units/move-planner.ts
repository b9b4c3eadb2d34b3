/**
 * Decides when this pserver hands over a unit, and to whom: what the plan says, once the cluster has been the same for
 * a while, so that pservers which come together are planned for together. Where only sizes have changed, it waits for
 * longer (growth.ts).
 */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { dueMoves, hasTaker, type MovesView } from '../../../core/units/due-moves.ts';
import { Growth } from '../../../core/units/growth.ts';
import type { PlannedMove } from '../../../core/units/plan.ts';
import type { OwnedHeads } from '../owned-heads.ts';
import { type PlanLoop, runPlan } from './plan-loop.ts';
import { Refusals } from './refusals.ts';
import { SeenCluster, type SeenClusterOptions } from './seen-cluster.ts';

/** Units that are handed over at a time. */
const MOST_AT_A_TIME = 2;

export interface MovePlannerOptions extends PlanLoop, SeenClusterOptions {
  readonly me: number;
  readonly heads: Pick<OwnedHeads, 'units' | 'areResting' | 'wake'>;
  readonly isLeaving: () => boolean;
  /** This pserver serves, and its units may change. */
  readonly mayMove: () => boolean;
  /** Unit → index of its target. */
  readonly moving: () => ReadonlyMap<number, number>;
  readonly begin: (unit: number, target: LivePserver) => void;
}

export class MovePlanner {
  readonly #options: MovePlannerOptions;
  readonly #cluster: SeenCluster;
  readonly #refusals: Refusals;
  readonly #growth = new Growth();

  constructor(options: MovePlannerOptions) {
    this.#options = options;
    this.#cluster = new SeenCluster(options);
    this.#refusals = new Refusals(options.clock);
  }

  /** Throws `Interrupted`, and like `OwnedHeads.wake`. */
  run(signal: AbortSignal): Promise<never> {
    return runPlan(this.#options, () => this.#beginDue(), signal);
  }

  /** A pserver that has refused a unit is left alone for a while. */
  settled({ to }: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    if (outcome === 'moved') this.#refusals.taken(to);
    else this.#refusals.refused(to);
  }

  /** Whether there is a pserver that could take units of this one. */
  hasTaker(): boolean {
    return hasTaker(this.#options.me, this.#cluster.pservers());
  }

  /** Gives the time at which to look again even if nothing changes. */
  async #beginDue(): Promise<number | undefined> {
    const { clock, heads, mayMove, isLeaving, moving, view, begin } = this.#options;
    const settledAtMs = this.#cluster.settledAtMs(() => {
      this.#growth.clusterChanged();
    });
    if (!mayMove()) return undefined;
    const due = this.#due();
    if (due === undefined) return this.#cluster.nextLateAtMs();
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
      const untilMs = this.#refusals.notBeforeMs(to);
      if (untilMs !== undefined) againAtMs = Math.min(againAtMs ?? untilMs, untilMs);
      else begin(unit, targets.get(to)!);
    }
    return againAtMs;
  }

  /** Undefined while that cannot be said. */
  #due(): readonly PlannedMove[] | undefined {
    const { me, heads, moving, isLeaving } = this.#options;
    if (!this.#cluster.isLoaded()) return undefined;
    const seen: MovesView = {
      ...{ me, isLeaving: isLeaving(), units: this.#cluster.units(), pservers: this.#cluster.pservers() },
      ...{ led: new Set(heads.units()), moving: moving() },
    };
    return dueMoves(seen);
  }
}
