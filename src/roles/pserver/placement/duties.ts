/**
 * Determines the steps that a pserver must take for the units that it leads. If units have one copy, it moves them
 * (due-moves.ts). If they have more, copies join, units are handed over to members, and copies are removed
 * (due-copies.ts). The plans are pure functions. The duties give them the knowledge of this process, and connect their
 * steps with the actions that start them.
 *
 * Invariants:
 * - The duties keep no state, so each look plans from the current facts.
 * - A copy counts by the token of its process. A process that has the index of a dead member gets a new copy; it is
 *   neither handed a unit nor removed.
 *
 * Weakness: this process knows only its own units exactly, and all others only through the store. So two pservers may
 * send more to a third one than the plan gives it, until each sees the steps of the other.
 */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { type CopiesView, dueCopies } from '../../../core/units/due-copies.ts';
import { dueMoves } from '../../../core/units/due-moves.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';

/**
 * Most concurrent transfers, at a source and at a target. Each transfer takes memory and bandwidth at both, and more of
 * them would not end sooner. Hand-overs to members have the same limit, because requests for their units wait.
 */
export const MOST_AT_A_TIME = 2;

/** The planner's view of the cluster in one look. */
export interface Seen extends Pick<CopiesView, 'me' | 'isLeaving' | 'units' | 'pservers'> {
  readonly live: readonly LivePserver[];
}

/** Steps of one kind. */
export interface DueSteps {
  /** Each names a unit, and the index of the pserver that takes the unit, or whose copy is removed. */
  readonly steps: readonly { readonly unit: number; readonly index: number }[];
  /** Number of steps of this kind that are in progress. */
  readonly inProgress: () => number;
  /** Whether the pserver may refuse the step. After a refusal, the planner leaves it alone for a while. */
  readonly canBeRefused: boolean;
  readonly begin: (unit: number, pserver: LivePserver) => void;
}

export interface Duties {
  /** Whether the plan passes over a pserver that has refused repeatedly, and gives its units to others. */
  readonly passesOver: boolean;
  /** The steps in the order in which to start them; undefined while an input of the plan is unknown. */
  readonly due: (seen: Seen) => readonly DueSteps[] | undefined;
  /** Work to do before any step starts; undefined if none is needed. The planner plans again after it. */
  readonly prepare?: () => Promise<void> | undefined;
}

export interface MoveDuties {
  readonly heads: Pick<OwnedHeads, 'units' | 'areResting' | 'wake'>;
  /** Unit → index of its target. */
  readonly moving: () => ReadonlyMap<number, number>;
  readonly begin: (unit: number, target: LivePserver) => void;
}

/** For units with one copy, which are moved. A move starts only when no head names a file as the last state. */
export const moveDuties = ({ heads, moving, begin }: MoveDuties): Duties => ({
  passesOver: false,
  prepare: () => (heads.areResting ? heads.wake() : undefined),
  due: (seen) => {
    const moves = dueMoves({ ...seen, led: new Set(heads.units()), moving: moving() });
    const steps = moves?.map(({ unit, to }) => ({ unit, index: to }));
    return steps && [{ steps, inProgress: () => moving().size, canBeRefused: true, begin }];
  },
});

/** Steps in progress, and the actions that start steps. Hand-overs and removals are requested again until done. */
export interface CopyActions {
  /** Unit → indexes of the pservers that are getting a copy, or have one that the head does not name yet. */
  joining(): ReadonlyMap<number, ReadonlySet<number>>;
  /** Unit → index of the target. */
  handingOver(): ReadonlyMap<number, number>;
  /** Starts a copy for a live process that is not in the in-sync set. */
  join(unit: number, target: LivePserver): void;
  /** Hands the unit over to a member of the in-sync set. */
  handOver(unit: number, to: UnitOwner): void;
  /** Removes an unwanted member from the in-sync set. */
  remove(unit: number, from: UnitOwner): void;
}

export interface CopyDuties {
  readonly heads: Pick<OwnedHeads, 'units' | 'of'>;
  /** Number of wanted copies of each unit, including the primary's. */
  readonly replicas: number;
  readonly actions: CopyActions;
}

/** For units with several copies. Removals and hand-overs come first, because they need no transfer. */
export const copyDuties = ({ heads, replicas, actions }: CopyDuties): Duties => ({
  passesOver: true,
  due: (seen) => {
    const [joining, handingOver, led] = [actions.joining(), actions.handingOver(), ledCopies(heads, seen.live)];
    const due = dueCopies({ ...seen, replicas, led, joining, handingOver });
    if (due === undefined) return undefined;
    return [
      {
        steps: due.removals.map(({ unit, from }) => ({ unit, index: from })),
        // Removals need no limit: a removal takes effect at once, or is requested again.
        inProgress: () => 0,
        canBeRefused: false,
        begin: (unit, member) => actions.remove(unit, ownerOf(member)),
      },
      {
        steps: due.handOvers.map(({ unit, to }) => ({ unit, index: to })),
        inProgress: () => actions.handingOver().size,
        canBeRefused: false,
        begin: (unit, member) => actions.handOver(unit, ownerOf(member)),
      },
      {
        steps: due.joins.map(({ unit, to }) => ({ unit, index: to })),
        inProgress: () => [...actions.joining().values()].reduce((sum, { size }) => sum + size, 0),
        canBeRefused: true,
        begin: (unit, target) => actions.join(unit, target),
      },
    ];
  },
});

const ownerOf = ({ index, token }: LivePserver): UnitOwner => ({ index, token: token.toString() });

/** Unit → indexes of its live members. The replicas remove the copies of dead processes by themselves. */
function ledCopies(heads: CopyDuties['heads'], live: readonly LivePserver[]): Map<number, number[]> {
  const tokens = new Map(live.map((one) => [one.index, one.token.toString()]));
  return new Map(
    heads.units().map((unit) => {
      const inSync = heads.of(unit)?.head.inSync ?? [];
      const members = inSync.filter(({ index, token }) => tokens.get(index) === token);
      return [unit, members.map(({ index }) => index)];
    }),
  );
}
