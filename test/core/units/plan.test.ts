/** What a plan promises, for any cluster. */

import { describe, expect, it } from 'vitest';
import {
  movesOf,
  type PlacementInput,
  type PlannedPserver,
  type PlannedUnit,
  planUnits,
  type UnitPlan,
} from '../../../src/core/units/plan.ts';
import * as fc from '../../properties.ts';

const MiB = 2 ** 20;
const INDEXES = 8;
const index = fc.nat(INDEXES - 1);

const pservers = fc.uniqueArray(fc.record({ index, leaving: fc.boolean() }), {
  selector: (one) => one.index,
  maxLength: INDEXES,
});

const someStay = pservers
  .filter(({ length }) => length > 0)
  .map((all) => all.map((one, at) => ({ ...one, leaving: at > 0 && one.leaving })));

/** Leaders among all indexes: some of them are not live. */
const unitsOf = (bytes: fc.Arbitrary<number>, minLength = 0): fc.Arbitrary<PlannedUnit[]> =>
  fc
    .array(
      fc.record({
        bytes,
        leader: fc.option(index, { nil: undefined }),
        last: fc.option(index, { nil: undefined }),
      }),
      { minLength, maxLength: 96, size: 'max' },
    )
    .map((all) => all.map((one, unit) => ({ ...one, unit })));

const anyUnits = unitsOf(fc.nat(64 * MiB));
const anyInput: fc.Arbitrary<PlacementInput> = fc.record({ units: anyUnits, pservers });

const stayingOf = (all: readonly PlannedPserver[]): number[] =>
  all.filter(({ leaving }) => !leaving).map((one) => one.index);

/** The input after the plan was carried out. */
const carriedOut = ({ units, pservers: all }: PlacementInput, plan: UnitPlan): PlacementInput => ({
  units: units.map((one) => ({ ...one, leader: plan.get(one.unit) ?? one.leader, last: undefined })),
  pservers: all,
});

/** Index → bytes, of those that stay. */
function bytesOf({ units, pservers: all }: PlacementInput, plan: UnitPlan): Map<number, number> {
  const bytes = new Map(stayingOf(all).map((one) => [one, 0]));
  for (const { unit, bytes: more } of units) bytes.set(plan.get(unit)!, bytes.get(plan.get(unit)!)! + more);
  return bytes;
}

const moved = ({ units }: PlacementInput, plan: UnitPlan): PlannedUnit[] =>
  units.filter(({ unit, leader }) => leader !== undefined && plan.get(unit) !== leader);

const cluster = (sizes: readonly number[], leaders: readonly number[], all: readonly PlannedPserver[]) => ({
  units: sizes.map((bytes, unit) => ({ unit, bytes, leader: leaders[unit], last: undefined })),
  pservers: all,
});

const live = (...indexes: number[]): PlannedPserver[] => indexes.map((one) => ({ index: one, leaving: false }));

describe('a plan', () => {
  it('gives every unit to a live pserver that stays, or none when all leave', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planUnits(input);
        const staying = stayingOf(input.pservers);
        expect(plan.size).toBe(staying.length === 0 ? 0 : input.units.length);
        for (const to of plan.values()) expect(staying).toContain(to);
      }),
    );
  });

  it('depends on nothing but its input, in any order', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const entries = (plan: UnitPlan): [number, number][] => [...plan].sort(([a], [b]) => a - b);
        const turned = { units: [...input.units].reverse(), pservers: [...input.pservers].reverse() };
        expect(entries(planUnits(turned))).toEqual(entries(planUnits(input)));
      }),
    );
  });

  it('is stable: once it is carried out, there is nothing to move', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const plan = planUnits(input);
        const after = carriedOut(input, plan);
        const again = planUnits(after);
        expect(again).toEqual(new Map([...plan].sort(([a], [b]) => again.get(a)! - again.get(b)! || a - b)));
        for (const one of input.pservers) {
          const led = after.units.filter(({ leader }) => leader === one.index).map(({ unit }) => unit);
          expect(movesOf(again, one.index, led)).toEqual([]);
        }
      }),
    );
  });

  it('evens out bytes within 10 % when no unit is large', () => {
    const input = fc.record({
      units: unitsOf(fc.integer({ min: 4 * MiB, max: 5 * MiB }), 64),
      pservers: someStay.map((all) => all.map((one, at) => ({ ...one, leaving: at > 2 || one.leaving }))),
    });
    fc.assert(
      fc.property(input, (one) => {
        const bytes = [...bytesOf(one, planUnits(one)).values()];
        // The weight of a unit beside its bytes is at most a sixtieth of it here.
        expect(Math.max(...bytes)).toBeLessThanOrEqual(1.1 * 1.02 * Math.min(...bytes));
      }),
    );
  });

  it('is as even as units allow: no single move makes the largest and the smallest much more even', () => {
    fc.assert(
      fc.property(fc.record({ units: anyUnits, pservers: someStay }), (input) => {
        const plan = planUnits(input);
        const bytes = [...bytesOf(input, plan)].map(([at, sum]) => {
          const own = input.units.filter(({ unit }) => plan.get(unit) === at).map((one) => one.bytes + 65_536);
          return { own, sum: sum + own.length * 65_536 };
        });
        const smallest = Math.min(...bytes.map(({ sum }) => sum));
        for (const { own, sum } of bytes) {
          if (sum <= 1.1 * smallest) continue;
          expect(Math.min(...own)).toBeGreaterThan((sum - smallest) * 0.875);
        }
      }),
    );
  });

  it('leaves a unit where it is that would only make the light pserver the heavy one', () => {
    const grown = cluster([MiB, MiB + 40_000, MiB + 1_000], [0, 0, 1], live(0, 1));
    expect(moved(grown, planUnits(grown))).toEqual([]);
    const much = cluster([MiB, 2 * MiB, MiB], [0, 0, 1], live(0, 1));
    expect(moved(much, planUnits(much)).map(({ unit }) => unit)).toEqual([0]);
  });

  it('moves nothing of an even cluster', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: INDEXES }), fc.integer({ min: 0, max: MiB }), (count, bytes) => {
        const leaders = Array.from({ length: 12 * count }, (_, unit) => unit % count);
        const input = cluster(
          leaders.map(() => bytes),
          leaders,
          live(...Array(count).keys()),
        );
        expect(moved(input, planUnits(input))).toEqual([]);
      }),
    );
  });

  it('moves only to the new pserver when one joins, and no more than its share', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: INDEXES - 1 }), (count) => {
        const leaders = Array.from({ length: 12 * count }, (_, unit) => unit % count);
        const input = cluster(
          leaders.map(() => 8 * MiB),
          leaders,
          live(...Array(count + 1).keys()),
        );
        const plan = planUnits(input);
        const moves = moved(input, plan);
        expect(moves.every(({ unit }) => plan.get(unit) === count)).toBe(true);
        expect(moves.length).toBeLessThanOrEqual(Math.ceil(leaders.length / (count + 1)));
        expect(moves.length).toBeGreaterThanOrEqual(Math.floor(leaders.length / (count + 1)) - 1);
      }),
    );
  });

  it('moves exactly what a leaving pserver has', () => {
    const leaders = Array.from({ length: 24 }, (_, unit) => unit % 3);
    const all = [...live(0, 1), { index: 2, leaving: true }];
    const input = cluster(
      leaders.map(() => MiB),
      leaders,
      all,
    );
    const plan = planUnits(input);
    expect(moved(input, plan).map(({ leader }) => leader)).toEqual(Array(8).fill(2));
    expect([...bytesOf(input, plan).values()]).toEqual([12 * MiB, 12 * MiB]);
    const led = leaders.flatMap((leader, unit) => (leader === 2 ? [unit] : []));
    expect(movesOf(plan, 2, led.reverse()).map(({ unit }) => unit)).toEqual([2, 5, 8, 11, 14, 17, 20, 23]);
    expect(movesOf(plan, 0, [0, 3, 6])).toEqual([]);
  });

  it('gives a unit without a live leader to the pserver that led it last, else to the smallest', () => {
    const orphan = { unit: 4, bytes: MiB, leader: undefined, last: 1 };
    const led = [0, 0, 2, 0].map((leader, unit) => ({ unit, bytes: MiB, leader, last: undefined }));
    const units = [...led, orphan];
    expect(planUnits({ units, pservers: live(0, 1, 2) }).get(4)).toBe(1);
    expect(planUnits({ units, pservers: live(0, 2) }).get(4)).toBe(2);
    const dead = { ...orphan, leader: 7 };
    expect(planUnits({ units: [...led, dead], pservers: live(0, 1, 2) }).get(4)).toBe(1);
    const leaving = [...live(0, 2), { index: 1, leaving: true }];
    expect(planUnits({ units: [...led, orphan], pservers: leaving }).get(4)).not.toBe(1);
  });

  it('gives a unit without a leader to the lowest of equal members, in whatever order the head names them', () => {
    const unit = { unit: 0, bytes: MiB, leader: undefined, last: undefined };
    for (const inSync of [
      [1, 2],
      [2, 1],
    ])
      expect(planUnits({ units: [{ ...unit, inSync }], pservers: live(0, 1, 2) }).get(0)).toBe(1);
  });

  it('spreads units that are empty by number', () => {
    const input = cluster(Array(64).fill(0), [], live(0, 1, 2));
    const plan = planUnits(input);
    const counts = [0, 1, 2].map((at) => [...plan.values()].filter((to) => to === at).length);
    expect(counts).toEqual([22, 21, 21]);
  });

  it('evens out the others when one unit is larger than a share', () => {
    const input = cluster([100 * MiB, MiB, MiB, MiB, MiB], [0, 1, 1, 1, 1], live(0, 1, 2));
    const plan = planUnits(input);
    expect(plan.get(0)).toBe(0);
    expect([...bytesOf(input, plan).values()]).toEqual([100 * MiB, 2 * MiB, 2 * MiB]);
  });
});
