import { describe, expect, it } from 'vitest';
import { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import * as fc from '../properties.ts';

const FLOATS = 100_000;
const NOT_FINITE = [Number.NaN, Infinity, -Infinity];

describe('floats that are looked at as they come', () => {
  it('give the same answer as all at once, wherever the bad ones are and however the bytes come', () => {
    const heap = new KernelHeap();
    const bad = fc.record({ at: fc.nat(FLOATS - 1), value: fc.constantFrom(...NOT_FINITE) });
    const range = fc.tuple(fc.nat(FLOATS), fc.nat(FLOATS)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    const arrivals = fc.array(fc.nat(4 * FLOATS), { maxLength: 6 }).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(fc.array(bad, { maxLength: 3 }), range, arrivals, (some, [from, to], arrived) => {
        const staging = heap.stage(4 * FLOATS);
        const bytes = staging.bytes();
        const floats = new Float32Array(bytes.buffer, bytes.byteOffset, FLOATS).fill(1.5);
        for (const { at, value } of some) floats[at] = value;
        for (const byteLength of arrived) staging.arrived(byteLength);
        const found = some.map(({ at }) => at - from).filter((at) => at >= 0 && at < to - from);
        const expected = found.length === 0 ? -1 : Math.min(...found);
        expect(heap.firstNotFinite(bytes.byteOffset + 4 * from, to - from)).toBe(expected);
        staging.free();
      }),
      { numRuns: 60 },
    );
  });

  it('are looked at again in memory that was freed and allocated again', () => {
    const heap = new KernelHeap();
    const first = heap.stage(4 * FLOATS);
    first.bytes().fill(0);
    first.arrived(4 * FLOATS);
    const address = first.bytes().byteOffset;
    first.free();
    const second = heap.stage(4 * FLOATS);
    expect(second.bytes().byteOffset).toBe(address);
    new Float32Array(second.bytes().buffer, address, FLOATS)[FLOATS - 1] = Number.NaN;
    expect(heap.firstNotFinite(address, FLOATS)).toBe(FLOATS - 1);
    second.arrived(4 * FLOATS);
    expect(heap.firstNotFinite(address, FLOATS)).toBe(FLOATS - 1);
  });
});
