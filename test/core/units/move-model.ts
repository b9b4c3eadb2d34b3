/**
 * All that can happen to the moves of one unit between two pservers (docs/copies.md): which worlds can be reached,
 * and from which of them the end can be. The pservers decide by the real machines.
 */
import type { HandOver } from '../../../src/core/units/move-source-events.ts';
import { type Model, type Searched, type Step, search } from '../explore.ts';
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

type Add = (to: World, isFault?: boolean) => void;

function stepsFrom(world: World, shape: Shape): Step<World>[] {
  const steps: Step<World>[] = [];
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

export interface Explored extends Searched {
  readonly highestEpoch: number;
}

/** Throws with the shortest way to what is wrong. */
export function explore(shape: Shape): Explored {
  let highestEpoch = 0;
  const model: Model<World> = {
    first: firstWorld(),
    keyOf,
    inspect: (world) => {
      inspect(world);
      highestEpoch = Math.max(highestEpoch, world.head.epoch);
    },
    stepsFrom: (world) => stepsFrom(world, shape),
    isEnd: (world) => isEnd(world, shape),
  };
  const searched = search(model);
  return { ...searched, highestEpoch };
}
