import { describe, expect, it } from 'vitest';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import * as fc from '../properties.ts';

describe('the allocator', () => {
  const anySize = fc.oneof(
    fc.integer({ min: 0, max: 64 }),
    fc.integer({ min: 0, max: 5000 }),
    fc.integer({ min: 0, max: 400_000 }),
  );
  const anyStep = fc.oneof(
    { weight: 3, arbitrary: anySize.map((size) => ({ size })) },
    { weight: 2, arbitrary: fc.nat().map((free) => ({ free })) },
  );

  it('hands out aligned areas that never overlap and keep their content, and gets all of them back', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 150 }), (steps) => {
        const heap = new KernelHeap(4 * 1024 * 1024);
        const held: { address: number; size: number; fill: number }[] = [];
        const checkAndFree = (index: number): void => {
          const [{ address, size, fill }] = held.splice(index, 1) as [(typeof held)[number]];
          expect(heap.bytes.subarray(address, address + size).every((byte) => byte === fill)).toBe(true);
          heap.free(address);
        };
        steps.forEach((step, index) => {
          if ('free' in step) {
            if (held.length > 0) checkAndFree(step.free % held.length);
            return;
          }
          const address = heap.kernels.allocate(step.size) >>> 0;
          if (address === 0) return;
          expect(address % 16).toBe(0);
          expect(address + step.size).toBeLessThanOrEqual(heap.reservedBytes);
          const fill = index % 251;
          heap.bytes.fill(fill, address, address + step.size);
          held.push({ address, size: step.size, fill });
        });
        while (held.length > 0) checkAndFree(held.length - 1);
        expect(heap.kernels.allocatedBytes()).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it('merges what is freed: after any pattern the whole memory can be had again', () => {
    const heap = new KernelHeap(8 * 1024 * 1024);
    const largest = 7 * 1024 * 1024;
    heap.free(heap.allocate(largest));
    for (let round = 0; round < 20; round++) {
      const held = Array.from({ length: 200 }, (_, i) => heap.allocate(((i * 7919 + round) % 9000) + 1));
      for (let i = 0; i < held.length; i += 2) heap.free(held[i]!);
      for (let i = held.length - 1; i > 0; i -= 2) heap.free(held[i]!);
      heap.free(heap.allocate(largest));
    }
    expect(heap.reservedBytes).toBeLessThanOrEqual(8 * 1024 * 1024);
  });

  it('refuses what does not fit with a typed error, and goes on', () => {
    const heap = new KernelHeap(1024 * 1024);
    const sizes = [2 ** 20, 2 ** 31, 0xf000_0000, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 16, 2 ** 40, Number.MAX_SAFE_INTEGER];
    for (const size of sizes) {
      expect(() => heap.stage(size)).toThrowError(expect.objectContaining({ code: 'OutOfMemory' }));
    }
    const staging = heap.stage(500_000);
    staging.bytes().fill(7);
    staging.free();
    expect(heap.kernels.allocatedBytes()).toBe(0);
  });
});

describe('staging', () => {
  it('shows the same bytes after the memory grew, and cannot be used after it was freed', () => {
    const heap = new KernelHeap();
    const staging = heap.stage(100);
    staging.bytes().fill(9);
    const old = staging.bytes();
    const large = heap.stage(50_000_000);
    expect(old.length).toBe(0);
    expect(() => heap.addressOf(old)).toThrow();
    expect([...staging.bytes()]).toEqual(new Array(100).fill(9));
    large.free();
    staging.free();
    staging.free();
    expect(() => staging.bytes()).toThrow();
    expect(heap.kernels.allocatedBytes()).toBe(0);
  });

  it('tells of each growth until it is freed, even when another one with the same function is', () => {
    const heap = new KernelHeap();
    let told = 0;
    const tell = (): void => {
      told += 1;
    };
    const [first, second] = [heap.stage(100), heap.stage(100)];
    first.onMoved(tell);
    second.onMoved(tell);
    first.free();
    heap.stage(10_000_000).free();
    expect(told).toBe(1);
    second.free();
    heap.stage(50_000_000).free();
    expect(told).toBe(1);
  });

  it('takes 2.5 GB, beyond the reach of signed addresses', () => {
    const heap = new KernelHeap();
    const low = heap.stage(2_400_000_000);
    const high = heap.stage(100_000_000);
    high.bytes().fill(3, 0, 1000);
    expect(heap.addressOf(high.bytes())).toBeGreaterThan(2 ** 31);
    expect(high.bytes()[999]).toBe(3);
    high.free();
    low.free();
    expect(heap.kernels.allocatedBytes()).toBe(0);
  });
});
