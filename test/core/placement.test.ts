import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plannedPrimary, plannedShards, sameStamp, stampOf } from '../../src/core/placement.ts';

describe('a plan', () => {
  it('gives each shard to one pserver, and to each as many as to any other, within one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 600 }), (pservers, shards) => {
        const all = Array.from({ length: pservers }, (_, index) => plannedShards(index, pservers, shards));
        expect(all.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: shards }, (_, shard) => shard));
        const sizes = all.map((mine) => mine.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        all.forEach((mine, index) => {
          for (const shard of mine) expect(plannedPrimary(shard, pservers)).toBe(index);
        });
      }),
    );
  });
});

describe('a stamp', () => {
  const SHARDS = 6;
  const changes = fc.array(fc.record({ shard: fc.nat(SHARDS - 1), isMine: fc.boolean(), inOne: fc.boolean() }), {
    maxLength: 40,
  });

  it('of a set of shards is never that of another set, as long as revisions grow', () => {
    fc.assert(
      fc.property(changes, (history) => {
        /** Shard → revision of its head, of the shards that are mine. */
        const mine = new Map<number, bigint>();
        const seen = new Map<string, string>();
        let revision = 1n;
        const check = (): void => {
          const { revision: highest, shards } = stampOf(mine.values());
          const set = JSON.stringify([...mine].map(([shard, head]) => [shard, String(head)]).sort());
          const stamp = `${highest}/${shards}`;
          expect(seen.get(stamp) ?? set).toBe(set);
          seen.set(stamp, set);
        };
        check();
        for (const { shard, isMine, inOne } of history) {
          // Several heads can change in one transaction, that is under one revision.
          if (!inOne) revision += 1n;
          if (inOne && [...mine.values()].includes(revision)) continue;
          if (isMine) mine.set(shard, revision);
          else mine.delete(shard);
          check();
        }
      }),
    );
  });

  it('is the same for the same set, in whatever order', () => {
    expect(sameStamp(stampOf([3n, 9n, 5n]), stampOf([9n, 5n, 3n]))).toBe(true);
    expect(sameStamp(stampOf([3n, 9n]), stampOf([9n]))).toBe(false);
    expect(sameStamp(stampOf([3n, 8n]), stampOf([3n, 9n]))).toBe(false);
    expect(stampOf([])).toEqual({ revision: '0', shards: 0 });
  });

  it('holds revisions beyond what a number can', () => {
    expect(stampOf([2n ** 63n - 2n, 2n ** 63n - 1n]).revision).toBe('9223372036854775807');
  });
});
