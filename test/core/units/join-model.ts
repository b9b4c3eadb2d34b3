/**
 * All that can happen while copies of one unit are made for processes that join (docs/copies.md): which worlds can
 * be reached, and from which of them the end can be. The processes decide by the real machines, of moves and of
 * replicas.
 */
import { isIn } from '../../../src/core/replicas/messages.ts';
import { isSameOwner } from '../../../src/core/units/move-messages.ts';
import { type Model, type Searched, type Step, search } from '../explore.ts';
import { admits, has, type NodeState, ownerOf } from './join-node.ts';
import { LATE_MS } from './join-shell.ts';
import {
  arrive,
  counted,
  crash,
  decide,
  expire,
  FAULTS,
  type Fault,
  firstWorld,
  happen,
  isLive,
  keyOf,
  landLate,
  loseOutcome,
  restart,
  see,
  suspend,
  type World,
} from './join-world.ts';

export interface Shape {
  readonly nodes: number;
  readonly updates: number;
  /** How often each may happen; those that are not named do not. */
  readonly faults: Partial<Record<Fault, number>>;
}

type Add = (name: string, to: World, isFault?: boolean) => void;
type AddFault = (kind: Fault, name: string, make: () => World) => void;

function stepsFrom(world: World, shape: Shape): Step<World>[] {
  const steps: Step<World>[] = [];
  const add: Add = (name, to, isFault = false) => {
    if (to !== world) steps.push({ to, name, isFault });
  };
  const fault: AddFault = (kind, name, make) => {
    if (world.faults[FAULTS.indexOf(kind)]! >= (shape.faults[kind] ?? 0)) return;
    const to = make();
    if (to !== world) add(name, counted(to, kind), true);
  };
  for (const number of world.sent) add(`message ${number}`, arrive(world, number));
  for (const late of world.late) add(`lands late: ${late}`, landLate(world, late), true);
  for (const node of world.nodes) addNode(world, node, shape, add, fault);
  return steps;
}

function addNode(world: World, node: NodeState, shape: Shape, add: Add, fault: AddFault): void {
  const { index, isUp, isSuspended, token } = node;
  if (!isUp && world.live[index] === 0) fault('restart', `restart ${index}`, () => restart(world, index));
  if (world.live[index] === token && (!isUp || isSuspended)) add(`expire ${index}`, expire(world, index));
  if (!isUp) return;
  fault('crash', `crash ${index}`, () => crash(world, index));
  if (isSuspended) {
    if (world.live[index] === token) add(`resume ${index}`, suspend(world, index, false));
    return;
  }
  fault('suspend', `suspend ${index}`, () => suspend(world, index, true));
  if (world.live[index] !== token) return;
  add(`see at ${index}`, see(world, index));
  add(`target tick at ${index}`, happen(world, index, { type: 'targetTick' }));
  if (node.outgoing !== undefined) addCopy(world, node, add, fault);
  addReplica(world, node, shape, add, fault);
}

/** What may happen to the copy that the process makes for another one. */
function addCopy(world: World, { index, outgoing }: NodeState, add: Add, fault: AddFault): void {
  const { isCaughtUp, machine, name } = outgoing!;
  if (isCaughtUp && machine.phase === 'copying') add(`seal at ${index}`, happen(world, index, { type: 'seal' }));
  if (!isLive(world, name.target)) {
    add(`target gone at ${index}`, happen(world, index, { type: 'source', event: { type: 'targetGone' } }));
  }
  const tick = { type: 'source' as const, event: { type: 'tick' as const }, now: LATE_MS };
  add(`source tick at ${index}`, happen(world, index, tick));
  const abandon = { type: 'source' as const, event: { type: 'abandon' as const, reason: 'the plan has changed' } };
  fault('abandon', `abandon at ${index}`, () => happen(world, index, abandon));
  const giveUp = { type: 'replica' as const, event: { type: 'giveUp' as const, joiner: name.target } };
  fault('giveUp', `give up at ${index}`, () => happen(world, index, giveUp));
}

function addReplica(world: World, node: NodeState, shape: Shape, add: Add, fault: AddFault): void {
  const { index, proposed, replica } = node;
  if (replica === undefined) return;
  if (proposed !== undefined) {
    add(`decide ${proposed.kind} of ${index}`, decide(world, index));
    fault('lostOutcome', `lose outcome of ${index}`, () => loseOutcome(world, index));
  }
  if (replica.role.is !== 'primary') return;
  addPushes(world, node, shape, add);
  for (const { owner } of replica.role.peers) {
    const gone = { type: 'replica' as const, event: { type: 'gone' as const, owner } };
    if (!isLive(world, owner)) add(`gone ${owner.index} at ${index}`, happen(world, index, gone));
  }
  const silence = { type: 'replica' as const, event: { type: 'tick' as const }, now: LATE_MS };
  fault('silence', `silence at ${index}`, () => happen(world, index, silence));
  addBegin(world, node, fault);
}

/** The primary begins a copy for another process that it does not follow yet. */
function addBegin(world: World, node: NodeState, fault: AddFault): void {
  const { index, outgoing, replica } = node;
  if (outgoing !== undefined || replica?.role.is !== 'primary' || !admits(node, 'read')) return;
  const { peers } = replica.role;
  for (const other of world.nodes) {
    const target = ownerOf(other.index, other.token);
    if (other.index === index || !isLive(world, target)) continue;
    if (peers.some(({ owner }) => isSameOwner(owner, target))) continue;
    fault('join', `copy to ${other.index}`, () => happen(world, index, { type: 'begin', target }));
  }
}

/** Trainers push, and push again until they are told that the update counts. */
function addPushes(world: World, node: NodeState, { updates }: Shape, add: Add): void {
  for (let update = 0; update < updates; update++) {
    const text = String(update);
    if (node.applied.includes(text)) {
      if (!admits(node, 'read') || world.acknowledged.includes(text)) continue;
      add(`acknowledge ${text}`, { ...world, acknowledged: [...world.acknowledged, text].sort().join('') });
    } else if (!has(node, text) && admits(node, 'update')) {
      const place = { type: 'replica' as const, event: { type: 'place' as const, payload: text } };
      add(`push ${text} at ${node.index}`, happen(world, node.index, place));
    }
  }
}

const isThere = (world: World, { index, token }: { index: number; token: string }): boolean =>
  world.nodes[index]!.isUp && String(world.nodes[index]!.token) === token && world.live[index] === Number(token);

/**
 * Everything is applied and answered, no move is under way, and no copy is left that was abandoned. Or every copy that
 * may lead is gone: then files tell.
 */
export function isEnd(world: World, { updates }: Shape): boolean {
  const { head, nodes } = world;
  if (head.inSync.every((owner) => !isThere(world, owner))) return true;
  if (world.acknowledged.length < updates || !nodes.some((node) => admits(node, 'update'))) return false;
  return nodes.every((node) => {
    if (!node.isUp || node.isSuspended) return true;
    const { outgoing, target, copiedBy, replica } = node;
    if (outgoing !== undefined || target.copy !== undefined) return false;
    if (replica === undefined || copiedBy === undefined) return true;
    // What its maker has not abandoned waits for the next copy, which replaces it.
    const maker = nodes[copiedBy.source.index]!;
    return isIn(head.inSync, ownerOf(node.index, node.token)) || maker.kept !== copiedBy.attempt;
  });
}

/** Throws when something is wrong in this world. */
export function inspect(world: World): void {
  const serving = world.nodes.filter((node) => admits(node, 'read'));
  if (serving.length > 1) throw new Error('two serve');
  for (const node of serving) inspectServing(world, node);
  for (const owner of world.head.inSync) {
    if (isThere(world, owner)) inspectMember(world, world.nodes[owner.index]!);
  }
  const applied = world.nodes.filter(({ replica }) => replica !== undefined).map((node) => node.applied);
  for (const log of applied) {
    if (new Set(log).size !== log.length) throw new Error(`an update is applied twice: ${log}`);
    for (const other of applied) {
      if (!log.startsWith(other) && !other.startsWith(log)) throw new Error(`copies differ: ${log} and ${other}`);
    }
  }
}

function inspectMember(world: World, node: NodeState): void {
  if (node.replica === undefined) throw new Error(`in-sync member ${node.index} has no copy`);
  for (const update of world.acknowledged) {
    if (!node.applied.includes(update) && !has(node, update)) {
      throw new Error(`update ${update} was acknowledged and is not at in-sync member ${node.index}`);
    }
  }
}

function inspectServing({ acknowledged, head }: World, { index, token, applied }: NodeState): void {
  for (const update of acknowledged) {
    if (!applied.includes(update)) throw new Error(`${index} serves without update ${update}, which was acknowledged`);
  }
  if (!isSameOwner(head.primary, ownerOf(index, token))) throw new Error(`${index} serves and is not the primary`);
}

export interface Explored extends Searched {
  /** Copies in the head at most, and heads. */
  readonly mostInSync: number;
  readonly highestEpoch: number;
}

/** Throws with the shortest way to what is wrong. */
export function explore(shape: Shape, most?: number): Explored {
  let [highestEpoch, mostInSync] = [0, 0];
  const model: Model<World> = {
    first: firstWorld(shape.nodes),
    keyOf,
    inspect: (world) => {
      inspect(world);
      highestEpoch = Math.max(highestEpoch, world.head.epoch);
      mostInSync = Math.max(mostInSync, world.head.inSync.length);
    },
    stepsFrom: (world) => stepsFrom(world, shape),
    isEnd: (world) => isEnd(world, shape),
  };
  const searched = search(model, most);
  return { ...searched, highestEpoch, mostInSync };
}
