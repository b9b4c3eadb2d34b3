import { beforeEach, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { giveBack, SpareRoom, takeMemory } from '../../src/data/spare-memory.ts';

const KIB = 1024;

/** Nothing fits beside what was given back before this test. */
beforeEach(() => giveBack(new ArrayBuffer(LIMITS.spareMemoryBytes + KIB)));

test('memory that was given back is used again where it is large enough, and at most twice too large', () => {
  const memory = takeMemory(100 * KIB);
  expect(takeMemory(100 * KIB)).not.toBe(memory);
  giveBack(memory);
  expect(takeMemory(101 * KIB).byteLength).toBe(101 * KIB);
  expect(takeMemory(49 * KIB).byteLength).toBe(49 * KIB);
  expect(takeMemory(50 * KIB)).toBe(memory);
  expect(takeMemory(50 * KIB)).not.toBe(memory);
});

test('little memory is not kept, nor more than the bound: the oldest goes', () => {
  const small = takeMemory(63 * KIB);
  giveBack(small);
  expect(takeMemory(63 * KIB)).not.toBe(small);
  const third = Math.floor(LIMITS.spareMemoryBytes / 3);
  const all = Array.from({ length: 4 }, () => takeMemory(third));
  all.forEach(giveBack);
  const again = Array.from({ length: 4 }, () => takeMemory(third));
  expect(all.map((memory) => again.includes(memory))).toEqual([false, true, true, true]);
});

test('a reader takes more memory when it needs more, and gives back what it had', () => {
  const room = new SpareRoom();
  const small = room.take(80 * KIB);
  expect(room.take(70 * KIB).buffer).toBe(small.buffer);
  const large = room.take(200 * KIB);
  expect(takeMemory(80 * KIB)).toBe(small.buffer);
  expect(takeMemory(200 * KIB)).not.toBe(large.buffer);
  room.close();
  room.close();
  expect(takeMemory(200 * KIB)).toBe(large.buffer);
  expect(takeMemory(200 * KIB)).not.toBe(large.buffer);
});
