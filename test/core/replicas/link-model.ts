/**
 * All that can happen to two pservers that are each other's backups (link-cluster.ts). A world is the way to it, done
 * again each time: the machines of the links are not plain data. Worlds count as equal when all that can be seen from
 * outside is: copies, room, and what is under way.
 */
import { type Model, type Searched, type Step, search } from '../explore.ts';
import { type Cluster, type Connection, LinkCluster } from './link-cluster.ts';

export interface LinkShape extends Cluster {
  /** Of each pserver. */
  readonly pushes: number;
  readonly cuts: number;
  readonly silences: number;
}

interface World {
  readonly way: readonly string[];
  readonly cluster: LinkCluster;
  readonly pushed: readonly number[];
  readonly cuts: number;
  readonly silences: number;
}

/** What a replica or a message shows; a payload is the number of its push. */
const shown = (value: unknown): string =>
  JSON.stringify(value, (key, one: unknown) => (key === 'payload' ? (one as { id: number }).id : one));

function keyOf({ cluster, pushed, cuts, silences }: World): string {
  const pservers = cluster.pservers.map((pserver) => [
    [...pserver.units].map(([unit, { replica, applied, proposed }]) => [unit, replica.state(), applied, proposed]),
    pserver.links.queue.waiting,
    cluster.pservers.map(({ me }) => {
      const { room } = pserver.inboxOf(me);
      return [pserver.links.takenAt(me), room.windowTakenBytes, room.lateTakenBytes];
    }),
  ]);
  const connections = cluster.connections.map(({ isOpen, requests, replies, inFlight }) => [
    ...[isOpen, requests, replies, inFlight],
  ]);
  return shown([pservers, connections, pushed, cuts, silences]);
}

function happen(shape: LinkShape, way: readonly string[]): World {
  const cluster = new LinkCluster(shape);
  const pushed = cluster.pservers.map(() => 0);
  const count = (what: string): number => way.filter((one) => one.startsWith(what)).length;
  for (const one of way) {
    const [what, at = 0, unit = 0] = one.split(' ').map((word, place) => (place === 0 ? word : Number(word)));
    const index = Number(at);
    const connection: Connection = cluster.connections[index]!;
    if (what === 'push') {
      cluster.push(index);
      pushed[index]! += 1;
    } else if (what === 'deliver') cluster.deliver(connection);
    else if (what === 'reply') cluster.reply(connection);
    else if (what === 'cut') cluster.cut(connection);
    else if (what === 'connect') cluster.connect(connection);
    else if (what === 'silence') cluster.silence(index);
    else if (what === 'decide') cluster.decide(Number(unit), index);
    else if (what === 'see') cluster.see(Number(unit), index);
  }
  return { way, cluster, pushed, cuts: count('cut'), silences: count('silence') };
}

function namesFrom({ cluster, pushed, cuts, silences }: World, shape: LinkShape): [name: string, isFault: boolean][] {
  const names: [string, boolean][] = [];
  pushed.forEach((pushes, index) => {
    if (pushes < shape.pushes) names.push([`push ${index}`, false]);
    if (silences < shape.silences) names.push([`silence ${index}`, true]);
  });
  cluster.connections.forEach(({ requests, replies, isOpen }, at) => {
    if (requests.length > 0) names.push([`deliver ${at}`, false]);
    if (replies.length > 0) names.push([`reply ${at}`, false]);
    if (!isOpen) names.push([`connect ${at}`, false]);
    else if (cuts < shape.cuts) names.push([`cut ${at}`, true]);
  });
  cluster.pservers.forEach(({ units }, index) => {
    for (const [unit, { proposed, replica }] of units) {
      if (proposed !== undefined) names.push([`decide ${index} ${unit}`, false]);
      if (replica.state().head?.epoch !== cluster.heads[unit]!.epoch) names.push([`see ${index} ${unit}`, false]);
    }
  });
  return names;
}

function isEnd({ cluster, pushed }: World, { pushes }: LinkShape): boolean {
  if (pushed.some((one) => one < pushes)) return false;
  if (cluster.connections.some(({ inFlight, isOpen }) => inFlight > 0 || !isOpen)) return false;
  return cluster.pservers.every(({ links, units, inboxes }) => {
    const isHeld = [...inboxes.values()].some(({ room }) => room.windowTakenBytes + room.lateTakenBytes > 0);
    const isTaken = cluster.pservers.some(({ me }) => links.takenAt(me) > 0);
    const isStaged = [...units.values()].some(({ replica }) => replica.staged().length > 0);
    return !isHeld && !isTaken && !isStaged && links.queue.waiting === 0;
  });
}

/** Throws with the shortest way to what is wrong. */
export function exploreLinks(shape: LinkShape): Searched {
  const model: Model<World> = {
    first: happen(shape, []),
    keyOf,
    inspect: () => {},
    stepsFrom: (world) =>
      namesFrom(world, shape).map(
        ([name, isFault]): Step<World> => ({ name, isFault, to: happen(shape, [...world.way, name]) }),
      ),
    isEnd: (world) => isEnd(world, shape),
  };
  return search(model);
}
