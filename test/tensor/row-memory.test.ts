import { describe, expect, it } from 'vitest';
import { ReusedMemory } from '../../src/tensor/row-memory.ts';

describe('memory that is used again', () => {
  it('hands out pieces that do not overlap, until it is reset', () => {
    const memory = new ReusedMemory();
    const pieces = [1, 3, 700_000, 0, 5, 400_000, 2].map((length, at) => memory.words(length).fill(at + 1));
    for (const [at, piece] of pieces.entries()) expect(piece.every((word) => word === at + 1)).toBe(true);
  });

  it('takes no more than a small model needs', () => {
    const memory = new ReusedMemory();
    const taken = new Set([3, 5, 7].map((length) => memory.floats(length).buffer));
    expect([...taken].map(({ byteLength }) => byteLength)).toEqual([16 * 1024]);
  });

  it('gives the same bytes again after a reset, also those of a piece larger than a chunk', () => {
    const memory = new ReusedMemory();
    const take = () => [memory.ids(3), memory.floats(3_000_000), memory.words(7)];
    const first = take().map(({ buffer }) => buffer);
    memory.reset();
    expect(take().map(({ buffer }) => buffer)).toEqual(first);
    memory.reset();
    expect(new Set([...first, ...take().map(({ buffer }) => buffer)]).size).toBe(new Set(first).size);
  });
});
