import { describe, expect, it } from 'vitest';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import { type OptimizerSpec, optimizerLayout } from '../../src/tensor/optimizer.ts';
import * as fc from '../properties.ts';
import { anyFloats, anyOptimizer, OPTIMIZERS } from './optimizers.ts';
import { freshState, type State, updateReference } from './reference.ts';

const heap = new KernelHeap();
const LARGEST = 100;
const area = heap.allocate(16 + 4 * 3 * LARGEST);
const gradientArea = heap.allocate(4 * LARGEST);

const bytesOf = (array: Float32Array): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const bitsOf = (array: Float32Array): number[] => [...new Uint32Array(array.slice().buffer)];
const hexOf = (states: State): string[] =>
  [states.values, ...states.slots].map((a) =>
    bitsOf(a)
      .map((x) => x.toString(16))
      .join(' '),
  );

/** The kernel's way through the same gradients. */
function kernelRun(optimizer: OptimizerSpec, initial: Float32Array, gradients: readonly Float32Array[]): State {
  const n = initial.length;
  const { address } = createOptimizer(heap, optimizer);
  const values = area + 16;
  heap.bytes.fill(0, area, values);
  heap.bytes.fill(0xff, values, values + 12 * n);
  heap.bytes.set(bytesOf(initial), values);
  heap.kernels.startSlots(address, values, n);
  for (const gradient of gradients) {
    heap.bytes.set(bytesOf(gradient), gradientArea);
    heap.kernels.update(address, values, gradientArea, n, area);
  }
  const field = (i: number): Float32Array =>
    new Float32Array(heap.bytes.slice(values + 4 * n * i, values + 4 * n * (i + 1)).buffer);
  return {
    values: field(0),
    slots: optimizerLayout(optimizer).slots.map((_, i) => field(i + 1)),
    step: new DataView(heap.bytes.buffer).getUint32(area, true),
  };
}

function referenceRun(optimizer: OptimizerSpec, initial: Float32Array, gradients: readonly Float32Array[]): State {
  const state = freshState(optimizer, initial.slice());
  for (const gradient of gradients) updateReference(optimizer, state, gradient);
  return state;
}

const wave = (n: number, phase: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => (((i * 37 + phase * 101) % 64) - 31.5) / 13);

describe.each(OPTIMIZERS)('$type (l2 $l2) against the plain scalar form', (optimizer) => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100])('%i floats, 30 updates, to the last bit', (n) => {
    const gradients = Array.from({ length: 30 }, (_, step) => wave(n, step));
    const kernel = kernelRun(optimizer, wave(n, 77), gradients);
    const reference = referenceRun(optimizer, wave(n, 77), gradients);
    expect(hexOf(kernel)).toEqual(hexOf(reference));
    if (optimizerLayout(optimizer).steps) expect(kernel.step).toBe(30);
    expect(bitsOf(kernel.values)).not.toEqual(bitsOf(wave(n, 77)));
  });
});

describe('any optimizer', () => {
  it('gives the bits of the plain scalar form', () => {
    const anyCase = fc
      .integer({ min: 1, max: 21 })
      .chain((n) => fc.tuple(anyOptimizer, anyFloats(n), fc.array(anyFloats(n), { minLength: 1, maxLength: 8 })));
    fc.assert(
      fc.property(anyCase, ([optimizer, initial, gradients]) => {
        const kernel = kernelRun(optimizer, initial, gradients);
        const reference = referenceRun(optimizer, initial, gradients);
        // A NaN has no defined bits; it can arise from finite gradients only by overflow.
        if ([...reference.values].some((x) => !Number.isFinite(x))) return;
        expect(hexOf(kernel)).toEqual(hexOf(reference));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('what the formulas promise', () => {
  const one = (optimizer: OptimizerSpec, value: number, gradients: number[]): State =>
    kernelRun(
      optimizer,
      Float32Array.of(value),
      gradients.map((g) => Float32Array.of(g)),
    );

  it('SGD: value − rate × (gradient + l2 × value)', () => {
    expect(one({ type: 'sgd', learningRate: 0.5, l2: 0 }, 1, [0.25]).values[0]).toBe(0.875);
    expect(one({ type: 'sgd', learningRate: 0.5, l2: 0.5 }, 1, [0.25]).values[0]).toBe(0.625);
  });

  it('momentum is a heavy ball: the velocity is in units of the gradient', () => {
    const { values, slots } = one({ type: 'momentum', learningRate: 0.5, momentum: 0.5, l2: 0 }, 1, [1, 1]);
    expect(slots[0]![0]).toBe(1.5);
    expect(values[0]).toBe(1 - 0.5 - 0.75);
  });

  it('the first step of Adam is the learning rate, whatever the gradient: its bias is corrected', () => {
    for (const gradient of [1e-3, 1, 1000]) {
      const adam = { type: 'adam', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-10, l2: 0 } as const;
      expect(one(adam, 0, [gradient]).values[0]).toBeCloseTo(-0.01, 6);
    }
  });

  it('AdamW decays the value by rate × decay apart from the gradient', () => {
    const adamw = {
      type: 'adamw',
      learningRate: 0.1,
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0.5,
    } as const;
    expect(one(adamw, 1, [0]).values[0]).toBeCloseTo(0.95, 6);
    expect(one(adamw, 1, [0]).slots.map((slot) => slot[0])).toEqual([0, 0]);
  });

  it('FTRL holds a value at exactly 0 until the evidence passes λ1', () => {
    const ftrl = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 1, lambda2: 0 } as const;
    expect(Object.is(one(ftrl, 0, [0.4, 0.4]).values[0], 0)).toBe(true);
    expect(Object.is(one(ftrl, 0, [-1]).values[0], 0)).toBe(true);
    expect(one(ftrl, 0, [0.4, 0.4, 0.4]).values[0]).toBeLessThan(0);
    expect(one(ftrl, 0, [-0.4, -0.4, -0.4]).values[0]).toBeGreaterThan(0);
  });

  it('FTRL keeps a value that an initializer set, under a zero gradient', () => {
    const ftrl = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.5, lambda2: 0.2 } as const;
    for (const value of [0.3, -0.7]) expect(one(ftrl, value, [0, 0]).values[0]).toBeCloseTo(value, 6);
  });

  it('minimizes: 300 steps on (x − 3)² come near 3', () => {
    for (const optimizer of OPTIMIZERS.filter(({ type }) => type !== 'ftrl' && type !== 'adamw')) {
      let state = 0;
      const gradients: number[] = [];
      for (let step = 0; step < 300; step++) {
        gradients.push(Math.fround(2 * (state - 3)));
        state = one(optimizer, 0, gradients).values[0]!;
      }
      expect(Math.abs(state - 3), optimizer.type).toBeLessThan(1);
    }
  });
});
