/**
 * Pservers that have copies of each other's units, with the real machines, links, hosts and connections: whatever
 * breaks or stops, in the end every update is committed or dropped, no update waits, and no room is taken.
 */

import { describe, expect, it } from 'vitest';
import { isIn, keyOfOwner } from '../../../../src/core/replicas/messages.ts';
import type { Cluster } from '../../../core/replicas/link-cluster.ts';
import * as fc from '../../../properties.ts';
import { HostedCluster } from './hosted-cluster.ts';

const TWO: Cluster = {
  ...{ pservers: 2, pushBytes: 100, windowPushes: 1 },
  copies: [
    [0, 1],
    [1, 0],
    [0, 1],
  ],
};
const THREE: Cluster = {
  ...{ pservers: 3, pushBytes: 100, windowPushes: 3 },
  copies: [
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 2],
    [1, 0],
  ],
};

const PUSHES = ['push', 'push', 'push', 'part', 'part', 'cancel'] as const;
const FAULTS = [...PUSHES, 'break', 'break', 'freeze', 'handOver', 'repair'] as const;
type Kind = (typeof FAULTS)[number];

function happen(cluster: HostedCluster, kind: Kind): void {
  const { dice, pservers, heads } = cluster;
  const index = dice.whole(0, pservers.length - 1);
  if (kind === 'push' || kind === 'part') cluster.push(index, kind === 'part');
  else if (kind === 'cancel') cluster.cancel(index);
  else if (kind === 'break') cluster.break();
  else if (kind === 'freeze') cluster.freeze(index, dice.pick([100, 1_000, 5_000]));
  else if (kind === 'handOver') cluster.handOver(dice.whole(0, heads.length - 1), index);
  else cluster.repair();
}

async function happenings(cluster: HostedCluster, kinds: readonly Kind[], count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    happen(cluster, cluster.dice.pick(kinds));
    await cluster.pass(cluster.dice.pick([0, 0, 5, 30, 200]));
  }
}

/** Nothing waits, nothing is staged, no room is taken, and every unit has its copies. */
function isQuiet({ pservers, heads, isAlive }: HostedCluster, shape: Cluster): boolean {
  const isComplete = heads.every(({ primary, inSync }, unit) => {
    const wanted = shape.copies[unit]!.filter((index) => isAlive(pservers[index]!.me));
    return isAlive(primary) && wanted.every((index) => isIn(inSync, pservers[index]!.me));
  });
  const alive = pservers.filter(({ me }) => isAlive(me));
  return (
    isComplete &&
    alive.every((pserver) => {
      const isIdle = [...pserver.units.values()].every(({ replica }) => replica.staged().length === 0);
      return isIdle && pserver.asked.size === 0 && alive.every(({ me }) => pserver.host.takenAt(me) === 0);
    })
  );
}

function inspect({ pservers, heads, isAlive, bugs }: HostedCluster): void {
  expect(bugs).toEqual([]);
  for (const { me, sessions } of pservers) {
    if (!isAlive(me)) continue;
    for (const other of pservers) {
      const room = sessions.get(keyOfOwner(other.me))?.inbox.room;
      const held = [room?.windowTakenBytes ?? 0, room?.lateTakenBytes ?? 0];
      expect(held, `held at ${me.index} of ${other.me.index}`).toEqual([0, 0]);
    }
  }
  heads.forEach(({ primary, inSync }, unit) => {
    const { applied } = pservers[primary.index]!.units.get(unit)!;
    expect(new Set(applied).size).toBe(applied.length);
    for (const { me, units } of pservers)
      if (isIn(inSync, me) && isAlive(me))
        expect(units.get(unit)?.applied, `unit ${unit} at ${me.index}`).toEqual(applied);
    for (const { me, placed, dropped } of pservers) {
      if (!isAlive(me)) continue;
      for (const [push, placedIn] of placed) {
        if (!placedIn.includes(unit) || applied.includes(push)) continue;
        expect(
          dropped.some((one) => one.unit === unit && one.push === push),
          `push ${push}`,
        ).toBe(true);
      }
    }
  });
}

async function quiet(cluster: HostedCluster, shape: Cluster): Promise<void> {
  expect(await cluster.settle(() => isQuiet(cluster, shape)), 'it comes to rest').toBe(true);
  inspect(cluster);
}

const SHAPES: readonly [string, Cluster][] = [
  ['two are each other’s backups, with a window of one update', TWO],
  ['three with up to three copies', THREE],
];

const seeds = fc.nat(1_000_000);

describe('hosts of links', () => {
  it.each(SHAPES)('without faults every update is committed: %s', async (_, shape) => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const cluster = new HostedCluster(shape, seed);
        await quiet(cluster, shape);
        await happenings(cluster, PUSHES, 60);
        await quiet(cluster, shape);
        for (const { dropped } of cluster.pservers) expect(dropped).toEqual([]);
        expect(await cluster.end()).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it.each(SHAPES)('whatever breaks or stops, every update is committed or dropped: %s', async (_, shape) => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const cluster = new HostedCluster(shape, seed);
        await quiet(cluster, shape);
        await happenings(cluster, FAULTS, 100);
        await quiet(cluster, shape);
        expect(await cluster.end()).toBe(true);
      }),
      // 192339: a part that a copy refused comes again while another unit has the payload staged that it came with.
      { numRuns: 40, examples: [[192_339]] },
    );
  });

  it('a pserver dies, and those that are left go on', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, fc.nat(2), async (seed, killed) => {
        const cluster = new HostedCluster(THREE, seed);
        await quiet(cluster, THREE);
        await happenings(cluster, FAULTS, 40);
        // A unit whose only copy dies is lost.
        await quiet(cluster, THREE);
        await happenings(cluster, PUSHES, 20);
        cluster.kill(killed);
        await happenings(cluster, FAULTS, 40);
        await quiet(cluster, THREE);
        expect(await cluster.end()).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});
