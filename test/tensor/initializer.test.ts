import { describe, expect, it } from 'vitest';
import { kernelInitializer, xavierBound } from '../../src/tensor/initializer.ts';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import type { Initializer } from '../../src/tensor/spec.ts';
import * as fc from '../properties.ts';
import { initialValue, philoxReference } from './reference.ts';

const heap = new KernelHeap();
const MOST = 200;
const out = heap.allocate(4 * MOST);
const bits = (array: ArrayLike<number>): number[] => [...new Uint32Array(Float32Array.from(array).buffer)];

const floatsAt = (count: number): Float32Array => new Float32Array(heap.bytes.slice(out, out + 4 * count).buffer);

function row(initializer: Initializer, name: string, seed: number, width: number, id: bigint): Float32Array {
  const { kind, a, b, key } = kernelInitializer({ initializer, name, seed, shape: [1, width] });
  heap.kernels.fillRow(out, width, kind, a, b, key, id);
  return floatsAt(width);
}

const INITIALIZERS: readonly Initializer[] = [
  { type: 'zeros' },
  { type: 'constant', value: 0.3 },
  { type: 'uniform', low: -0.25, high: 0.5 },
  { type: 'normal', mean: 0.1, stddev: 2 },
  { type: 'xavier' },
];

describe('Philox4x32-10', () => {
  // The known answers that the authors publish with their code (Random123, kat_vectors).
  const answers = [
    {
      counter: [0, 0, 0, 0],
      key: [0, 0],
      words: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    },
    {
      counter: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      key: [0xffffffff, 0xffffffff],
      words: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    },
    {
      counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      key: [0xa4093822, 0x299f31d0],
      words: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    },
  ] as const;

  it.each(answers)('gives the published answer for counter $counter', ({ counter, key, words }) => {
    expect(philoxReference(counter, key)).toEqual([...words]);
    const [c0, c1, c2, c3] = counter;
    heap.kernels.philox(out, BigInt(key[0]) | (BigInt(key[1]) << 32n), c0, c1, c2, c3);
    expect([...new Uint32Array(heap.bytes.slice(out, out + 16).buffer)]).toEqual([...words]);
  });
});

describe.each(INITIALIZERS)('$type', (initializer) => {
  it.each([1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 50])('a row of %i has the bits of the plain form', (width) => {
    for (const id of [0n, 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n, 0x1234_5678_9abc_def0n]) {
      const position = { name: 'table', seed: 7, shape: [1, width], id };
      const plain = Array.from({ length: width }, (_, element) => initialValue(initializer, { ...position, element }));
      expect(bits(row(initializer, 'table', 7, width, id))).toEqual(bits(plain));
    }
  });

  it('a dense parameter has the bits of the plain form, wherever a block starts and ends', () => {
    const shape = [300, 1000];
    const { kind, a, b, key } = kernelInitializer({ initializer, name: 'dense', seed: 7, shape });
    for (const [from, count] of [
      [0, 200],
      [16_384, 37],
      [16_384 * 5, 3],
      [16, 16],
    ] as const) {
      heap.kernels.fillDense(out, count, kind, a, b, key, from);
      const plain = Array.from({ length: count }, (_, i) =>
        initialValue(initializer, { name: 'dense', seed: 7, shape, id: undefined, element: from + i }),
      );
      expect(bits(floatsAt(count))).toEqual(bits(plain));
    }
  });
});

describe('first values', () => {
  it('depend on the seed, the name, the id and the column', () => {
    const uniform = { type: 'uniform', low: 0, high: 1 } as const;
    const base = row(uniform, 'a', 1, 8, 5n);
    for (const other of [row(uniform, 'a', 2, 8, 5n), row(uniform, 'b', 1, 8, 5n), row(uniform, 'a', 1, 8, 6n)]) {
      expect(bits(other)).not.toEqual(bits(base));
    }
    expect(new Set(base).size).toBe(8);
    expect(bits(row(uniform, 'a', -1, 8, 5n))).not.toEqual(bits(row(uniform, 'a', 1, 8, 5n)));
  });

  it('do not depend on the width that is asked for', () => {
    const normal = { type: 'normal', mean: 0, stddev: 1 } as const;
    expect(bits(row(normal, 'a', 1, 5, 9n))).toEqual(bits(row(normal, 'a', 1, 33, 9n)).slice(0, 5));
  });

  it('never change', () => {
    expect(INITIALIZERS.map((initializer) => bits(row(initializer, 'golden', 42, 6, 123_456_789n)))).toMatchSnapshot();
  });

  it('uniform ones stay in their range', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.integer({ min: 1, max: 40 }), (id, width) => {
        for (const x of row({ type: 'uniform', low: -0.25, high: 0.5 }, 't', 3, width, id)) {
          expect(x).toBeGreaterThanOrEqual(-0.25);
          expect(x).toBeLessThanOrEqual(0.5);
        }
      }),
    );
  });

  it('normal ones have the moments of their distribution', () => {
    const all: number[] = [];
    for (let id = 0n; id < 500n; id++) all.push(...row({ type: 'normal', mean: 1, stddev: 2 }, 't', 3, 100, id));
    const mean = all.reduce((sum, x) => sum + x, 0) / all.length;
    const moment = (k: number): number => all.reduce((sum, x) => sum + ((x - mean) / 2) ** k, 0) / all.length;
    // 50,000 fixed draws: about four standard errors.
    expect(Math.abs(mean - 1)).toBeLessThan(0.04);
    expect(Math.abs(moment(2) - 1)).toBeLessThan(0.03);
    expect(Math.abs(moment(3))).toBeLessThan(0.05);
    expect(Math.abs(moment(4) - 3)).toBeLessThan(0.2);
    expect(all.filter((x) => Math.abs(x - 1) > 6).length / all.length).toBeLessThan(0.006);
  });

  it('Xavier bounds are √(6 / (fanIn + fanOut)) over the last two dimensions', () => {
    expect(xavierBound([784, 10])).toBe(Math.sqrt(6 / 794));
    expect(xavierBound([3, 20, 30])).toBe(Math.sqrt(6 / 50));
    expect(xavierBound([5])).toBe(1);
    expect(xavierBound([])).toBe(Math.sqrt(3));
  });
});
