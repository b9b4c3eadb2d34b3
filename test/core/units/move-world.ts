/**
 * Two pservers, a store and a network. A world is plain data; what happens makes another one, or gives the same when
 * nothing has changed.
 */
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';
import type { HandOver } from '../../../src/core/units/move-source-events.ts';
import type { SeenHead } from '../../../src/core/units/move-target.ts';
import {
  decided,
  deliver,
  messageOf,
  nameOf,
  one,
  ownerOf,
  type PserverState,
  type Reaction,
  react,
  SHARDS,
  started,
  submitToTarget,
} from './move-pserver.ts';

export interface World {
  readonly head: SeenHead;
  /** Index → token in the store, 0 when its lease has ended. */
  readonly live: readonly number[];
  /** Transactions whose outcome is unknown, or whose sender died: each may take effect at any time. */
  readonly late: readonly string[];
  readonly pservers: readonly PserverState[];
  /** All messages ever sent, ascending: each may arrive at any time, any number of times, or never. */
  readonly sent: readonly number[];
  /** Updates whose trainer was told that they are applied. */
  readonly acknowledged: string;
  /** What has happened so often. */
  readonly moves: number;
  readonly crashes: number;
  readonly lostAnswers: number;
  readonly abandons: number;
}

const headOf = (epoch: number, primary: UnitOwner): SeenHead => ({ epoch, primary, inSync: [primary] });

export function firstWorld(): World {
  const leader = one({ ...started(0, 1), owned: { epoch: 1, logs: SHARDS.map(() => ''), attempts: 0 } });
  return {
    head: headOf(1, ownerOf(0, 1)),
    live: [1, 1],
    late: [],
    pservers: [leader, started(1, 1)],
    sent: [],
    acknowledged: '',
    moves: 0,
    crashes: 0,
    lostAnswers: 0,
    abandons: 0,
  };
}

/** Equal for equal worlds only. */
export function keyOf({ pservers, sent, head, ...rest }: World): string {
  const { primary, epoch } = head;
  const small = [epoch, primary.index, Number(primary.token), ...pservers.map(nameOf), ...rest.live];
  const counts = [rest.moves, rest.crashes, rest.lostAnswers, rest.abandons, sent.length];
  return `${String.fromCharCode(...small, ...counts, ...sent)}${rest.acknowledged}/${rest.late.join()}`;
}

function put<T>(all: readonly T[], at: number, to: T): T[] {
  const copy = [...all];
  copy[at] = to;
  return copy;
}

const withPserver = (world: World, pserver: PserverState): World => ({
  ...world,
  pservers: put(world.pservers, pserver.index, one(pserver)),
});

const union = <T>(all: readonly T[], more: readonly T[]): T[] => [...new Set([...all, ...more])];

/** Something happens to one pserver: `what` names it. */
export function happen(world: World, index: number, what: string, run: (reaction: Reaction) => void): World {
  const before = world.pservers[index]!;
  const { pserver, sent, acknowledged } = react(before, what, run);
  const newlySent = sent.filter((number) => !world.sent.includes(number));
  const newlyAcknowledged = acknowledged.filter((update) => !world.acknowledged.includes(update));
  if (pserver === before && newlySent.length === 0 && newlyAcknowledged.length === 0) return world;
  return {
    ...world,
    pservers: put(world.pservers, index, pserver),
    sent: newlySent.length === 0 ? world.sent : union(world.sent, newlySent).sort((a, b) => a - b),
    acknowledged: union([...world.acknowledged], newlyAcknowledged)
      .sort()
      .join(''),
  };
}

export function arrive(world: World, number: number): World {
  const { to } = messageOf(number);
  if (!world.pservers[to]!.isUp) return world;
  return happen(world, to, `message ${number}`, (reaction) => deliver(reaction, number));
}

/** A pserver reads head and token of its primary at one revision. */
export function see(world: World, index: number): World {
  const { head, live } = world;
  const { owned, target, token } = world.pservers[index]!;
  const isNamed = head.primary.index === index && head.primary.token === String(token);
  if (isNamed && owned === undefined && target.copy === undefined) {
    throw new Error(`pserver ${index} has no copy of the unit that it is to lead`);
  }
  const isPrimaryAlive = live[head.primary.index] === Number(head.primary.token);
  const what = `see ${head.epoch} ${head.primary.index} ${head.primary.token} ${isPrimaryAlive}`;
  return happen(world, index, what, (reaction) => submitToTarget(reaction, { type: 'seen', head, isPrimaryAlive }));
}

// ---- the store

const canLand = ({ head, live }: World, { from, alive }: HandOver): boolean =>
  head.epoch === from && alive.every(({ index, token }) => live[index] === Number(token));

/** The transaction takes effect, if it can. */
export function land(world: World, change: HandOver): World {
  if (!canLand(world, change)) return world;
  const { primary, epoch } = change;
  if (world.live[primary.index] !== Number(primary.token)) throw new Error('the head names a token that is gone');
  const [source, target] = [world.pservers[world.head.primary.index]!, world.pservers[primary.index]!];
  const isTarget = target.isUp && target.token === Number(primary.token);
  if (isTarget && source.owned !== undefined && source.owned.logs.join() !== target.copy.join()) {
    throw new Error(`the copies differ: ${source.owned.logs.join()} and ${target.copy.join()}`);
  }
  return { ...world, head: headOf(epoch, primary) };
}

/** The store answers the transaction of the source. */
export function decide(world: World, index: number, change: HandOver): World {
  const landed = land(world, change);
  const { primary } = world.head;
  const what = landed === world ? `failed ${primary.index} ${primary.token}` : 'succeeded';
  return happen(landed, index, what, (reaction) => {
    if (landed === world) decided(reaction, { type: 'decided', outcome: 'failed', primary });
    else decided(reaction, { type: 'decided', outcome: 'succeeded' });
  });
}

const keepLate = (world: World, change: HandOver): World => ({
  ...world,
  late: union(world.late, [JSON.stringify(change)]).sort(),
});

/** The answer of the store is lost. */
export const loseOutcome = (world: World, index: number, change: HandOver): World =>
  happen(keepLate(world, change), index, 'unknown', (reaction) =>
    decided(reaction, { type: 'decided', outcome: 'unknown' }),
  );

// ---- processes

export function crash(world: World, index: number): World {
  const { token, outgoing } = world.pservers[index]!;
  const down = withPserver({ ...world, crashes: world.crashes + 1 }, { ...started(index, token), isUp: false });
  return outgoing?.proposed === undefined ? down : keepLate(down, outgoing.proposed);
}

export const expire = (world: World, index: number): World => ({ ...world, live: put(world.live, index, 0) });

export function restart(world: World, index: number): World {
  const token = world.pservers[index]!.token + 1;
  return withPserver({ ...world, live: put(world.live, index, token) }, started(index, token));
}

/** Takes the unit of a dead leader from its file, an empty one: what was acknowledged died with the leader. */
export function load(world: World, index: number): World {
  const epoch = world.head.epoch + 1;
  const pserver = world.pservers[index]!;
  const owned = { epoch, logs: SHARDS.map(() => ''), attempts: 0 };
  const head = headOf(epoch, ownerOf(index, pserver.token));
  return withPserver({ ...world, head, acknowledged: '' }, { ...pserver, owned });
}
