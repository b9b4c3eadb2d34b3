import { describe, expect, it } from 'vitest';
import { createBufferPool, createPulledValuesPool } from '../../../src/cluster/client/buffer-pool.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';

const spec: ParameterSpec = {
  dense: [{ name: 'w', shape: [2, 3], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'v', width: 4, initializer: { type: 'zeros' } }],
};

describe('arrays for pulled values', () => {
  it('have the lengths asked for, and are used again', () => {
    const pool = createPulledValuesPool(spec);
    const first = pool.acquire([10]);
    expect([first.dense[0]!.length, first.sparse[0]!.length]).toEqual([6, 40]);
    pool.release(first);
    const second = pool.acquire([8]);
    expect(second.sparse[0]!.length).toBe(32);
    expect(second.sparse[0]!.buffer).toBe(first.sparse[0]!.buffer);
    pool.release(second);
    expect(pool.acquire([10]).sparse[0]!.buffer).toBe(first.sparse[0]!.buffer);
  });

  it('are never lent twice', () => {
    const pool = createPulledValuesPool(spec);
    const [a, b] = [pool.acquire([5]), pool.acquire([5])];
    pool.release(a);
    pool.release(b);
    const buffers = [pool.acquire([5]), pool.acquire([5]), pool.acquire([5])].map(({ sparse }) => sparse[0]!.buffer);
    expect(new Set(buffers).size).toBe(3);
  });

  it('are dropped when they are much too long, or more than a few', () => {
    const pool = createPulledValuesPool(spec);
    const large = pool.acquire([1000]);
    pool.release(large);
    const small = pool.acquire([10]);
    expect(small.sparse[0]!.buffer.byteLength).toBe(160);
    const others = [pool.acquire([10]), pool.acquire([10])];
    for (const one of [small, ...others]) pool.release(one);
    expect(pool.acquire([1000]).sparse[0]!.buffer).not.toBe(large.sparse[0]!.buffer);
  });

  it('are dropped when they have not been used for long', () => {
    const pool = createBufferPool(64);
    const large = pool.acquire(1000);
    pool.release(large.buffer);
    for (let i = 0; i < 300; i++) pool.release(pool.acquire(10).buffer);
    expect(pool.acquire(1000).buffer).not.toBe(large.buffer);
  });
});
