import { describe, expect, it } from 'vitest';
import { type Orphan, type OrphanView, orphansFor } from '../../../src/core/units/orphans.ts';
import * as fc from '../../properties.ts';

const BOUND_MS = 1_000;
type Shape = Partial<Omit<OrphanView, 'live'>> & { readonly live?: readonly number[]; readonly leaving?: number };
const viewOf = ({ live = [0, 1], leaving, ...more }: Shape): OrphanView => ({
  ...{ orphans: [], led: [], bytesOf: () => 0, desired: 2, nowMs: 5_000, boundMs: BOUND_MS, ...more },
  live: live.map((index) => ({ index, leaving: index === leaving })),
});
const orphan = (unit: number, more: Partial<Orphan> = {}): Orphan => {
  return { unit, last: undefined, sinceMs: 5_000, ...more };
};

describe('a unit without a live primary', () => {
  it('is taken by the planned pserver when it never had one', () => {
    const view = viewOf({ orphans: [0, 1, 2, 3].map((unit) => orphan(unit)) });
    expect(orphansFor(0, view)).toEqual({ units: [0, 2], againAtMs: undefined });
    expect(orphansFor(1, view)).toEqual({ units: [1, 3], againAtMs: undefined });
  });

  it('goes back to the pserver that led it last, at once', () => {
    const view = viewOf({ orphans: [orphan(0, { last: 1 }), orphan(1, { last: 1 })] });
    expect(orphansFor(1, view).units).toEqual([0, 1]);
    expect(orphansFor(0, view)).toEqual({ units: [], againAtMs: undefined });
  });

  it('waits for that pserver only for so long', () => {
    const orphans = [orphan(3, { last: 1, sinceMs: 4_500 }), orphan(4, { last: 1, sinceMs: 4_200 })];
    expect(orphansFor(0, viewOf({ orphans, live: [0] }))).toEqual({ units: [], againAtMs: 4_200 + BOUND_MS });
    expect(orphansFor(0, viewOf({ orphans, live: [0], nowMs: 5_300 }))).toEqual({ units: [4], againAtMs: 5_500 });
    expect(orphansFor(0, viewOf({ orphans, live: [0], nowMs: 5_500 })).units).toEqual([3, 4]);
  });

  it('does not wait for an index that is not wanted any more', () => {
    const view = viewOf({ orphans: [orphan(3, { last: 7 })] });
    expect(orphansFor(0, view).units).toEqual([3]);
  });

  it('goes to who has least, in bytes', () => {
    const led = [{ unit: 9, bytes: 5_000_000, leader: 0, last: 0 }];
    const sizes = [1_000_000, 4_000_000, 1_000_000, 1_000_000];
    const orphans = [0, 1, 2, 3].map((unit) => orphan(unit));
    const view = viewOf({ led, orphans, bytesOf: (unit) => sizes[unit]! });
    expect(orphansFor(0, view).units).toEqual([2]);
    expect(orphansFor(1, view).units).toEqual([0, 1, 3]);
  });

  it('does not go to a pserver that is leaving, not even back to it', () => {
    const orphans = [orphan(0, { last: 1 }), orphan(1, { last: 1 }), orphan(2)];
    const view = viewOf({ orphans, leaving: 1 });
    expect(orphansFor(0, view).units).toEqual([0, 1, 2]);
    expect(orphansFor(1, view)).toEqual({ units: [], againAtMs: undefined });
  });

  it('is taken by none while all are leaving', () => {
    const view = viewOf({ orphans: [orphan(0)], live: [0], desired: 1, leaving: 0, nowMs: 99_000 });
    expect(orphansFor(0, view).units).toEqual([]);
  });

  it('waits for a pserver of a higher index than wanted while that is live', () => {
    const view = viewOf({ orphans: [orphan(3, { last: 7 })], live: [0, 1, 7] });
    expect(orphansFor(1, view).units).toEqual([]);
    expect(orphansFor(7, view).units).toEqual([3]);
  });
});

it('every unit is taken by at most one of those who see the same, and in the end by one', () => {
  const indexes = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 6 }).map((all) => all.sort((a, b) => a - b));
  const orphans = fc.uniqueArray(
    fc.record({ unit: fc.nat(20), last: fc.option(fc.nat(8), { nil: undefined }), sinceMs: fc.nat(6_000) }),
    { selector: ({ unit }) => unit },
  );
  fc.assert(
    fc.property(indexes, orphans, fc.integer({ min: 1, max: 6 }), fc.nat(9_000), (live, all, desired, nowMs) => {
      const view = viewOf({ live, orphans: all, desired, nowMs });
      const taken = live.flatMap((me) => orphansFor(me, view).units);
      expect(new Set(taken).size).toBe(taken.length);
      const late = viewOf({ live, orphans: all, desired, nowMs: 6_000 + BOUND_MS });
      const last = live.flatMap((me) => orphansFor(me, late).units).sort((a, b) => a - b);
      expect(last).toEqual(all.map(({ unit }) => unit).sort((a, b) => a - b));
      expect(live.map((me) => orphansFor(me, late).againAtMs)).toEqual(live.map(() => undefined));
    }),
  );
});
