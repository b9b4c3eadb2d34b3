/** What a primary does about copies, in which order, and what must be known before. */

import { describe, expect, it } from 'vitest';
import { type CopiesView, dueCopies, type SeenCopies, type SeenSite } from '../../../src/core/units/due-copies.ts';
import * as fc from '../../properties.ts';

const MiB = 2 ** 20;
const up = (index: number): SeenSite => ({ index, status: 'up', host: undefined, zone: undefined });
const at = (index: number, status: SeenSite['status']): SeenSite => ({ ...up(index), status });
const NONE = { joins: [], handOvers: [], removals: [] };

const unit = (number: number, inSync: readonly number[], bytes: number | undefined = MiB): SeenCopies => {
  return { unit: number, leader: inSync[0], bytes, inSync };
};

const ledBy = (me: number, units: readonly SeenCopies[]) =>
  new Map(units.flatMap((one) => (one.leader === me ? [[one.unit, one.inSync] as const] : [])));

const viewOf = (me: number, units: readonly SeenCopies[], more: Partial<CopiesView> = {}): CopiesView => ({
  ...{ me, isLeaving: false, units, led: ledBy(me, units), joining: new Map(), handingOver: new Map() },
  ...{ pservers: [up(0), up(1)], replicas: 2, ...more },
});

/** Units of 0 and 1, each with a copy at the other one. */
const even = [unit(0, [0, 1]), unit(1, [1, 0]), unit(2, [0, 1]), unit(3, [1, 0])];

describe('what is due', () => {
  it('is nothing when all copies are where they should be', () => {
    expect(dueCopies(viewOf(0, even))).toEqual(NONE);
  });

  it('is a join where a copy is missing, once', () => {
    const units = [unit(0, [0]), ...even.slice(1)];
    expect(dueCopies(viewOf(0, units))).toEqual({ ...NONE, joins: [{ unit: 0, to: 1 }] });
    expect(dueCopies(viewOf(0, units, { joining: new Map([[0, new Set([1])]]) }))).toEqual(NONE);
  });

  it('is a hand-over only when all copies that are wanted are in sync', () => {
    // 0 leaves: its units go to 1, with copies at 2.
    const leaves = { isLeaving: true, pservers: [at(0, 'leaving'), up(1), up(2)] };
    const units = [unit(0, [0, 1]), unit(1, [1, 2])];
    expect(dueCopies(viewOf(0, units, leaves))).toEqual({ ...NONE, joins: [{ unit: 0, to: 2 }] });
    const joining = new Map([[0, new Set([2])]]);
    expect(dueCopies(viewOf(0, units, { ...leaves, joining }))).toEqual(NONE);
    const joined = [unit(0, [0, 1, 2]), unit(1, [1, 2])];
    const due = dueCopies(viewOf(0, joined, leaves))!;
    expect([due.joins, due.handOvers.map((one) => one.unit), due.removals]).toEqual([[], [0], []]);
    const handingOver = new Map(due.handOvers.map((one) => [one.unit, one.to]));
    expect(dueCopies(viewOf(0, joined, { ...leaves, handingOver }))).toEqual(NONE);
  });

  it('is a removal only when all copies that are wanted are in sync, and none is being made', () => {
    const pservers = [up(0), at(1, 'leaving'), up(2)];
    const two = [unit(0, [0, 1]), unit(1, [2, 0])];
    expect(dueCopies(viewOf(0, two, { pservers }))).toEqual({ ...NONE, joins: [{ unit: 0, to: 2 }] });
    const three = [unit(0, [0, 1, 2]), unit(1, [2, 0])];
    expect(dueCopies(viewOf(0, three, { pservers }))).toEqual({ ...NONE, removals: [{ unit: 0, from: 1 }] });
    const joining = new Map([[0, new Set([3])]]);
    expect(dueCopies(viewOf(0, three, { pservers, joining }))).toEqual(NONE);
  });

  it('removes a copy that leaves when no other pserver could replace it', () => {
    const pservers = [up(0), at(1, 'leaving')];
    expect(dueCopies(viewOf(0, [unit(0, [0, 1])], { pservers }))!.removals).toEqual([{ unit: 0, from: 1 }]);
  });

  it('is nothing when all leave', () => {
    const pservers = [at(0, 'leaving'), at(1, 'leaving')];
    expect(dueCopies(viewOf(0, even, { isLeaving: true, pservers }))).toEqual(NONE);
  });

  it('believes what this pserver knows itself of the copies of its units', () => {
    const led = new Map([
      [0, [0]],
      [2, [0, 1]],
    ]);
    expect(dueCopies(viewOf(0, even, { led }))!.joins).toEqual([{ unit: 0, to: 1 }]);
  });

  it('counts a unit that is being handed over as its target has it', () => {
    const units = [0, 1, 2, 3].map((number) => unit(number, [0, 1]));
    const due = dueCopies(viewOf(0, units))!;
    expect(due.handOvers).toHaveLength(2);
    const others = units.filter((one) => !due.handOvers.some((other) => other.unit === one.unit));
    const handingOver = new Map(others.map((one) => [one.unit, 1]));
    expect(dueCopies(viewOf(0, units, { handingOver }))).toEqual(NONE);
  });

  it.each<[string, readonly SeenCopies[], Partial<CopiesView>]>([
    ['a size', [{ ...even[0]!, bytes: undefined }, ...even.slice(1)], {}],
    ['a leader', [...even, { unit: 4, leader: undefined, bytes: MiB, inSync: [] }], {}],
    ['whether a pserver serves', even, { pservers: [up(0), up(1), at(2, 'unknown')] }],
    ['who leads a unit that has just left', even, { led: new Map([[0, [0]]]) }],
  ])('is unknown while %s is unknown, unless it leaves', (_, units, unknown) => {
    expect(dueCopies(viewOf(0, units, unknown))).toBeUndefined();
    const due = dueCopies(viewOf(0, units, { ...unknown, isLeaving: true }))!;
    expect(due.joins.length + due.handOvers.length).toBeGreaterThan(0);
    expect([...due.joins, ...due.handOvers].every(({ to }) => to === 1)).toBe(true);
    expect(due.removals).toEqual([]);
  });
});

describe('pservers that do what is due, in any order', () => {
  interface Cluster {
    readonly units: SeenCopies[];
    readonly pservers: readonly SeenSite[];
    readonly replicas: number;
  }

  type Step = (cluster: Cluster) => SeenCopies;

  function stepsOf({ units, pservers, replicas }: Cluster): Step[] {
    return pservers.flatMap(({ index, status }) => {
      const due = dueCopies(viewOf(index, units, { pservers, replicas, isLeaving: status === 'leaving' }))!;
      const change = (number: number, set: (inSync: readonly number[]) => readonly number[]): Step => {
        return (cluster) => unit(number, set(cluster.units[number]!.inSync), cluster.units[number]!.bytes);
      };
      return [
        ...due.joins.map(({ unit: one, to }) => change(one, (inSync) => [...inSync, to])),
        ...due.handOvers.map(({ unit: one, to }) => change(one, (all) => [to, ...all.filter((other) => other !== to)])),
        ...due.removals.map(({ unit: one, from }) => change(one, (all) => all.filter((other) => other !== from))),
      ];
    });
  }

  const clusters = fc
    .record({
      statuses: fc.array(fc.constantFrom('up' as const, 'up' as const, 'leaving' as const), { maxLength: 6 }),
      members: fc.array(
        fc.record({ inSync: fc.uniqueArray(fc.nat(6), { minLength: 1, maxLength: 4 }), bytes: fc.nat(8 * MiB) }),
        { minLength: 1, maxLength: 24, size: 'max' },
      ),
      replicas: fc.integer({ min: 1, max: 4 }),
      hosts: fc.array(fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }), { minLength: 7, maxLength: 7 }),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 50, size: 'max' }),
    })
    .map(({ statuses, members, replicas, hosts, picks }) => {
      const pservers = [up(0), ...statuses.map((status, index) => at(index + 1, status))].map((one, index) => {
        return { ...one, host: hosts[index] };
      });
      const units = members.map(({ inSync, bytes }, number) => {
        return unit(number, [...new Set(inSync.map((one) => one % pservers.length))], bytes);
      });
      return { cluster: { units, pservers, replicas }, picks };
    });

  it('come to an end, and no unit loses a copy before it has all that are wanted', () => {
    fc.assert(
      fc.property(clusters, ({ cluster, picks }) => {
        const staying = new Set(cluster.pservers.flatMap(({ index, status }) => (status === 'up' ? [index] : [])));
        const wanted = Math.min(cluster.replicas, staying.size);
        let steps = stepsOf(cluster);
        let done = 0;
        for (; steps.length > 0; steps = stepsOf(cluster)) {
          const next = steps[picks[done % picks.length]! % steps.length]!(cluster);
          const before = cluster.units[next.unit]!.inSync;
          const isRemoval = next.inSync.length < before.length;
          const left = next.inSync.filter((index) => staying.has(index));
          if (isRemoval) expect(left.length).toBeGreaterThanOrEqual(wanted);
          cluster.units[next.unit] = next;
          done += 1;
          // Each unit: all copies join, others leave, and it is handed over; twice.
          expect(done).toBeLessThanOrEqual(cluster.units.length * 2 * (4 + 4 + 1));
        }
        for (const { inSync } of cluster.units) {
          expect(inSync).toHaveLength(wanted);
          for (const index of inSync) expect(staying).toContain(index);
        }
      }),
      { numRuns: 200 },
    );
  });
});
