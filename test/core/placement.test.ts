import { describe, expect, it } from 'vitest';
import { type LedUnit, plannedPrimary, sameStamp, stampOf } from '../../src/core/placement.ts';
import * as fc from '../properties.ts';

describe('a plan', () => {
  it('gives each unit to one pserver, and to each as many as to any other, within one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 600 }), (pservers, units) => {
        const sizes = Array.from({ length: pservers }, () => 0);
        for (let unit = 0; unit < units; unit++) sizes[plannedPrimary(unit, pservers)]! += 1;
        expect(sizes).toHaveLength(pservers);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('a stamp', () => {
  const JOB = { units: 6, shards: 20 };
  const changes = fc.array(fc.record({ unit: fc.nat(JOB.units - 1), isMine: fc.boolean() }), { maxLength: 40 });
  const textOf = (led: readonly LedUnit[]): string => JSON.stringify(stampOf(led, JOB));

  it('of a set of units is never that of another set, nor of the same units since another epoch', () => {
    fc.assert(
      fc.property(changes, (history) => {
        const mine = new Map<number, LedUnit>();
        const seen = new Map<string, string>();
        const epochs = new Map<number, number>();
        const check = (): void => {
          const set = JSON.stringify([...mine.values()].sort((a, b) => a.unit - b.unit));
          const stamp = textOf([...mine.values()]);
          expect(seen.get(stamp) ?? set).toBe(set);
          seen.set(stamp, set);
        };
        check();
        for (const { unit, isMine } of history) {
          const led = (epochs.get(unit) ?? 0) + 1;
          epochs.set(unit, led);
          if (isMine) mine.set(unit, { unit, led });
          else mine.delete(unit);
          check();
        }
      }),
    );
  });

  it('is the same for the same set, in whatever order', () => {
    const led = [3, 0, 5].map((unit) => ({ unit, led: unit + 1 }));
    expect(sameStamp(stampOf(led, JOB), stampOf(led.toReversed(), JOB))).toBe(true);
    expect(sameStamp(stampOf(led, JOB), stampOf(led.slice(1), JOB))).toBe(false);
    expect(stampOf(led, JOB).shards).toBe(4 + 3 + 3);
    expect(stampOf([], JOB)).toEqual({ revision: '0', shards: 0 });
  });

  it('is a number of 64 bits, whatever the epochs are', () => {
    const led = Array.from({ length: JOB.units }, (_, unit) => ({ unit, led: Number.MAX_SAFE_INTEGER - unit }));
    const { revision } = stampOf(led, JOB);
    expect(BigInt(revision)).toBeLessThan(2n ** 64n);
    expect(BigInt(revision)).toBeGreaterThan(2n ** 53n);
  });
});
