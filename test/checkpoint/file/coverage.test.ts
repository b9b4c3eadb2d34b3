import { describe, expect, it } from 'vitest';
import { coverageOf, coveredShards, formatShards, parseShards } from '../../../src/checkpoint/file/coverage.ts';
import * as fc from '../../properties.ts';

describe('coverage', () => {
  it('is short for the usual placements', () => {
    const even = Array.from({ length: 256 }, (_, at) => at * 2);
    expect(formatShards(even)).toBe('0-510/2');
    expect(formatShards([0, 1, 2, 3])).toBe('0-3');
    expect(formatShards([3, 9])).toBe('3,9');
    expect(formatShards([0, 1, 2, 7, 8, 20, 23, 26])).toBe('0-2,7-8,20-26/3');
    expect(formatShards([])).toBe('');
  });

  it('is read as it was written', () => {
    const shards = fc.uniqueArray(fc.nat(65_535), { maxLength: 300 }).map((list) => list.sort((a, b) => a - b));
    fc.assert(
      fc.property(shards, (list) => {
        expect(parseShards(formatShards(list))).toEqual(list);
      }),
    );
  });

  it.each(['a', '3-', '1,1', '2,1', '5-3,4', '0-9/0', '0-70000', '99999', '1,,2'])('refuses %s', (text) => {
    expect(parseShards(text)).toBeUndefined();
  });

  it('groups shards by epoch and keeps the range of their positions', () => {
    const coverage = coverageOf([
      { shard: 2, epoch: 3, seq: 11 },
      { shard: 0, epoch: 3, seq: 9 },
      { shard: 1, epoch: 1, seq: 4 },
    ]);
    expect(coverage).toEqual([
      { epoch: 1, seq: [4, 4], shards: '1' },
      { epoch: 3, seq: [9, 11], shards: '0,2' },
    ]);
    expect([...coveredShards(coverage)!].sort(([a], [b]) => a - b)).toEqual([
      [0, { epoch: 3, low: 9, high: 11 }],
      [1, { epoch: 1, low: 4, high: 4 }],
      [2, { epoch: 3, low: 9, high: 11 }],
    ]);
    expect(coveredShards([{ epoch: 1, seq: [0, 0], shards: 'x' }])).toBeUndefined();
  });
});
