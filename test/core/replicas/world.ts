/** Some processes, a store and a network. A world is plain data; what happens makes another one, or gives the same. */
import type { HeadProposal, Outcome, ReplicaEvent, UnitHead } from '../../../src/core/replicas/events.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';
import {
  type Content,
  messageOf,
  type NodeState,
  nameOf,
  one,
  optionsOf,
  ownerOf,
  react,
  seen,
  started,
} from './node.ts';

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

export const FAULTS = [
  'crash',
  'suspend',
  'restart',
  'silence',
  'lostOutcome',
  'join',
  'handOver',
  'reconnect',
] as const;
export type Fault = (typeof FAULTS)[number];

/** The first `copies` of the processes have the unit. */
export function firstWorld(nodes: number, copies: number): World {
  const inSync = Array.from({ length: copies }, (_, index) => ownerOf(index, 1));
  const head: UnitHead = { epoch: 1, primary: inSync[0]!, inSync };
  const alone: UnitHead = { ...head, inSync: [inSync[0]!] };
  const all = Array.from({ length: nodes }, (_, index): NodeState => {
    const node = started(index, 1);
    if (index === 0) {
      // As it is when all copies have just joined.
      const state = Replica.taken<Content>(alone, 0, optionsOf(node));
      const machine = new Replica(optionsOf(node), state);
      return one({ ...node, replica: { ...machine.state(), head, role: primaryOf(head, optionsOf(node).me) } });
    }
    if (index >= copies) return node;
    const log = { base: 0, committed: 0, updates: [] };
    const role = { is: 'backup' as const, epoch: 1, madeBy: undefined, proposal: undefined };
    return one({ ...node, replica: { log, head, isPrimaryAlive: true, early: undefined, role } });
  });
  return {
    ...{ head, live: all.map(() => 1), late: [], nodes: all, sent: [], acknowledged: '' },
    faults: FAULTS.map(() => 0),
  };
}

function primaryOf(head: UnitHead, me: UnitOwner) {
  const peers = head.inSync.slice(1).map((owner) => ({
    ...{
      owner,
      isBegun: true,
      acknowledged: 0,
      sent: 0,
      committed: 0,
      reported: 0,
      owesSinceMs: undefined,
      isGone: false,
    },
  }));
  const undecided = { proposal: undefined, handOverTo: undefined };
  return { is: 'primary' as const, head, peers, inherited: 0, isServing: true, ...undecided, me } as const;
}

/** Equal for equal worlds only. */
export function keyOf({ head, live, late, nodes, sent, acknowledged, faults }: World): string {
  const small = [head.epoch, head.primary.index, ...nodes.map(nameOf), ...live, ...faults, sent.length, ...sent];
  const set = head.inSync.map(({ index, token }) => `${index}.${token}`).join();
  return `${String.fromCharCode(...small)}${head.primary.token}/${set}/${acknowledged}/${late.join()}`;
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

export const withNode = (world: World, node: NodeState): World => ({
  ...world,
  nodes: put(world.nodes, node.index, one(node)),
});

/** Something happens to one process. */
export function happen(world: World, index: number, event: ReplicaEvent<Content>, now = 0): World {
  const before = world.nodes[index]!;
  const { node, sent } = react(before, event, now);
  const fresh = sent.filter((number) => !world.sent.includes(number));
  if (node === before && fresh.length === 0) return world;
  return {
    ...world,
    nodes: put(world.nodes, index, node),
    sent: fresh.length === 0 ? world.sent : [...new Set([...world.sent, ...fresh])].sort((a, b) => a - b),
  };
}

export function arrive(world: World, number: number): World {
  const message = messageOf(number);
  const { to, link } = message;
  const { isUp, isSuspended } = world.nodes[to]!;
  if (!isUp || isSuspended) return world;
  return 'frame' in message
    ? happen(world, to, { type: 'frame', link, frame: message.frame })
    : happen(world, to, { type: 'answer', link, answer: message.answer });
}

export const isLive = ({ live }: World, { index, token }: UnitOwner): boolean => live[index] === Number(token);

/** A process reads head and token of its primary at one revision. */
export const see = (world: World, index: number): World =>
  happen(world, index, seen(world.head, isLive(world, world.head.primary)));

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
    alive.every((one) => isLive(world, one)) &&
    gone.every((one) => !isLive(world, one));
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
  const landed = land(world, sender);
  const { from } = sender.proposal;
  // What a lost claim does to the process is not the machine's matter: it does nothing from then on.
  if (!isLive(world, sender.by)) return world;
  const outcome: Outcome = landed === world ? { outcome: 'failed', head: world.head } : { outcome: 'succeeded' };
  return happen(landed, index, { type: 'decided', from, ...outcome });
}

const keepLate = (world: World, sender: Sender): World => ({
  ...world,
  late: [...new Set([...world.late, JSON.stringify(sender)])].sort(),
});

/** The answer of the store is lost. */
export function loseOutcome(world: World, index: number): World {
  const sender = senderOf(world, index);
  const { from } = sender.proposal;
  return happen(keepLate(world, sender), index, { type: 'decided', from, outcome: 'unknown' });
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

/** The primary copies what is committed to a process that has no copy. */
export function copyTo(world: World, from: number, to: number): World {
  const primary = world.nodes[from]!;
  const node = world.nodes[to]!;
  const { log, role } = primary.replica!;
  if (role.is !== 'primary') return world;
  const replica = Replica.copied<Content>(role.head, log.committed);
  const copied = withNode(world, { ...node, replica, applied: primary.applied });
  return happen(copied, from, { type: 'join', joiner: ownerOf(to, node.token) });
}
