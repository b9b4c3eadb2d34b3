/** No denormal floats: not in values and slots that nothing but L2 and decay changes, not in what is pushed. */
import { expect, test } from 'vitest';
import { ArrayMemory } from '../../src/tensor/array-memory.ts';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import { type OptimizerSpec, optimizerLayout } from '../../src/tensor/optimizer.ts';
import { dropTiny } from '../../src/tensor/tiny.ts';
import { OPTIMIZERS } from './optimizers.ts';

const TINY = 2 ** -100;
const isTiny = (x: number): boolean => x !== 0 && Math.abs(x) < TINY;

const heap = new KernelHeap();
const COUNT = 7;
const values = heap.allocate(16 + 4 * 3 * COUNT) + 16;
const gradient = heap.allocate(4 * COUNT);
const floats = (address: number, count: number): Float32Array => new Float32Array(heap.bytes.buffer, address, count);

/** A few updates by records, then those of a unit that is off. */
function* afterEachUpdate(optimizer: OptimizerSpec, updates: number): Generator<Float32Array> {
  const { address } = createOptimizer(heap, optimizer);
  const all = floats(values, COUNT * (1 + optimizerLayout(optimizer).slots.length));
  heap.bytes.fill(0, values - 16, values);
  all.set(Float32Array.from({ length: COUNT }, (_, i) => (i - 3.1) / 7));
  heap.kernels.startSlots(address, values, COUNT);
  for (let update = 0; update < updates; update++) {
    floats(gradient, COUNT).fill(update < 5 ? 0.1 * (update - 2) : 0);
    heap.kernels.update(address, values, gradient, COUNT, values - 16);
    yield all;
  }
}

const strong = (optimizer: OptimizerSpec): OptimizerSpec => ('l2' in optimizer ? { ...optimizer, l2: 0.9 } : optimizer);

test.each([...OPTIMIZERS, ...OPTIMIZERS.slice(2).map(strong)])(
  '$type (l2 $l2) keeps no tiny float in 5,000 updates',
  (optimizer) => {
    for (const all of afterEachUpdate(optimizer, 5_000)) expect(all.some(isTiny)).toBe(false);
  },
);

test('with L2, a value that no record touches ends near 0, and its velocity at 0', () => {
  const optimizer = { type: 'momentum', learningRate: 0.1, momentum: 0.9, l2: 0.9 } as const;
  const last = [...afterEachUpdate(optimizer, 5_000)].at(-1)!;
  expect([...last.subarray(COUNT)]).toEqual(Array(COUNT).fill(0));
  // What is left is not worth an update: L2 of it is below 2^-50.
  expect([...last.subarray(0, COUNT)].every((value) => Math.abs(value) < 2 ** -49)).toBe(true);
});

test('gradients lose tiny floats, in kernel memory and elsewhere; NaN stays', () => {
  const tiny = [1e-45, -1e-40, 2 ** -101, -(2 ** -100) * (1 - 2 ** -24), -0];
  const others = [TINY, -TINY, 1, 2 ** 127, Number.NaN, Number.NEGATIVE_INFINITY];
  for (const count of [1, 3, 4, 5]) {
    const given = Array.from({ length: count }, () => [...tiny, ...others]).flat();
    const expected = Array.from({ length: count }, () => [...tiny.map(() => 0), ...others]).flat();
    const inKernels = new ArrayMemory().floats(given.length);
    const elsewhere = Float32Array.from(given);
    inKernels.set(given);
    for (const array of [inKernels, elsewhere]) {
      dropTiny(array);
      expect([...array]).toEqual(expected);
    }
  }
});
