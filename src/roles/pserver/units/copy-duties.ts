/**
 * Decides when this pserver begins a copy of a unit that it leads, hands the unit over, or takes a copy out of its set:
 * what the plan of copies says (due-copies.ts), once the cluster has been the same for a while. Like the planner of
 * moves (move-planner.ts), which it takes the place of where units have copies.
 */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { type CopiesView, type DueCopies, dueCopies, type SeenSite } from '../../../core/units/due-copies.ts';
import { hasTaker } from '../../../core/units/due-moves.ts';
import { Growth } from '../../../core/units/growth.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHeads } from '../owned-heads.ts';
import { type PlanLoop, runPlan } from './plan-loop.ts';
import { Refusals } from './refusals.ts';
import { SeenCluster, type SeenClusterOptions } from './seen-cluster.ts';

/** Copies that are made at a time, and units that are handed over. */
const MOST_AT_A_TIME = 2;

/** What it has done. A hand-over and a removal are asked for again until they are made. */
export interface CopyActions {
  /** Unit → indexes for which a copy is being made, or that have theirs and are in no head yet. */
  joining(): ReadonlyMap<number, ReadonlySet<number>>;
  /** Unit → to whom. */
  handingOver(): ReadonlyMap<number, number>;
  /** Begins a copy for a live process that is not in the set. */
  join(unit: number, target: LivePserver): void;
  /** To a member. */
  handOver(unit: number, to: UnitOwner): void;
  /** Takes a member that is not wanted out of the set. */
  remove(unit: number, from: UnitOwner): void;
}

export interface CopyDutiesOptions extends PlanLoop, SeenClusterOptions {
  readonly me: number;
  readonly heads: Pick<OwnedHeads, 'units' | 'of'>;
  readonly isLeaving: () => boolean;
  /** This pserver serves, and its units may change. */
  readonly mayMove: () => boolean;
  /** Copies of each unit that are wanted. */
  readonly replicas: number;
  readonly actions: CopyActions;
}

export class CopyDuties {
  readonly #options: CopyDutiesOptions;
  readonly #cluster: SeenCluster;
  readonly #refusals: Refusals;
  readonly #growth = new Growth();

  constructor(options: CopyDutiesOptions) {
    this.#options = options;
    this.#cluster = new SeenCluster(options);
    this.#refusals = new Refusals(options.clock);
  }

  /** Throws `Interrupted`. */
  run(signal: AbortSignal): Promise<never> {
    return runPlan(this.#options, async () => this.#beginDue(), signal);
  }

  /** A copy has come into the head, or it has not: then its pserver is left alone for a while. */
  settled({ to }: { readonly to: number }, outcome: 'kept' | 'moved'): void {
    if (outcome === 'moved') this.#refusals.taken(to);
    else this.#refusals.refused(to);
  }

  /** Whether there is a pserver that could take units of this one. */
  hasTaker(): boolean {
    return hasTaker(this.#options.me, this.#cluster.pservers());
  }

  /** Gives the time at which to look again even if nothing changes. */
  #beginDue(): number | undefined {
    const { clock, mayMove, isLeaving } = this.#options;
    const settledAtMs = this.#cluster.settledAtMs(() => this.#growth.clusterChanged());
    if (!mayMove()) return undefined;
    const due = this.#due();
    if (due === undefined) return this.#cluster.nextLateAtMs();
    const isDue = due.joins.length + due.handOvers.length + due.removals.length > 0;
    const grownAtMs = this.#growth.observe({ isDue, isMoving: this.#underWay() > 0 }, clock.monotonicMs());
    if (!isDue) return this.#refusals.nextMs();
    const notBeforeMs = Math.max(settledAtMs, grownAtMs);
    if (!isLeaving() && clock.monotonicMs() < notBeforeMs) return notBeforeMs;
    return this.#begin(due);
  }

  #begin({ joins, handOvers, removals }: DueCopies): number | undefined {
    const { actions, view } = this.#options;
    for (const { unit, from } of removals) actions.remove(unit, this.#memberOf(unit, from));
    for (const { unit, to } of handOvers) {
      if (actions.handingOver().size >= MOST_AT_A_TIME) break;
      actions.handOver(unit, this.#memberOf(unit, to));
    }
    const targets = new Map(view.live().map((one) => [one.index, one]));
    let againAtMs: number | undefined;
    for (const { unit, to } of joins) {
      if (this.#joins() >= MOST_AT_A_TIME) break;
      const untilMs = this.#refusals.notBeforeMs(to);
      if (untilMs !== undefined) againAtMs = Math.min(againAtMs ?? untilMs, untilMs);
      else actions.join(unit, targets.get(to)!);
    }
    return againAtMs;
  }

  /** One that is not reached from here, though it has its index, is replaced for as long as it is left alone. */
  #takers(): SeenSite[] {
    const pservers = this.#cluster.pservers();
    return pservers.map((one) => (this.#refusals.isPassedOver(one.index) ? { ...one, status: 'late' } : one));
  }

  #joins(): number {
    return [...this.#options.actions.joining().values()].reduce((sum, { size }) => sum + size, 0);
  }

  #underWay(): number {
    return this.#joins() + this.#options.actions.handingOver().size;
  }

  /** Undefined while that cannot be said. */
  #due(): DueCopies | undefined {
    const { me, isLeaving, replicas, actions } = this.#options;
    if (!this.#cluster.isLoaded()) return undefined;
    const seen: CopiesView = {
      ...{ me, isLeaving: isLeaving(), replicas, led: this.#led() },
      ...{ units: this.#cluster.units(), pservers: this.#takers() },
      ...{ joining: actions.joining(), handingOver: actions.handingOver() },
    };
    return dueCopies(seen);
  }

  /** The copies of dead processes are taken out of the sets without being asked. */
  #led(): Map<number, number[]> {
    const { heads, view } = this.#options;
    const live = new Map(view.live().map(({ index, token }) => [index, token.toString()]));
    return new Map(
      heads.units().map((unit) => {
        const members = this.#membersOf(unit).filter(({ index, token }) => live.get(index) === token);
        return [unit, members.map(({ index }) => index)];
      }),
    );
  }

  #membersOf(unit: number): readonly UnitOwner[] {
    return this.#options.heads.of(unit)?.head.inSync ?? [];
  }

  /** One that lives: a dead process may have been a member under the same index. */
  #memberOf(unit: number, index: number): UnitOwner {
    const token = this.#options.view
      .live()
      .find((one) => one.index === index)!
      .token.toString();
    return this.#membersOf(unit).find((one) => one.index === index && one.token === token)!;
  }
}
