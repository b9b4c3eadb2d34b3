/** How much of a shard goes for an update. */
import { describe, expect, it } from 'vitest';
import { roomFor } from '../../../src/tensor/admission/room.ts';

describe('roomFor', () => {
  const NAMED = { rows: 0, newRows: 0, promoted: 0, counted: 0, newCandidates: 0 };
  const BOUND = { shardBytes: 6400, rowBytes: 64 };

  it.each([
    ['nothing, up to the bound', { rows: 99, candidates: 0 }, { newRows: 1 }, undefined],
    [
      'evicts down to nine tenths',
      { rows: 100, candidates: 0 },
      { newRows: 1 },
      { evictedCandidates: 0, refusedCandidates: 0, evictedBytes: 704, refusedBytes: 0 },
    ],
    [
      'refuses what does not fit beside the named rows',
      { rows: 100, candidates: 0 },
      { rows: 95, newRows: 9 },
      { evictedCandidates: 0, refusedCandidates: 0, evictedBytes: 320, refusedBytes: 256 },
    ],
    [
      'nothing, up to a quarter of the bytes for candidates',
      { rows: 0, candidates: 99 },
      { newCandidates: 1 },
      undefined,
    ],
    [
      'evicts candidates down to nine tenths of their quarter',
      { rows: 0, candidates: 100 },
      { newCandidates: 5 },
      { evictedCandidates: 15, refusedCandidates: 0, evictedBytes: 0, refusedBytes: 0 },
    ],
    [
      'counts promoted candidates, whose rows may be refused',
      { rows: 0, candidates: 100 },
      { promoted: 98, newCandidates: 5 },
      { evictedCandidates: 2, refusedCandidates: 3, evictedBytes: 0, refusedBytes: 0 },
    ],
    [
      'evicts rows for promoted candidates, whose bytes it gets back',
      { rows: 80, candidates: 80 },
      { promoted: 4 },
      { evictedCandidates: 0, refusedCandidates: 0, evictedBytes: 832, refusedBytes: 0 },
    ],
  ] as const)('%s', (_, held, named, expected) => {
    expect(roomFor(held, { ...NAMED, ...named }, BOUND)).toEqual(expected);
  });
});
