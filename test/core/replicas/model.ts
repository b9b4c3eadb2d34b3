/**
 * All that can happen to the copies of one unit (docs/copies.md): which worlds can be reached, and from which of
 * them the end can be. The processes decide by the real machines.
 */
import { type Model, type Searched, type Step, search } from '../explore.ts';
import { admits, has, LATE_MS, type NodeState, ownerOf } from './node.ts';
import {
  arrive,
  copyTo,
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
} from './world.ts';

export interface Shape {
  readonly nodes: number;
  readonly copies: number;
  readonly updates: number;
  /** How often each may happen; those that are not named do not. */
  readonly faults: Partial<Record<Fault, number>>;
}

function stepsFrom(world: World, shape: Shape): Step<World>[] {
  const steps: Step<World>[] = [];
  const add = (name: string, to: World, isFault = false): void => {
    if (to !== world) steps.push({ to, name, isFault });
  };
  const mayFail = (fault: Fault): boolean => world.faults[FAULTS.indexOf(fault)]! < (shape.faults[fault] ?? 0);
  const fault = (kind: Fault, name: string, make: () => World): void => {
    if (!mayFail(kind)) return;
    const to = make();
    if (to !== world) add(name, counted(to, kind), true);
  };
  for (const number of world.sent) add(`message ${number}`, arrive(world, number));
  for (const late of world.late) add(`lands late: ${late}`, landLate(world, late), true);
  for (const node of world.nodes) {
    const { index, isUp, isSuspended } = node;
    if (!isUp && world.live[index] === 0) fault('restart', `restart ${index}`, () => restart(world, index));
    if (world.live[index] === node.token && (!isUp || isSuspended)) add(`expire ${index}`, expire(world, index));
    if (!isUp) continue;
    fault('crash', `crash ${index}`, () => crash(world, index));
    if (isSuspended) {
      if (world.live[index] === node.token) add(`resume ${index}`, suspend(world, index, false));
      continue;
    }
    fault('suspend', `suspend ${index}`, () => suspend(world, index, true));
    if (world.live[index] === node.token) addProcess(world, node, shape, add, fault);
  }
  return steps;
}

type Add = (name: string, to: World, isFault?: boolean) => void;
type AddFault = (kind: Fault, name: string, make: () => World) => void;

function addProcess(world: World, node: NodeState, shape: Shape, add: Add, fault: AddFault): void {
  const { index, proposed, replica } = node;
  if (replica === undefined) return;
  add(`see at ${index}`, see(world, index));
  if (proposed !== undefined) {
    add(`decide ${proposed.kind} of ${index}`, decide(world, index));
    fault('lostOutcome', `lose outcome of ${index}`, () => loseOutcome(world, index));
  }
  if (replica.role.is !== 'primary') return;
  addPushes(world, node, shape, add);
  for (const { owner } of replica.role.peers) {
    if (!isLive(world, owner)) add(`gone ${owner.index} at ${index}`, happen(world, index, { type: 'gone', owner }));
    fault('reconnect', `reconnect to ${owner.index}`, () => happen(world, index, { type: 'connected', to: owner }));
    fault('handOver', `hand over to ${owner.index}`, () => happen(world, index, { type: 'handOver', to: owner }));
  }
  fault('silence', `silence at ${index}`, () => happen(world, index, { type: 'tick' }, LATE_MS));
  if (!admits(node, 'read')) return;
  const { peers } = replica.role;
  for (const other of world.nodes) {
    const isPeer = peers.some(({ owner }) => owner.index === other.index && owner.token === String(other.token));
    if (other.index === index || isPeer || other.replica !== undefined || !other.isUp || other.isSuspended) continue;
    if (world.live[other.index] !== other.token) continue;
    fault('join', `copy to ${other.index}`, () => copyTo(world, index, other.index));
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
      add(`push ${text} at ${node.index}`, happen(world, node.index, { type: 'place', payload: text }));
    }
  }
}

/** Everything is applied and answered. Or every copy that may lead is gone: then files tell. */
export function isEnd(world: World, { updates }: Shape): boolean {
  if (world.head.inSync.every((owner) => !isThere(world, owner))) return true;
  return world.acknowledged.length === updates && world.nodes.some((node) => admits(node, 'update'));
}

function isThere(world: World, { index, token }: { index: number; token: string }): boolean {
  const { isUp, replica, token: own } = world.nodes[index]!;
  return isUp && String(own) === token && replica !== undefined && world.live[index] === own;
}

/** Throws when something is wrong in this world. */
export function inspect(world: World): void {
  const serving = world.nodes.filter((node) => admits(node, 'read'));
  if (serving.length > 1) throw new Error('two serve');
  for (const node of serving) inspectServing(world, node);
  for (const owner of world.head.inSync) {
    if (!isThere(world, owner)) continue;
    const node = world.nodes[owner.index]!;
    for (const update of world.acknowledged) {
      if (!node.applied.includes(update) && !has(node, update)) {
        throw new Error(`update ${update} was acknowledged and is not at in-sync member ${owner.index}`);
      }
    }
  }
  const applied = world.nodes.filter(({ replica }) => replica !== undefined).map((node) => node.applied);
  for (const one of applied) {
    if (new Set(one).size !== one.length) throw new Error(`an update is applied twice: ${one}`);
    for (const other of applied) {
      if (!one.startsWith(other) && !other.startsWith(one)) throw new Error(`copies differ: ${one} and ${other}`);
    }
  }
}

function inspectServing({ acknowledged, head }: World, { index, token, applied }: NodeState): void {
  for (const update of acknowledged) {
    if (!applied.includes(update)) throw new Error(`${index} serves without update ${update}, which was acknowledged`);
  }
  const { primary } = head;
  const me = ownerOf(index, token);
  if (primary.index !== me.index || primary.token !== me.token)
    throw new Error(`${index} serves and is not the primary`);
}

export interface Explored extends Searched {
  readonly highestEpoch: number;
}

/** Throws with the shortest way to what is wrong. */
export function explore(shape: Shape, most?: number): Explored {
  let highestEpoch = 0;
  const model: Model<World> = {
    first: firstWorld(shape.nodes, shape.copies),
    keyOf,
    inspect: (world) => {
      inspect(world);
      highestEpoch = Math.max(highestEpoch, world.head.epoch);
    },
    stepsFrom: (world) => stepsFrom(world, shape),
    isEnd: (world) => isEnd(world, shape),
  };
  const searched = search(model, most);
  return { ...searched, highestEpoch };
}
