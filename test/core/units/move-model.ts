/**
 * All that can happen to the moves of one unit between two pservers (DESIGN §7): which worlds can be reached, and from
 * which of them the end can be. The pservers decide by the real machines.
 */
import type { HandOver } from '../../../src/core/units/move-source-events.ts';
import { admits, begin, ownerOf, push, sourceTick, submitToSource, targetTick } from './move-pserver.ts';
import {
  arrive,
  crash,
  decide,
  expire,
  firstWorld,
  happen,
  keyOf,
  land,
  load,
  loseOutcome,
  restart,
  see,
  type World,
} from './move-world.ts';

/** How often each may happen. */
export interface Shape {
  readonly updates: number;
  /** Moves that begin. */
  readonly moves: number;
  readonly crashes: number;
  /** Answers to updates that do not arrive. */
  readonly lostAnswers: number;
  /** Moves that the source's shell abandons, as when the plan has changed. */
  readonly abandons: number;
}

interface Step {
  readonly to: World;
  /** No process may rely on it. */
  readonly isFault: boolean;
}

type Add = (to: World, isFault?: boolean) => void;

function stepsFrom(world: World, shape: Shape): Step[] {
  const steps: Step[] = [];
  const add: Add = (to, isFault = false) => {
    if (to !== world) steps.push({ to, isFault });
  };
  for (const number of world.sent) add(arrive(world, number));
  for (const late of world.late) add(land(world, JSON.parse(late) as HandOver), true);
  world.pservers.forEach(({ isUp }, index) => {
    if (isUp) addProcess(world, index, shape, add);
    else if (world.live[index] !== 0) add(expire(world, index));
    // One that runs must not need the other.
    else add(restart(world, index), world.pservers[1 - index]!.isUp);
  });
  return steps;
}

function addProcess(world: World, index: number, shape: Shape, add: Add): void {
  const { owned, target, outgoing } = world.pservers[index]!;
  const { primary } = world.head;
  if (world.crashes < shape.crashes) add(crash(world, index), true);
  add(see(world, index));
  add(happen(world, index, 'target tick', targetTick));
  if (outgoing?.machine.heardMs === 0) add(happen(world, index, 'source tick', sourceTick));
  const isOrphan = world.live[primary.index] !== Number(primary.token);
  if (isOrphan && owned === undefined && target.copy === undefined) add(load(world, index));
  addPushes(world, index, shape, add);
  if (outgoing !== undefined) addMove(world, index, shape, add);
  else if (owned !== undefined) addBegin(world, index, shape, add);
}

function addPushes(world: World, index: number, shape: Shape, add: Add): void {
  const pserver = world.pservers[index]!;
  for (let update = 0; update < shape.updates; update++) {
    const text = String(update);
    const isRepeat = pserver.owned?.logs[0]?.includes(text) === true;
    if (!admits(pserver, isRepeat ? 'read' : 'update')) continue;
    add(happen(world, index, `push ${text}`, (reaction) => push(reaction, text, true)));
    if (world.lostAnswers >= shape.lostAnswers || isRepeat) continue;
    const unanswered = happen(world, index, `lose ${text}`, (reaction) => push(reaction, text, false));
    add({ ...unanswered, lostAnswers: world.lostAnswers + 1 }, true);
  }
}

function addBegin(world: World, index: number, shape: Shape, add: Add): void {
  const token = world.live[1 - index]!;
  if (token === 0 || world.moves >= shape.moves) return;
  const begun = happen(world, index, `begin ${token}`, (reaction) => begin(reaction, ownerOf(1 - index, token)));
  add({ ...begun, moves: world.moves + 1 }, true);
}

function addMove(world: World, index: number, shape: Shape, add: Add): void {
  const { proposed, isCaughtUp, name } = world.pservers[index]!.outgoing!;
  if (isCaughtUp) add(happen(world, index, 'handOver', (reaction) => submitToSource(reaction, { type: 'handOver' })));
  if (world.live[name.target.index] !== Number(name.target.token)) {
    add(happen(world, index, 'targetGone', (reaction) => submitToSource(reaction, { type: 'targetGone' })));
  }
  if (proposed !== undefined) {
    add(decide(world, index, proposed));
    add(loseOutcome(world, index, proposed), true);
  }
  if (world.abandons >= shape.abandons) return;
  const abandoned = happen(world, index, 'abandon', (reaction) =>
    submitToSource(reaction, { type: 'abandon', reason: 'the plan has changed' }),
  );
  add({ ...abandoned, abandons: world.abandons + 1 }, true);
}

/** Everything is applied and answered, and no process has anything left of a move. */
export function isEnd({ pservers, acknowledged }: World, { updates }: Shape): boolean {
  const isQuiet = pservers.every(({ outgoing, target }) => outgoing === undefined && target.copy === undefined);
  return isQuiet && acknowledged.length === updates && pservers.some((one) => admits(one, 'update'));
}

/** Throws when something is wrong in this world. */
export function inspect(world: World): void {
  const serving = world.pservers.filter((one) => admits(one, 'read'));
  if (serving.length > 1) throw new Error('two pservers serve the unit');
  world.pservers.forEach((one, index) => {
    if (!admits(one, 'read')) return;
    const { epoch, logs } = one.owned!;
    const { primary } = world.head;
    if (epoch !== world.head.epoch || primary.index !== index || primary.token !== String(one.token)) {
      throw new Error(`pserver ${index} serves, but the head does not name it`);
    }
    for (const log of logs) {
      if (log !== logs[0]) throw new Error(`shards differ: ${logs.join()}`);
      if (new Set(log).size !== log.length) throw new Error(`an update is applied twice: ${log}`);
      for (const update of world.acknowledged) {
        if (!log.includes(update)) throw new Error(`update ${update} was acknowledged and is lost: ${log}`);
      }
    }
  });
}

export interface Explored {
  readonly worlds: number;
  readonly ends: number;
  readonly highestEpoch: number;
}

/** Breadth first. Throws with the shortest way to what is wrong. */
export function explore(shape: Shape): Explored {
  const known = new Map<string, number>();
  const worlds: World[] = [];
  const cameFrom: number[] = [];
  /** From where steps that may be relied on lead here. */
  const relied: number[][] = [];
  const numberOf = (world: World, from: number): number => {
    const key = keyOf(world);
    const number = known.get(key);
    if (number !== undefined) return number;
    known.set(key, worlds.length);
    cameFrom.push(from);
    relied.push([]);
    return worlds.push(world) - 1;
  };
  const trace = (at: number): string => {
    const way: string[] = [];
    for (let step = at; step >= 0; step = cameFrom[step]!) way.push(JSON.stringify(worlds[step]));
    return way.reverse().join('\n');
  };
  let highestEpoch = 0;
  numberOf(firstWorld(), -1);
  for (let at = 0; at < worlds.length; at++) {
    try {
      inspect(worlds[at]!);
      highestEpoch = Math.max(highestEpoch, worlds[at]!.head.epoch);
      for (const { to, isFault } of stepsFrom(worlds[at]!, shape)) {
        const number = numberOf(to, at);
        if (!isFault && number !== at) relied[number]!.push(at);
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${trace(at)}`, { cause: error });
    }
  }
  const reaches = new Uint8Array(worlds.length);
  const open = [...worlds.keys()].filter((at) => isEnd(worlds[at]!, shape));
  const ends = open.length;
  for (const at of open) reaches[at] = 1;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const before of relied[at]!) {
      if (reaches[before] === 1) continue;
      reaches[before] = 1;
      open.push(before);
    }
  }
  const stuck = reaches.indexOf(0);
  if (stuck !== -1) throw new Error(`from here no way leads to the end\n${trace(stuck)}`);
  return { worlds: worlds.length, ends, highestEpoch };
}
