import { describe, expect, it } from 'vitest';
import { shuffled } from '../../src/core/shuffle.ts';
import * as fc from '../properties.ts';

const seeds = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

/** Sum of (seen − expected)² / expected over the cells. */
function chiSquare(cells: readonly number[], expected: number): number {
  return cells.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
}

/** A bound that a fair sample stays under all but once in 10,000 times: Wilson and Hilferty's approximation (1931). */
function chiSquareBound(freedom: number): number {
  const spread = 2 / (9 * freedom);
  return freedom * (1 - spread + 3.72 * Math.sqrt(spread)) ** 3;
}

describe('the order of a pass', () => {
  it('is a permutation, of any number of tasks, for any seed and pass', () => {
    fc.assert(
      fc.property(fc.nat(300), seeds, fc.nat(1_000), (n, seed, pass) => {
        expect([...shuffled(n, seed, pass)].sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i));
      }),
    );
  });

  it('depends on seed and pass alone', () => {
    fc.assert(
      fc.property(seeds, fc.nat(1_000), (seed, pass) => {
        const order = shuffled(40, seed, pass);
        expect(shuffled(40, seed, pass)).toEqual(order);
        expect(shuffled(40, seed, pass + 1)).not.toEqual(order);
        expect(shuffled(40, seed === 0 ? 1 : seed - 1, pass)).not.toEqual(order);
      }),
    );
  });

  it('uses all bits of the seed', () => {
    const high = [0, 1, 2, 3].map((bits) => bits * 2 ** 32 + 5);
    const orders = new Set(high.map((seed) => shuffled(40, seed, 0).join()));
    expect(orders.size).toBe(high.length);
  });

  it('never changes: a master that takes over, and a later version, deal in the same order', () => {
    expect([...shuffled(10, 1, 0)]).toEqual(GOLDEN[0]);
    expect([...shuffled(10, 1, 1)]).toEqual(GOLDEN[1]);
    expect([...shuffled(10, 2 ** 40 + 7, 3)]).toEqual(GOLDEN[2]);
  });

  it('favours no place: each task is as likely anywhere, over passes and over seeds', () => {
    const N = 8;
    const RUNS = 8_000;
    for (const orderOf of [(i: number) => shuffled(N, 1, i), (i: number) => shuffled(N, i, 0)]) {
      const cells = new Array<number>(N * N).fill(0);
      for (let i = 0; i < RUNS; i++) {
        orderOf(i).forEach((task, place) => {
          cells[task * N + place]! += 1;
        });
      }
      expect(chiSquare(cells, RUNS / N)).toBeLessThan(chiSquareBound((N - 1) ** 2));
    }
  });

  it('favours no permutation', () => {
    const RUNS = 24_000;
    const seen = new Map<string, number>();
    for (let i = 0; i < RUNS; i++) {
      const name = shuffled(4, i % 100, Math.floor(i / 100)).join();
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
    expect(seen.size).toBe(24);
    expect(chiSquare([...seen.values()], RUNS / 24)).toBeLessThan(chiSquareBound(23));
  });

  it('says nothing of the order of the pass after it', () => {
    const N = 8;
    const RUNS = 8_000;
    const cells = new Array<number>(N * N).fill(0);
    for (let pass = 0; pass < RUNS; pass++) {
      const now = shuffled(N, 3, pass);
      const next = shuffled(N, 3, pass + 1);
      cells[now[0]! * N + next[0]!]! += 1;
    }
    expect(chiSquare(cells, RUNS / (N * N))).toBeLessThan(chiSquareBound(N * N - 1));
  });
});

const GOLDEN: readonly (readonly number[])[] = [
  [7, 0, 1, 8, 3, 6, 2, 9, 4, 5],
  [6, 2, 3, 4, 0, 5, 8, 9, 1, 7],
  [5, 8, 4, 1, 9, 0, 3, 2, 6, 7],
];
