/** Which pservers a plan of copies makes each other's peers: evenly, and as they are already. */

import { describe, expect, it } from 'vitest';
import { planCopies } from '../../../src/core/units/plan-copies.ts';
import * as fc from '../../properties.ts';
import {
  anyInput,
  live,
  MiB,
  placed,
  replicas,
  stayingOf,
  stays,
  unitsOf,
  usesOf,
  weightsOf,
} from './copy-clusters.ts';

describe('peers', () => {
  /** So many pservers on each host, so many hosts in each zone, under any indexes. */
  const alike = fc
    .record({
      zones: fc.integer({ min: 1, max: 3 }),
      hosts: fc.integer({ min: 1, max: 3 }),
      each: fc.integer({ min: 1, max: 2 }),
      keys: fc.array(fc.nat(), { minLength: 18, maxLength: 18 }),
    })
    .map(({ zones, hosts, each, keys }) => {
      const sites = Array.from({ length: zones * hosts * each }, (_, at) => {
        return { host: `${at % (zones * hosts)}`, zone: `${at % zones}`, key: keys[at]! };
      });
      sites.sort((a, b) => a.key - b.key);
      return sites.map(({ host, zone }, at) => stays(at, host, zone));
    });

  it('makes copies as even as primaries where hosts are alike', () => {
    const units = unitsOf(fc.integer({ min: 0, max: 5 * MiB }), 48);
    fc.assert(
      fc.property(fc.record({ units, pservers: alike, replicas }), (input) => {
        const plan = planCopies(input);
        const { primaries, copies } = weightsOf(input, plan);
        if (Math.min(...primaries) === 0) return;
        const peers = Math.min(input.replicas, input.pservers.length) - 1;
        expect([...usesOf(input, plan).values()]).toEqual(input.pservers.map(() => peers));
        const ratio = Math.max(...primaries) / Math.min(...primaries);
        expect(Math.max(...copies)).toBeLessThanOrEqual(1.000001 * ratio * Math.min(...copies));
      }),
      { numRuns: 300 },
    );
  });

  it('uses each pserver as much as hosts allow: no exchange makes it more even', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planCopies(input);
        const uses = usesOf(input, plan);
        const staying = stayingOf(input);
        const hosts = new Map(staying.map((one) => [one.index, one.host ?? `only ${one.index}`]));
        const isZoned = staying.some(({ zone }) => zone !== undefined);
        if (isZoned) return;
        const hostsOf = (all: readonly number[]): number => new Set(all.map((one) => hosts.get(one))).size;
        for (const { primary, backups } of plan.values()) {
          for (const from of backups) {
            const rest = [primary, ...backups.filter((one) => one !== from)];
            for (const [to, count] of uses) {
              if (rest.includes(to) || count + 2 > uses.get(from)!) continue;
              expect(hostsOf([...rest, to])).toBeLessThan(hostsOf([...rest, from]));
            }
          }
        }
      }),
    );
  });

  it('finds a chain of exchanges where hosts forbid a single one', () => {
    const hosts = ['a', 'a', 'b', 'b', 'c', 'c'];
    const all = hosts.map((host, at) => stays(at, host));
    fc.assert(
      fc.property(fc.array(fc.uniqueArray(fc.nat(5), { maxLength: 3 }), { minLength: 6, maxLength: 6 }), (peers) => {
        const input = { units: placed(6, (owner) => peers[owner]!), pservers: all, replicas: 3 };
        expect([...usesOf(input, planCopies(input)).values()]).toEqual([2, 2, 2, 2, 2, 2]);
      }),
    );
  });

  it('changes nothing of any table in which each pserver is used as much as the others', () => {
    const turns = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(turns, fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }), (steps, order) => {
        const peersOf = (owner: number) => steps.map((step) => order[(order.indexOf(owner) + step) % 7]!);
        const units = placed(7, peersOf);
        const plan = planCopies({ units, pservers: live(7), replicas: steps.length + 1 });
        for (const { unit, leader } of units) {
          const backups = peersOf(leader!).sort((a, b) => a - b);
          expect(plan.get(unit)).toEqual({ primary: leader, backups });
        }
      }),
    );
  });

  it('changes only as many peers as a new pserver takes', () => {
    const shapes = fc.record({ count: fc.integer({ min: 2, max: 8 }), peers: fc.integer({ min: 1, max: 4 }) });
    fc.assert(
      fc.property(
        shapes.filter(({ count, peers }) => peers < count),
        ({ count, peers }) => {
          const peersOf = (owner: number) => Array.from({ length: peers }, (_, at) => (owner + at + 1) % count);
          const before = placed(count, peersOf);
          const plan = planCopies({ units: before, pservers: live(count + 1), replicas: peers + 1 });
          const changed = new Set<number>();
          for (const { primary, backups } of plan.values()) {
            if (primary === count) continue;
            const more = backups.filter((one) => !peersOf(primary).includes(one));
            if (more.length > 0) changed.add(primary);
            expect(more).toEqual(more.length === 0 ? [] : [count]);
          }
          expect(changed.size).toBe(peers);
        },
      ),
    );
  });

  it('keeps the copy that most units of a pserver have where not all can stay', () => {
    const units = placed(3, () => []).map((one) => {
      return one.leader === 0 ? { ...one, inSync: [0, one.unit < 9 ? 2 : 1] } : one;
    });
    const plan = planCopies({ units, pservers: live(3), replicas: 2 });
    expect([0, 1, 2].map((one) => plan.get(one)!.backups)).toEqual([[1], [2], [0]]);
  });

  it('evens out what is backed up: a pserver without units is not counted', () => {
    const leaders = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 8], { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(leaders, replicas, (indexes, wanted) => {
        const units = indexes.map((leader, unit) => ({ unit, bytes: MiB, leader, last: undefined, inSync: [leader] }));
        const input = { units, pservers: live(9), replicas: wanted };
        const uses = [...usesOf(input, planCopies(input)).values()];
        expect(Math.max(...uses) - Math.min(...uses)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('takes from the owner that loses least', () => {
    // Pserver 1 backs up 0 and 2, and 3 no one: of the units of 0, less is at 1.
    const units = placed(4, (owner) => [[1], [2], [1], [0]][owner]!);
    const half = units.map((one) => (one.leader === 0 && one.unit < 24 ? { ...one, inSync: [0] } : one));
    const plan = planCopies({ units: half, pservers: live(4), replicas: 2 });
    expect([plan.get(0)!.backups, plan.get(2)!.backups]).toEqual([[3], [1]]);
  });

  it('lets an in-sync copy lead what a leaving pserver has, and what a dead one had', () => {
    const units = placed(4, (owner) => [(owner + 1) % 4]);
    const leaving = live(4).map((one) => ({ ...one, leaving: one.index === 3 }));
    const parted = planCopies({ units, pservers: leaving, replicas: 2 });
    const leaders = (from: number) =>
      units.filter(({ leader }) => leader === from).map(({ unit }) => parted.get(unit)!.primary);
    // Pserver 0 has copies of them all. What is too much for it then goes on, from it alone.
    expect([...leaders(0), ...leaders(3)].filter((one) => one === 0)).toHaveLength(16);
    expect([...leaders(1), ...leaders(2)]).toEqual([...Array(12).fill(1), ...Array(12).fill(2)]);
    const dead = { ...units[3]!, leader: undefined, last: 1, inSync: [2] };
    const left = [...units.filter(({ leader }) => leader !== 3), dead];
    expect(planCopies({ units: left, pservers: live(3), replicas: 2 }).get(3)!.primary).toBe(2);
  });
});
