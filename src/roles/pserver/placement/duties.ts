/**
 * What a pserver does about the units that it leads, in each of two modes. Where a unit has one copy, the unit is moved
 * (due-moves.ts). Where units have more, copies join, another member leads, and copies are removed (due-copies.ts). The
 * plans are pure functions; here they get what this process knows, and their steps get the actions that begin them.
 *
 * Invariants: the duties keep no state, so that each look plans from what is true then. A copy counts by the token of
 * its process: a process that has the index of a dead member gets a copy, and is neither handed a unit nor removed.
 *
 * Weakness: this process knows only its own units exactly; of all others it knows what the store shows. So two pservers
 * may send more to a third one than the plan gives it, until both see what the other one has done.
 */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import { type CopiesView, dueCopies } from '../../../core/units/due-copies.ts';
import { dueMoves } from '../../../core/units/due-moves.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHeads } from '../held/owned-heads.ts';

/**
 * Limit of transfers under way, at a source and at a target: each takes memory and bandwidth at both, and more at a
 * time would not end sooner. Hand-overs to members have the same limit, because the requests for their units wait.
 */
export const MOST_AT_A_TIME = 2;

/** What the planner sees in one look. */
export interface Seen extends Pick<CopiesView, 'me' | 'isLeaving' | 'units' | 'pservers'> {
  readonly live: readonly LivePserver[];
}

/** Steps of one kind. */
export interface DueSteps {
  /** Each names a unit, and the index of the pserver that takes the unit, or whose copy is removed. */
  readonly steps: readonly { readonly unit: number; readonly index: number }[];
  /** How many steps of this kind have begun and not ended. */
  readonly underWay: () => number;
  /** The pserver may refuse the step, and is left alone for a while when it has refused. */
  readonly canBeRefused: boolean;
  readonly begin: (unit: number, pserver: LivePserver) => void;
}

export interface Duties {
  /** The plan gives to others what a pserver would get that has refused repeatedly. */
  readonly passesOver: boolean;
  /** In the order in which they are begun; undefined while that cannot be said. */
  readonly due: (seen: Seen) => readonly DueSteps[] | undefined;
  /** What must be done before a step is begun; undefined if nothing. The plan is made again after it. */
  readonly prepare?: () => Promise<void> | undefined;
}

export interface MoveDuties {
  readonly heads: Pick<OwnedHeads, 'units' | 'areResting' | 'wake'>;
  /** Unit → index of its target. */
  readonly moving: () => ReadonlyMap<number, number>;
  readonly begin: (unit: number, target: LivePserver) => void;
}

/** Units with one copy are moved. Before one is offered, no head names a file as the last state. */
export const moveDuties = ({ heads, moving, begin }: MoveDuties): Duties => ({
  passesOver: false,
  prepare: () => (heads.areResting ? heads.wake() : undefined),
  due: (seen) => {
    const moves = dueMoves({ ...seen, led: new Set(heads.units()), moving: moving() });
    const steps = moves?.map(({ unit, to }) => ({ unit, index: to }));
    return steps && [{ steps, underWay: () => moving().size, canBeRefused: true, begin }];
  },
});

/** What has begun, and what begins it. A hand-over and a removal are asked for again until they are made. */
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

export interface CopyDuties {
  readonly heads: Pick<OwnedHeads, 'units' | 'of'>;
  /** Copies of each unit that are wanted. */
  readonly replicas: number;
  readonly actions: CopyActions;
}

/** Removals and hand-overs come first: they cost no transfer. */
export const copyDuties = ({ heads, replicas, actions }: CopyDuties): Duties => ({
  passesOver: true,
  due: (seen) => {
    const [joining, handingOver, led] = [actions.joining(), actions.handingOver(), ledCopies(heads, seen.live)];
    const due = dueCopies({ ...seen, replicas, led, joining, handingOver });
    if (due === undefined) return undefined;
    return [
      {
        steps: due.removals.map(({ unit, from }) => ({ unit, index: from })),
        // A removal is made at once, or asked for again: all may begin.
        underWay: () => 0,
        canBeRefused: false,
        begin: (unit, member) => actions.remove(unit, ownerOf(member)),
      },
      {
        steps: due.handOvers.map(({ unit, to }) => ({ unit, index: to })),
        underWay: () => actions.handingOver().size,
        canBeRefused: false,
        begin: (unit, member) => actions.handOver(unit, ownerOf(member)),
      },
      {
        steps: due.joins.map(({ unit, to }) => ({ unit, index: to })),
        underWay: () => [...actions.joining().values()].reduce((sum, { size }) => sum + size, 0),
        canBeRefused: true,
        begin: (unit, target) => actions.join(unit, target),
      },
    ];
  },
});

const ownerOf = ({ index, token }: LivePserver): UnitOwner => ({ index, token: token.toString() });

/** Unit → indexes of its live members. The copies of dead processes are taken out of the sets without being asked. */
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
