/** When a pserver hands over which of its units: what must be known before, and what it does while it leaves. */
import { expect, it } from 'vitest';
import { dueMoves, hasTaker, type MovesView, type SeenUnit } from '../../../src/core/units/due-moves.ts';

const MiB = 2 ** 20;
const unit = (number: number, leader: number | undefined, bytes: number | undefined = MiB): SeenUnit => {
  return { unit: number, leader, bytes };
};
const up = (index: number) => ({ index, status: 'up' as const });
const four = [0, 1, 2, 3].map((number) => unit(number, 0));
const viewOf = (more: Partial<MovesView>): MovesView => ({
  ...{ me: 0, isLeaving: false, units: four, led: new Set([0, 1, 2, 3]), moving: new Map(), pservers: [up(0), up(1)] },
  ...more,
});

it('gives half of the bytes to a pserver that has none', () => {
  expect(dueMoves(viewOf({}))).toHaveLength(2);
  expect(dueMoves(viewOf({ pservers: [up(0)] }))).toEqual([]);
});

it('counts what is on its way as the target has it', () => {
  const [first] = dueMoves(viewOf({}))!;
  const moving = new Map([[first!.unit, 1]]);
  const left = dueMoves(viewOf({ moving }))!;
  expect(left).toHaveLength(1);
  expect(left[0]!.unit).not.toBe(first!.unit);
  expect(dueMoves(viewOf({ moving: new Map([...moving, [left[0]!.unit, 1]]) }))).toEqual([]);
  const others = [0, 1, 2, 3].filter((one) => one !== first!.unit && one !== left[0]!.unit);
  expect(dueMoves(viewOf({ moving: new Map(others.map((one) => [one, 1])) }))).toEqual([]);
});

it.each<[string, Partial<MovesView>]>([
  ['a size', { units: [...four.slice(1), { unit: 0, leader: 0, bytes: undefined }] }],
  ['a leader', { units: [...four, unit(4, undefined)] }],
  ['whether a pserver serves', { pservers: [up(0), up(1), { index: 2, status: 'unknown' }] }],
  ['who leads a unit that has just left', { led: new Set([0, 1, 2]) }],
])('moves nothing while it does not know %s, unless it leaves', (_, unknown) => {
  expect(dueMoves(viewOf(unknown))).toBeUndefined();
  const leaving = dueMoves(viewOf({ ...unknown, isLeaving: true }))!;
  expect(leaving.every(({ to }) => to === 1)).toBe(true);
  expect(leaving.length).toBeGreaterThanOrEqual(3);
});

it('knows better than the store who leads a unit that has just come', () => {
  const units = [...four.slice(0, 3), unit(3, 1)];
  expect(dueMoves(viewOf({ units }))).toHaveLength(2);
});

it('gives nothing to a pserver that leaves or does not serve', () => {
  const pservers = [up(0), { index: 1, status: 'leaving' as const }, { index: 2, status: 'unknown' as const }];
  expect(dueMoves(viewOf({ isLeaving: true, pservers }))).toEqual([]);
  expect([hasTaker(0, pservers), hasTaker(0, [...pservers, up(3)])]).toEqual([false, true]);
});
