/**
 * Decides when this pserver starts to move the units that it leads, or their copies. The duties (duties.ts) determine
 * the due steps from the planner's view of the cluster. Each pserver does this for its own units.
 *
 * Invariants:
 * - The planner starts steps only after the set of pservers has been the same for a while, so that one plan covers
 *   pservers that start together. If only sizes have changed, it waits longer (growth.ts). A pserver that leaves waits
 *   for neither.
 * - A target that has refused gets nothing until it may be asked again (refused-targets.ts).
 * - Each kind of step has a separate limit for steps in progress.
 *
 * Weakness: while the state of any pserver changes more often than once a second, the cluster does not settle, and only
 * pservers that leave start steps.
 */
import type { Clock } from '../../../base/seams.ts';
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { type Signal, untilOrLate } from '../../../cluster/waiting.ts';
import type { SeenSite } from '../../../core/units/due-copies.ts';
import { hasTaker } from '../../../core/units/due-moves.ts';
import { Growth } from '../../../core/units/growth.ts';
import { type DueSteps, type Duties, MOST_AT_A_TIME } from './duties.ts';
import { RefusedTargets } from './refused-targets.ts';
import { SeenCluster, type SeenClusterOptions } from './seen-cluster.ts';

/** The longest possible timer; something changes earlier. */
const NEVER_MS = 2 ** 31 - 1;

export interface PlannerOptions extends SeenClusterOptions {
  readonly clock: Clock;
  /** Index of this pserver. */
  readonly me: number;
  readonly duties: Duties;
  readonly isLeaving: () => boolean;
  /** Whether this pserver serves, and its units may change. */
  readonly mayMove: () => boolean;
  /** Notified when an input of the plan may have changed. */
  readonly changed: Signal;
  /** Changes with each notification. */
  readonly version: () => number;
}

export class Planner {
  readonly #options: PlannerOptions;
  readonly #cluster: SeenCluster;
  readonly #refused: RefusedTargets;
  readonly #growth = new Growth();

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#cluster = new SeenCluster(options);
    this.#refused = new RefusedTargets(options.clock);
  }

  /** Throws `Interrupted`, and the errors of `Duties.prepare`. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, changed, version } = this.#options;
    for (;;) {
      const seen = version();
      const againAtMs = await this.#beginDue();
      const maxWaitMs = againAtMs === undefined ? NEVER_MS : Math.max(1, againAtMs - clock.monotonicMs());
      await untilOrLate(changed, () => version() !== seen || undefined, { clock, maxWaitMs, signal });
    }
  }

  /** A transfer to a pserver has ended. If the pserver has not taken it, the planner leaves it alone for a while. */
  settled({ to }: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    if (outcome === 'moved') this.#refused.taken(to);
    else this.#refused.refused(to);
  }

  /** Whether another pserver could take units of this one. */
  hasTaker(): boolean {
    return hasTaker(this.#options.me, this.#cluster.pservers());
  }

  /** Returns the time at which to look again even if nothing changes. */
  async #beginDue(): Promise<number | undefined> {
    const { clock, duties, isLeaving, mayMove, view } = this.#options;
    const settledAtMs = this.#cluster.settledAtMs(() => this.#growth.clusterChanged());
    if (!mayMove()) return undefined;
    const live = view.live();
    const due = this.#due(live);
    if (due === undefined) return this.#cluster.nextLateAtMs();
    const isDue = due.some(({ steps }) => steps.length > 0);
    const isMoving = due.some(({ inProgress }) => inProgress() > 0);
    const grownAtMs = this.#growth.observe({ isDue, isMoving }, clock.monotonicMs());
    if (!isDue) return duties.passesOver ? this.#refused.nextMs() : undefined;
    const notBeforeMs = Math.max(settledAtMs, grownAtMs);
    if (!isLeaving() && clock.monotonicMs() < notBeforeMs) return notBeforeMs;
    const prepared = duties.prepare?.();
    if (prepared === undefined) return this.#begin(due, live);
    await prepared;
    // The inputs may have changed in the meantime, so plan again.
    return clock.monotonicMs();
  }

  /** The due steps; undefined while an input of the plan is unknown. */
  #due(live: readonly LivePserver[]): readonly DueSteps[] | undefined {
    const { me, duties, isLeaving } = this.#options;
    if (!this.#cluster.isLoaded()) return undefined;
    const seen = { me, isLeaving: isLeaving(), live, units: this.#cluster.units() };
    return duties.due({ ...seen, pservers: duties.passesOver ? this.#takers() : this.#cluster.pservers() });
  }

  #begin(due: readonly DueSteps[], live: readonly LivePserver[]): number | undefined {
    const pservers = new Map(live.map((one) => [one.index, one]));
    let againAtMs: number | undefined;
    for (const { steps, inProgress, canBeRefused, begin } of due) {
      for (const { unit, index } of steps) {
        if (inProgress() >= MOST_AT_A_TIME) break;
        const untilMs = canBeRefused ? this.#refused.notBeforeMs(index) : undefined;
        if (untilMs === undefined) begin(unit, pservers.get(index)!);
        else againAtMs = Math.min(againAtMs ?? untilMs, untilMs);
      }
    }
    return againAtMs;
  }

  /** Pservers, with those that have refused repeatedly as `late`, so that the plan replaces them for a while. */
  #takers(): SeenSite[] {
    const pservers = this.#cluster.pservers();
    return pservers.map((one) => (this.#refused.isPassedOver(one.index) ? { ...one, status: 'late' } : one));
  }
}
