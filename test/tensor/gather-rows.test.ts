import { describe, expect, test } from 'vitest';
import { ArrayMemory } from '../../src/tensor/array-memory.ts';
import { areFinite } from '../../src/tensor/finite-array.ts';
import { gatherRows, scatterRows } from '../../src/tensor/gather-rows.ts';
import * as fc from '../properties.ts';

const memory = new ArrayMemory();
const inMemory = (from: Float32Array): Float32Array => {
  const array = memory.floats(from.length);
  array.set(from);
  return array;
};

/** Rows of a width, and some of them in any order. */
const anyRows = fc
  .record({ width: fc.integer({ min: 1, max: 21 }), rows: fc.integer({ min: 1, max: 40 }), seed: fc.nat() })
  .chain(({ width, rows, seed }) =>
    fc.record({
      width: fc.constant(width),
      values: fc.constant(Float32Array.from({ length: rows * width }, (_, i) => Math.sin(i + seed))),
      positions: fc.shuffledSubarray([...Array(rows).keys()]).map((list) => Uint32Array.from(list)),
    }),
  );

describe('gathering and scattering', () => {
  test('move the same rows in kernel memory and outside of it', () => {
    fc.assert(
      fc.property(anyRows, ({ width, values, positions }) => {
        const expected = Float32Array.from(
          [...positions].flatMap((row) => [...values.subarray(row * width, (row + 1) * width)]),
        );
        const back = new Float32Array(values.length);
        for (const [i, row] of positions.entries()) {
          for (let c = 0; c < width; c++) back[row * width + c] = expected[i * width + c]!;
        }
        for (const place of [(array: Float32Array) => array, inMemory]) {
          const gathered = gatherRows(place(values), width, positions);
          expect([...gathered]).toEqual([...expected]);
          const there = gatherRows(place(values), width, positions, (length) => place(new Float32Array(length)));
          expect([...there]).toEqual([...expected]);
          const into = place(new Float32Array(values.length));
          scatterRows(into, width, positions, gathered);
          expect([...into]).toEqual([...back]);
        }
      }),
    );
  });

  test('rows in kernel memory are copied even when they are all wanted in their order', () => {
    const rows = Float32Array.of(1, 2, 3, 4);
    const all = Uint32Array.of(0, 1);
    expect(gatherRows(rows, 2, all)).toBe(rows);
    const kept = inMemory(rows);
    const gathered = gatherRows(kept, 2, all);
    kept.fill(0);
    expect([...gathered]).toEqual([1, 2, 3, 4]);
  });

  test('a position that is no row is a bug that is found', () => {
    const rows = inMemory(new Float32Array(20));
    expect(() => gatherRows(rows, 5, Uint32Array.of(1, 4))).toThrow('position');
    expect(() => scatterRows(rows, 5, Uint32Array.of(4, 1), new Float32Array(10))).toThrow('position');
  });
});

describe('an array memory', () => {
  test('hands out arrays that keep their content while others are handed out and given back', () => {
    const own = new ArrayMemory();
    const first = own.words(5).fill(7);
    const large = own.floats(1_000_000);
    own.free(large);
    own.bytes(100).fill(1);
    expect([...first]).toEqual([7, 7, 7, 7, 7]);
    own.free(first);
    expect(() => own.free(memory.floats(1))).toThrow('given back where it came from');
  });

  test('says what to do when there is no room', () => {
    const own = new ArrayMemory();
    const tooMany = () => Array.from({ length: 5 }, () => own.floats(8e8));
    expect(tooMany).toThrow(
      expect.objectContaining({ code: 'OutOfMemory', hint: expect.stringContaining('batchSize') }),
    );
  });
});

test('NaN and infinity are found wherever the floats are', () => {
  for (const length of [0, 1, 5, 16_384, 40_000]) {
    for (const place of [(array: Float32Array) => array, inMemory]) {
      expect(areFinite(place(new Float32Array(length).fill(1e38)))).toBe(true);
      for (const at of [0, Math.floor(length / 2), length - 1]) {
        if (length === 0) continue;
        for (const bad of [Number.NaN, Number.NEGATIVE_INFINITY]) {
          expect(areFinite(place(new Float32Array(length).with(at, bad)))).toBe(false);
        }
      }
    }
  }
});
