import { describe, expect, it } from 'vitest';
import { mix64 } from '../../src/base/mix64.ts';
import { blockCount, blockLength, blockShards, denseBlockFloats, elementCount } from '../../src/tensor/blocks.ts';
import { gatherRows, scatterRows } from '../../src/tensor/gather-rows.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { fnv1a64, shardOfBlock, shardOfRow } from '../../src/tensor/shard-hash.ts';
import * as fc from '../properties.ts';

const EDGES = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];
const anyId = fc.oneof(fc.constantFrom(...EDGES), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
const bytesOfIds = (ids: readonly bigint[]): Uint8Array => new Uint8Array(BigUint64Array.from(ids).buffer);
const idsOfBytes = (bytes: Uint8Array): bigint[] => [...new BigUint64Array(bytes.slice().buffer)];

describe('the hash', () => {
  it('is FNV-1a and the finalizer of splitmix64', () => {
    // Published values: FNV-1a of '' and 'a'; the first output of splitmix64 seeded with 0.
    expect(fnv1a64('')).toBe(0xcbf29ce484222325n);
    expect(fnv1a64('a')).toBe(0xaf63dc4c8601ec8cn);
    expect(mix64(0x9e3779b97f4a7c15n)).toBe(0xe220a8397b1dcdafn);
  });

  it('never changes', () => {
    expect(EDGES.map((id) => shardOfRow('embedding', id, 512))).toMatchSnapshot();
    expect([0, 1, 2, 131_071].map((block) => shardOfBlock('weights', block, 512))).toMatchSnapshot();
  });

  it('spreads consecutive ids evenly, and differently for each table', () => {
    const counts = new Uint32Array(64);
    for (let id = 0n; id < 6400n; id++) counts[shardOfRow('t', id, 64)]! += 1;
    expect(Math.min(...counts)).toBeGreaterThan(60);
    expect(Math.max(...counts)).toBeLessThan(145);
    const shards = (table: string): number[] =>
      Array.from({ length: 20 }, (_, id) => shardOfRow(table, BigInt(id), 512));
    expect(shards('a')).not.toEqual(shards('b'));
  });
});

describe('blocks', () => {
  it('cover the parameter, the last one shorter', () => {
    const spec = { name: 'w', shape: [3, denseBlockFloats], initializer: { type: 'zeros' } } as const;
    expect([blockCount(spec), blockLength(spec, 0), blockLength(spec, 2)]).toEqual([
      3,
      denseBlockFloats,
      denseBlockFloats,
    ]);
    const odd = { name: 'w', shape: [denseBlockFloats + 1], initializer: { type: 'zeros' } } as const;
    expect([blockCount(odd), blockLength(odd, 1), elementCount({ shape: [] })]).toEqual([2, 1, 1]);
    expect(() => blockLength(odd, 2)).toThrow();
    expect([...blockShards(odd, 7)]).toEqual([shardOfBlock('w', 0, 7), shardOfBlock('w', 1, 7)]);
  });
});

describe('the id router', () => {
  it('finds the distinct ids in order of first appearance', () => {
    const router = createIdRouter({ shards: 8 });
    const few = fc.constantFrom(...EDGES, 3n, 4n, 5n);
    fc.assert(
      fc.property(fc.array(fc.oneof(few, anyId), { maxLength: 200 }), (ids) => {
        const { ids: distinct, distinct: count, places } = router.dedupe(bytesOfIds(ids), ids.length);
        const expected = [...new Set(ids)];
        expect(idsOfBytes(distinct)).toEqual(expected);
        expect(count).toBe(expected.length);
        expect([...places].map((place) => expected[place])).toEqual(ids);
      }),
    );
  });

  it('sends each id to the pserver of its shard, as the plain form says', () => {
    const SHARDS = 37;
    const router = createIdRouter({ shards: SHARDS });
    const anyPlacement = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: SHARDS, maxLength: SHARDS });
    fc.assert(
      fc.property(fc.array(anyId, { maxLength: 150 }), anyPlacement, (ids, placement) => {
        const routes = router.route('t', bytesOfIds(ids), ids.length, Int32Array.from(placement));
        expect(routes.map(({ pserver }) => pserver)).toEqual(
          [...new Set(routes.map(({ pserver }) => pserver))].sort((a, b) => a - b),
        );
        const owners = new Map(routes.flatMap((route) => [...route.positions].map((at) => [at, route.pserver])));
        expect(owners.size).toBe(ids.length);
        ids.forEach((id, at) => {
          expect(owners.get(at)).toBe(placement[shardOfRow('t', id, SHARDS)]);
        });
        for (const { positions, ids: dealt } of routes) {
          const shardAt = (at: number): number => shardOfRow('t', ids[at]!, SHARDS);
          const grouped = ids.length < SHARDS ? () => 0 : (a: number, b: number) => shardAt(a) - shardAt(b);
          expect([...positions]).toEqual([...positions].sort((a, b) => grouped(a, b) || a - b));
          expect(idsOfBytes(dealt)).toEqual([...positions].map((at) => ids[at]));
        }
      }),
    );
  });

  it('counts the ids of each pile', () => {
    const SHARDS = 37;
    const router = createIdRouter({ shards: SHARDS });
    const ids = Array.from({ length: 500 }, (_, id) => BigInt(id) * 7919n);
    const pileOf = Int32Array.from({ length: SHARDS }, (_, shard) => shard % 3);
    const counts = [0, 0, 0, 0];
    for (const id of ids.slice(0, 400)) counts[shardOfRow('rows', id, SHARDS) % 3]! += 1;
    const bytes = bytesOfIds(ids);
    expect([...router.tally('rows', bytes, 400, pileOf, 4)]).toEqual(counts);
    expect([...router.tally('rows', bytes, 0, pileOf, 4)]).toEqual([0, 0, 0, 0]);
    expect(() => router.tally('rows', bytes, 400, pileOf, 2)).toThrow('pile');
  });

  it('works on the first ids only, for large batches, and again after a small one', () => {
    const router = createIdRouter({ shards: 512 });
    const ids = Array.from({ length: 100_000 }, (_, i) => BigInt(i % 70_000) * 0x1_0000_0001n);
    for (const count of [0, 10, 100_000, 1]) {
      const { distinct, places } = router.dedupe(bytesOfIds(ids), count);
      expect([distinct, places.length]).toEqual([Math.min(count, 70_000), count]);
      const routes = router.route('t', bytesOfIds(ids), count, new Int32Array(512));
      expect(routes.map(({ positions }) => positions.length)).toEqual(count === 0 ? [] : [count]);
    }
  });

  it('says which shard has no pserver', () => {
    const router = createIdRouter({ shards: 4 });
    const placement = new Int32Array(4);
    placement[shardOfRow('t', 9n, 4)] = -1;
    expect(() => router.route('t', bytesOfIds([9n]), 1, placement)).toThrowError(
      expect.objectContaining({ code: 'StalePlacement', details: { table: 't', shard: shardOfRow('t', 9n, 4) } }),
    );
  });

  it('gathers rows for a pserver and scatters those that come back', () => {
    const rows = Float32Array.from({ length: 12 }, (_, i) => i);
    const positions = Uint32Array.of(1, 3);
    const gathered = gatherRows(rows, 3, positions);
    expect([...gathered]).toEqual([3, 4, 5, 9, 10, 11]);
    const back = new Float32Array(12);
    scatterRows(back, 3, positions, gathered);
    expect([...back]).toEqual([0, 0, 0, 3, 4, 5, 0, 0, 0, 9, 10, 11]);
    expect(() => scatterRows(back, 3, positions, new Float32Array(5))).toThrow();
  });
});
