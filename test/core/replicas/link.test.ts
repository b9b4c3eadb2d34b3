/**
 * Pservers that have copies of each other's units, with a window of one or two updates for each pair: they never wait
 * for each other in a circle, whatever is lost, cut or taken out. The machines of the units and of the links are real.
 */

import { describe, expect, it } from 'vitest';
import { isIn } from '../../../src/core/replicas/messages.ts';
import * as fc from '../../properties.ts';
import { type Cluster, LinkCluster } from './link-cluster.ts';

const TWO: Cluster = {
  pservers: 2,
  copies: [
    [0, 1],
    [1, 0],
    [0, 1],
  ],
  pushBytes: 100,
  windowPushes: 1,
};
const RING: Cluster = {
  ...TWO,
  pservers: 3,
  copies: [
    [0, 1],
    [1, 2],
    [2, 0],
  ],
};
const ALL: Cluster = {
  ...TWO,
  pservers: 3,
  copies: [
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 2],
    [1, 0],
  ],
};

type Happening = readonly [what: string, a: number, b: number];

const KINDS: readonly (readonly [string, number])[] = [
  ['push', 8],
  ['part', 4],
  ['deliver', 14],
  ['reply', 14],
  ['decide', 3],
  ['see', 3],
  ['cut', 2],
  ['connect', 3],
  ['cancel', 2],
  ['silence', 1],
  ['handOver', 1],
  ['join', 2],
];

const happenings = (kinds: readonly (readonly [string, number])[]): fc.Arbitrary<Happening[]> =>
  fc.array(
    fc.tuple(
      fc.oneof(...kinds.map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind) }))),
      fc.nat(30),
      fc.nat(30),
    ),
    { maxLength: 150, size: 'max' },
  );

function happen(cluster: LinkCluster, [what, a, b]: Happening, pushed: number[][]): void {
  const index = a % cluster.pservers.length;
  const other = b % cluster.pservers.length;
  const unit = b % cluster.heads.length;
  const connection = cluster.connections[a % cluster.connections.length]!;
  if (what === 'push' || what === 'part') {
    const id = cluster.push(index, what === 'push' ? undefined : (one) => one === unit);
    if (id !== undefined) pushed[index]!.push(id);
  } else if (what === 'deliver') cluster.deliver(connection);
  else if (what === 'reply') cluster.reply(connection);
  else if (what === 'decide') cluster.decide(unit, index);
  else if (what === 'see') cluster.see(unit, index);
  else if (what === 'cut') cluster.cut(connection);
  else if (what === 'connect') cluster.connect(connection);
  else if (what === 'silence') cluster.silence(index);
  else if (what === 'handOver') cluster.handOver(unit, a % cluster.pservers.length);
  else if (what === 'join') cluster.join(unit, a % cluster.pservers.length);
  else if (what === 'kill') cluster.kill(index);
  else if (what === 'cancel') {
    const id = pushed[index]![b % Math.max(1, pushed[index]!.length)];
    if (id === undefined) return;
    // The trainer dies while it waits, or just before its update is placed.
    if (other % 2 === 0) cluster.pservers[index]!.dying.add(id);
    else cluster.cancel(index, id);
  }
}

/** Nothing waits, no room is taken, and the copies of each unit are equal. */
function inspectQuiet(cluster: LinkCluster): void {
  cluster.pservers.forEach((pserver, index) => {
    if (!cluster.up[index]) return;
    expect(pserver.links.queue.waiting, `waiting at ${index}`).toBe(0);
    for (const other of cluster.pservers) {
      const room = pserver.inboxOf(other.me).room;
      expect([room.windowTakenBytes, room.lateTakenBytes], `held at ${index} of ${other.me.index}`).toEqual([0, 0]);
      expect(pserver.links.takenAt(other.me), `taken by ${index} at ${other.me.index}`).toBe(0);
    }
    for (const [unit, { replica }] of pserver.units) expect(replica.staged(), `unit ${unit}`).toEqual([]);
  });
  cluster.heads.forEach(({ primary, inSync }, unit) => {
    const led = cluster.pservers[primary.index]!.units.get(unit);
    if (!cluster.up[primary.index]) return;
    expect(led?.replica.admits('update'), `unit ${unit}`).toBe(true);
    for (const { me, units } of cluster.pservers) {
      if (isIn(inSync, me) && cluster.up[me.index]) expect(units.get(unit)?.applied).toEqual(led!.applied);
    }
  });
}

function inspectPushes(cluster: LinkCluster): void {
  for (const { placed, dropped } of cluster.pservers) {
    for (const [push, units] of placed) {
      for (const unit of units) {
        const { primary } = cluster.heads[unit]!;
        const { applied } = cluster.pservers[primary.index]!.units.get(unit)!;
        const times = applied.filter((one) => one === push).length;
        if (times === 0) expect(dropped.some((one) => one.unit === unit && one.push === push)).toBe(true);
        else expect(times).toBe(1);
      }
    }
  }
}

const SHAPES: readonly [string, Cluster][] = [
  ['two are each other’s backups, with a window of one update', TWO],
  ['two are each other’s backups, with a window of two updates', { ...TWO, windowPushes: 3 }],
  ['three in a ring', RING],
  ['three with three copies', ALL],
  ['three with three copies and larger windows', { ...ALL, windowPushes: 3 }],
];

const QUIET = KINDS.filter(([kind]) => ['push', 'part', 'deliver', 'reply', 'cancel'].includes(kind));

describe('links between pservers', () => {
  it.each(SHAPES)('without faults every update is committed: %s', (_, shape) => {
    fc.assert(
      fc.property(happenings(QUIET), (all) => {
        const cluster = new LinkCluster(shape);
        const pushed = cluster.pservers.map((): number[] => []);
        for (const one of all) happen(cluster, one, pushed);
        cluster.settle();
        inspectQuiet(cluster);
        for (const { dropped } of cluster.pservers) expect(dropped).toEqual([]);
        inspectPushes(cluster);
      }),
      { numRuns: 60 },
    );
  });

  it.each(SHAPES)('whatever is lost or taken out, every update is committed or dropped: %s', (_, shape) => {
    fc.assert(
      fc.property(happenings(KINDS), (all) => {
        const cluster = new LinkCluster(shape);
        const pushed = cluster.pservers.map((): number[] => []);
        for (const one of all) happen(cluster, one, pushed);
        cluster.settle();
        inspectQuiet(cluster);
        inspectPushes(cluster);
      }),
      { numRuns: 150 },
    );
  });

  it('a pserver dies, and those that are left go on', () => {
    fc.assert(
      fc.property(happenings(KINDS), fc.nat(2), happenings(KINDS), (before, killed, after) => {
        const cluster = new LinkCluster(ALL);
        const pushed = cluster.pservers.map((): number[] => []);
        for (const one of before) happen(cluster, one, pushed);
        cluster.kill(killed);
        for (const one of after) happen(cluster, one, pushed);
        cluster.settle();
        inspectQuiet(cluster);
      }),
      { numRuns: 150 },
    );
  });
});
