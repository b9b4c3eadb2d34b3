/** Pushes never send the memory in which a model computes; pulls put values there. */
import { describe, expect, test } from 'vitest';
import { createSlicer } from '../../../src/cluster/client/slicer.ts';
import { ArrayMemory, memoryOf } from '../../../src/tensor/array-memory.ts';
import { createIdRouter, type IdList } from '../../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';
import { placedAt, placementOf, SHARDS } from './placed.ts';

const SPEC: ParameterSpec = {
  dense: [{ name: 'bias', shape: [3], initializer: { type: 'zeros' } }],
  sparse: [
    { name: 'w', width: 2, initializer: { type: 'zeros' } },
    { name: 'v', width: 5, initializer: { type: 'zeros' } },
  ],
};

const ALL = placementOf(placedAt(0, [0, 1, 2, 3, 4, 5, 6, 7]));
const TWO = placementOf(placedAt(0, [0, 1, 2, 3]), placedAt(1, [4, 5, 6, 7]));

describe.each([1, 7, 40])('%d ids', (count) => {
  const listOf = (length: number): IdList => {
    const ids = BigUint64Array.from({ length }, (_, i) => BigInt(i * 977));
    return { ids: new Uint8Array(ids.buffer), count: length };
  };
  // Each table has ids of its own.
  const lists = SPEC.sparse.map((_, table) => listOf(count + 5 * table));

  test.each([
    ['one pserver', ALL],
    ['two pservers', TWO],
  ])('go to %s and come back as they were', (_, placement) => {
    const memory = new ArrayMemory();
    const slicer = createSlicer({ spec: SPEC, shards: SHARDS, router: createIdRouter({ shards: SHARDS }), memory });
    const gradients = slicer.allocate(lists);
    for (const array of [...gradients.dense, ...gradients.sparse]) {
      expect(memoryOf(array)).toBe(memory);
      array.forEach((_, i) => {
        array[i] = i + 1;
      });
    }
    const pulled = slicer.allocate(lists);
    for (const slice of slicer.route(placement, lists).slices) {
      const segments = slice.pushSegments(gradients);
      for (const segment of segments) expect(memoryOf(segment)).toBeUndefined();
      // Of each pair of places and floats the floats: as the answer to a pull has them.
      const floats = segments.filter((_, i) => i % 2 === 1);
      slice.scatter({ segmentCount: floats.length, segment: (index) => floats[index]! }, pulled);
      slice.release();
    }
    expect(pulled.dense.map((array) => [...array])).toEqual(gradients.dense.map((array) => [...array]));
    expect(pulled.sparse.map((array) => [...array])).toEqual(gradients.sparse.map((array) => [...array]));
    slicer.recycle(gradients);
    slicer.recycle(pulled);
    expect(memory.heap.kernels.allocatedBytes()).toBe(0);
  });
});
