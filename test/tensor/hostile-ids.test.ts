/**
 * Hash tables of the kernels under ids that a sender chose to make them slow. Work is counted from where entries are: a
 * search passes no more entries than its run of used ones is long.
 */

import { describe, expect, it, vi } from 'vitest';
import { mix64 } from '../../src/base/mix64.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { instantiateKernels } from '../../src/tensor/kernels/instance.ts';
import { randomMultiplier } from '../../src/tensor/random-multiplier.ts';
import { nameHash } from '../../src/tensor/shard-hash.ts';
import * as fc from '../properties.ts';
import { idBytes, makeParameters, table } from './fixture.ts';
import { GOLDEN, idMixedTo, idOfHash, MASK_64 } from './id-of-hash.ts';
import { type IndexEntry, indexEntries } from './index-entries.ts';

vi.mock(import('../../src/tensor/random-multiplier.ts'), async (original) => {
  const actual = await original();
  return { randomMultiplier: vi.fn(actual.randomMultiplier) };
});

const COUNT = 20_000;
/** As a hash that spreads entries at random has in tables of any fill up to 3/4, with room. */
const STEPS_OF_A_SEARCH = 40;
const LOW = 0x1234_5678n;

/** Hashes of distinct ids, from n = 1, 2, 3, … */
const HASHES: Readonly<Record<string, (n: bigint) => bigint>> = {
  'in no order': (n) => mix64(n),
  'that share the low half': (n) => ((mix64(n) << 32n) | LOW) & MASK_64,
  'that share the low half and the shard': (n) => (n << 32n) | LOW,
  'that share the high half': (n) => (LOW << 32n) | n,
  'whose products with a usual multiplier count up': (n) => (GOLDEN * n) & MASK_64,
};

/** Drawn once: the same in each run of this test, known to no one who made the hashes above. */
const MULTIPLIERS = [11n, 12n, 13n].map((seed) => mix64(seed) | 1n);

/** Steps of a search in the mean, at most: for sorted positions of all entries. */
function searchSteps(positions: readonly number[]): number {
  let steps = 0;
  let run = 0;
  positions.forEach((position, i) => {
    run = i > 0 && positions[i - 1] === position - 1 ? run + 1 : 1;
    steps += run;
  });
  return steps / positions.length;
}

/** A table of one float a row, which counts the pushes of each id. */
function countingTable(multiplier: bigint, shards: number) {
  const { exports: kernels, memory } = instantiateKernels();
  const optimizer = kernels.createSgd(1, 0);
  const zeros = 0;
  const address = kernels.createTable(nameHash('rows'), 0n, multiplier, zeros, 0, 0, 1, shards, optimizer, 0);
  for (let shard = 0; shard < shards; shard++) kernels.addPart(address, shard);
  const put = (bytes: Uint8Array): number => {
    const at = kernels.allocate(bytes.length) >>> 0;
    new Uint8Array(memory.buffer).set(bytes, at);
    return at;
  };
  const floats = (at: number, count: number): Float32Array => new Float32Array(memory.buffer, at, count);
  return {
    push(ids: readonly bigint[]): void {
      const idsAt = put(idBytes(ids));
      const actions = put(new Uint8Array(shards).fill(1));
      const located = put(new Uint8Array(4 * ids.length));
      const gradients = put(new Uint8Array(4 * ids.length));
      floats(gradients, ids.length).fill(-1);
      expect(kernels.locateRows(address, idsAt, ids.length, actions, located, true)).toBe(-1);
      expect(kernels.reservePending()).toBe(1);
      kernels.applyRows(address, idsAt, ids.length, gradients, located, 0);
      for (const used of [idsAt, actions, located, gradients]) kernels.deallocate(used);
    },
    pull(ids: readonly bigint[]): number[] {
      const idsAt = put(idBytes(ids));
      const values = put(new Uint8Array(4 * ids.length));
      expect(kernels.pullRows(address, idsAt, ids.length, values, 0)).toBe(-1);
      const counts = [...floats(values, ids.length)];
      for (const used of [idsAt, values]) kernels.deallocate(used);
      return counts;
    },
    entries: (shard: number): IndexEntry[] => indexEntries(memory.buffer, kernels.partAt(address, shard)),
  };
}

describe.each(Object.keys(HASHES))('ids with hashes %s', (shape) => {
  const ids = Array.from({ length: COUNT }, (_, i) => idOfHash(HASHES[shape]!(BigInt(i + 1))));

  it.each(MULTIPLIERS)('are spread over the index of a table by multiplier %s', (multiplier) => {
    const counting = countingTable(multiplier, 1);
    for (let from = 0; from < COUNT; from += 1000) counting.push(ids.slice(from, from + 1000));
    expect(searchSteps(counting.entries(0).map(({ position }) => position))).toBeLessThan(STEPS_OF_A_SEARCH);
    expect(counting.pull(ids)).toEqual(ids.map(() => 1));
  });

  it.each(MULTIPLIERS)('are spread over the index that finds distinct ones by multiplier %s', (multiplier) => {
    const { exports: kernels, memory } = instantiateKernels();
    const plain = Array.from({ length: COUNT }, (_, i) => idMixedTo(HASHES[shape]!(BigInt(i + 1))));
    const size = 32_768;
    const [idsAt, distinct, places, index] = [8 * COUNT, 8 * COUNT, 4 * COUNT, 4 * size].map(
      (byteLength) => kernels.allocate(byteLength) >>> 0,
    ) as [number, number, number, number];
    new Uint8Array(memory.buffer).set(idBytes(plain), idsAt);
    expect(kernels.dedupe(idsAt, COUNT, distinct, 0, places, index, size, multiplier)).toBe(COUNT);
    const positions = [...new Uint32Array(memory.buffer, index, size).entries()].flatMap(([at, used]) =>
      used === 0 ? [] : [at],
    );
    expect(positions.length).toBe(COUNT);
    expect(searchSteps(positions)).toBeLessThan(STEPS_OF_A_SEARCH);
  });
});

describe('a table', () => {
  const shapes = Object.values(HASHES);
  const id = fc
    .tuple(fc.nat({ max: shapes.length - 1 }), fc.integer({ min: 1, max: 40 }))
    .map(([shape, n]) => idOfHash(shapes[shape]!(BigInt(n))));
  // With small multipliers nearly all rows begin at the same entry and share its bits of the hash.
  const multiplier = fc.oneof(fc.constantFrom(1n, 3n, MASK_64), fc.bigInt(0n, MASK_64)).map((drawn) => drawn | 1n);

  it('holds what a Map holds, whatever the ids and the multiplier', () => {
    fc.assert(
      fc.property(
        multiplier,
        fc.constantFrom(1, 5),
        fc.array(fc.array(id, { maxLength: 60 }), { maxLength: 8 }),
        (drawn, shards, pushes) => {
          const counting = countingTable(drawn, shards);
          const expected = new Map<bigint, number>();
          for (const ids of pushes) {
            counting.push(ids);
            for (const pushed of ids) expected.set(pushed, (expected.get(pushed) ?? 0) + 1);
          }
          const all = [...expected.keys(), idOfHash(0n), idOfHash(LOW)];
          expect(counting.pull(all)).toEqual(all.map((one) => expected.get(one) ?? 0));
          const held = Array.from({ length: shards }, (_, shard) => counting.entries(shard)).flat();
          expect(new Set(held.map((entry) => entry.id))).toEqual(new Set(expected.keys()));
          expect(held.length).toBe(expected.size);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('multipliers', () => {
  it('are odd numbers of 64 bits, another each time', () => {
    const drawn = Array.from({ length: 100 }, () => randomMultiplier());
    expect(new Set(drawn).size).toBe(100);
    expect(drawn.every((one) => one % 2n === 1n && one <= MASK_64)).toBe(true);
    // All 100 are below 2^60 with a probability of 2^-400.
    expect(drawn.some((one) => one >= 2n ** 60n)).toBe(true);
  });

  it('are drawn for each table, and for each list of which the distinct ids are found', () => {
    vi.mocked(randomMultiplier).mockClear();
    makeParameters({ spec: table(1) });
    makeParameters({ spec: table(1) });
    expect(randomMultiplier).toHaveBeenCalledTimes(2);
    const router = createIdRouter({ shards: 1 });
    router.dedupe(idBytes([1n, 2n]), 2);
    router.dedupe(idBytes([1n, 2n]), 2);
    expect(randomMultiplier).toHaveBeenCalledTimes(4);
  });
});
