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
    const first = pool.take(10);
    expect([first.dense[0]!.length, first.sparse[0]!.length]).toEqual([6, 40]);
    pool.giveBack(first);
    const second = pool.take(8);
    expect(second.sparse[0]!.length).toBe(32);
    expect(second.sparse[0]!.buffer).toBe(first.sparse[0]!.buffer);
    pool.giveBack(second);
    expect(pool.take(10).sparse[0]!.buffer).toBe(first.sparse[0]!.buffer);
  });

  it('are never lent twice', () => {
    const pool = createPulledValuesPool(spec);
    const [a, b] = [pool.take(5), pool.take(5)];
    pool.giveBack(a);
    pool.giveBack(b);
    const buffers = [pool.take(5), pool.take(5), pool.take(5)].map(({ sparse }) => sparse[0]!.buffer);
    expect(new Set(buffers).size).toBe(3);
  });

  it('are let go of when they are much too long, or more than a few', () => {
    const pool = createPulledValuesPool(spec);
    const large = pool.take(1000);
    pool.giveBack(large);
    const small = pool.take(10);
    expect(small.sparse[0]!.buffer.byteLength).toBe(160);
    const others = [pool.take(10), pool.take(10)];
    for (const one of [small, ...others]) pool.giveBack(one);
    expect(pool.take(1000).sparse[0]!.buffer).not.toBe(large.sparse[0]!.buffer);
  });

  it('are let go of when nobody took them for long', () => {
    const shelf = createBufferPool(64);
    const large = shelf.take(1000);
    shelf.giveBack(large.buffer);
    for (let i = 0; i < 300; i++) shelf.giveBack(shelf.take(10).buffer);
    expect(shelf.take(1000).buffer).not.toBe(large.buffer);
  });
});
