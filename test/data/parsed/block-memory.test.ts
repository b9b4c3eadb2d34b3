import { expect, test } from 'vitest';
import { BlockMemory } from '../../../src/data/parsed/block-memory.ts';
import { goldenBlock } from './golden-block.ts';

test('the blocks that were not used for the longest time go when there are too many bytes', () => {
  const memory = new BlockMemory(100);
  const kept = goldenBlock();
  memory.put('a', kept, 40);
  memory.put('b', kept, 40);
  expect(memory.get('a')).toBe(kept);
  memory.put('c', kept, 40);
  expect(['a', 'b', 'c'].filter((key) => memory.get(key) !== undefined)).toEqual(['a', 'c']);
  memory.put('a', kept, 60);
  expect(['a', 'b', 'c'].filter((key) => memory.get(key) !== undefined)).toEqual(['a', 'c']);
  memory.put('d', kept, 101);
  expect(memory.get('d')).toBeUndefined();
  expect(memory.get('a')).toBe(kept);
});
