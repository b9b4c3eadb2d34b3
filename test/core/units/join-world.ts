/**
 * Some processes, a store and a network, where copies are made for processes that join. A world is plain data; what
 * happens makes another one, or gives the same.
 */
import type { HeadProposal, Outcome, UnitHead } from '../../../src/core/replicas/events.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';
import { type Content, messageOf, type NodeState, nameOf, one, optionsOf, ownerOf, started } from './join-node.ts';
import { type Event, react } from './join-shell.ts';

export interface World {
  readonly head: UnitHead;
  /** Index → token in the store, 0 when its lease has ended. */
  readonly live: readonly number[];
  /** Transactions whose outcome is unknown, or whose sender died: each may take effect at any time. */
  readonly late: readonly string[];
  readonly nodes: readonly NodeState[];
  /** All messages ever sent: each may arrive at any time, any number of times, or never. */
  readonly sent: readonly number[];
  /** Updates whose trainer was told that they count, ascending. */
  readonly acknowledged: string;
  /** What has happened so often, in the order of `FAULTS`. */
  readonly faults: readonly number[];
}

export const FAULTS = ['join', 'crash', 'restart', 'suspend', 'silence', 'lostOutcome', 'abandon', 'giveUp'] as const;
export type Fault = (typeof FAULTS)[number];

/** The first process leads the unit, alone. */
export function firstWorld(count: number): World {
  const head: UnitHead = { epoch: 1, primary: ownerOf(0, 1), inSync: [ownerOf(0, 1)] };
  const nodes = Array.from({ length: count }, (_, index) => started(index, 1));
  nodes[0] = one({ ...nodes[0]!, replica: Replica.taken<Content>(head, 0, optionsOf(nodes[0]!)) });
  const faults = FAULTS.map(() => 0);
  return { head, live: nodes.map(() => 1), late: [], nodes, sent: [], acknowledged: '', faults };
}

/** Equal for equal worlds only. */
export function keyOf({ head, live, late, nodes, sent, acknowledged, faults }: World): string {
  const small = [head.epoch, head.primary.index, ...nodes.map(nameOf), ...live, ...faults, sent.length, ...sent];
  const set = head.inSync.map(({ index, token }) => `${index}.${token}`).join();
  return `${small.join()}/${head.primary.token}/${set}/${acknowledged}/${late.join()}`;
}

function put<T>(all: readonly T[], at: number, to: T): T[] {
  const copy = [...all];
  copy[at] = to;
  return copy;
}

export const counted = (world: World, fault: Fault): World => {
  const at = FAULTS.indexOf(fault);
  return { ...world, faults: put(world.faults, at, world.faults[at]! + 1) };
};

const withNode = (world: World, node: NodeState): World => ({
  ...world,
  nodes: put(world.nodes, node.index, one(node)),
});

/** Something happens to one process. */
export function happen(world: World, index: number, event: Event): World {
  const before = world.nodes[index]!;
  const { node, sent } = react(before, event);
  const fresh = sent.filter((number) => !world.sent.includes(number));
  if (node === before && fresh.length === 0) return world;
  return {
    ...world,
    nodes: put(world.nodes, index, node),
    sent: fresh.length === 0 ? world.sent : [...new Set([...world.sent, ...fresh])].sort((a, b) => a - b),
  };
}

export function arrive(world: World, number: number): World {
  const { to } = messageOf(number);
  const { isUp, isSuspended } = world.nodes[to]!;
  return isUp && !isSuspended ? happen(world, to, { type: 'message', number }) : world;
}

export const isLive = ({ live }: World, { index, token }: UnitOwner): boolean => live[index] === Number(token);

/** A process reads head and token of its primary at one revision. */
export function see(world: World, index: number): World {
  const { head } = world;
  return happen(world, index, {
    type: 'seen',
    event: { type: 'seen', head, isPrimaryAlive: isLive(world, head.primary) },
  });
}

// ---- the store

interface Sender {
  readonly by: UnitOwner;
  readonly proposal: HeadProposal;
}

/** The transaction takes effect, if it can. */
export function land(world: World, { by, proposal }: Sender): World {
  const { from, alive, gone, head } = proposal;
  const holds =
    world.head.epoch === from &&
    isLive(world, by) &&
    alive.every((owner) => isLive(world, owner)) &&
    gone.every((owner) => !isLive(world, owner));
  return holds ? { ...world, head } : world;
}

export const landLate = (world: World, late: string): World => land(world, JSON.parse(late) as Sender);

const senderOf = (world: World, index: number): Sender => {
  const { token, proposed } = world.nodes[index]!;
  return { by: ownerOf(index, token), proposal: proposed! };
};

/** The store answers. */
export function decide(world: World, index: number): World {
  const sender = senderOf(world, index);
  // What a lost claim does to the process is not the machines' matter: it does nothing from then on.
  if (!isLive(world, sender.by)) return world;
  const landed = land(world, sender);
  const outcome: Outcome = landed === world ? { outcome: 'failed', head: world.head } : { outcome: 'succeeded' };
  const event = { type: 'decided' as const, from: sender.proposal.from, ...outcome };
  return happen(landed, index, { type: 'replica', event });
}

const keepLate = (world: World, sender: Sender): World => ({
  ...world,
  late: [...new Set([...world.late, JSON.stringify(sender)])].sort(),
});

/** The answer of the store is lost. */
export function loseOutcome(world: World, index: number): World {
  const sender = senderOf(world, index);
  const event = { type: 'decided' as const, from: sender.proposal.from, outcome: 'unknown' as const };
  return happen(keepLate(world, sender), index, { type: 'replica', event });
}

// ---- processes

export function crash(world: World, index: number): World {
  const { token, proposed } = world.nodes[index]!;
  const kept = proposed === undefined ? world : keepLate(world, senderOf(world, index));
  return withNode(kept, { ...started(index, token), isUp: false });
}

export const suspend = (world: World, index: number, isSuspended: boolean): World =>
  withNode(world, { ...world.nodes[index]!, isSuspended });

export const expire = (world: World, index: number): World => ({ ...world, live: put(world.live, index, 0) });

export function restart(world: World, index: number): World {
  const token = world.nodes[index]!.token + 1;
  return withNode({ ...world, live: put(world.live, index, token) }, started(index, token));
}
