/** The pure parts of a bound: how much goes, and which ids. */
import { describe, expect, it } from 'vitest';
import { type AgedIds, leastRecent } from '../../../src/tensor/admission/least-recent.ts';
import { roomFor } from '../../../src/tensor/admission/room.ts';
import * as fc from '../../properties.ts';

const anySeen = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 9 }) },
  { weight: 1, arbitrary: fc.nat({ max: 5000 }) },
  { weight: 1, arbitrary: fc.nat({ max: 2 ** 32 - 2 }) },
);
const anyList = fc.record({
  entries: fc.uniqueArray(fc.record({ id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), seen: anySeen }), {
    selector: ({ id }) => id,
    maxLength: 50,
  }),
  bytes: fc.constantFrom(16, 20, 72),
});

describe('leastRecent', () => {
  it('takes the first by `seen`, then by unsigned id, until the bytes are enough', () => {
    fc.assert(
      fc.property(
        fc.array(anyList, { minLength: 1, maxLength: 2 }),
        anySeen,
        fc.nat({ max: 99 }),
        (lists, now, percent) => {
          const aged = lists.map(
            ({ entries, bytes }): AgedIds => ({
              ids: BigUint64Array.from(entries, ({ id }) => id),
              seen: Uint32Array.from(entries, ({ seen }) => seen),
              bytes,
            }),
          );
          const all = lists
            .flatMap(({ entries, bytes }, list) => entries.map((one) => ({ ...one, bytes, list })))
            .filter(({ seen }) => seen !== now)
            .sort((a, b) => a.seen - b.seen || (a.id < b.id ? -1 : 1));
          const wanted = Math.floor((all.reduce((sum, { bytes }) => sum + bytes, 0) * percent) / 100);
          let taken = 0;
          const expected = lists.map((): bigint[] => []);
          for (const { id, bytes, list } of all) {
            if (taken >= wanted) break;
            expected[list]!.push(id);
            taken += bytes;
          }
          const chosen = leastRecent(aged, now, wanted);
          expect(chosen.map((ids) => [...ids.sort()])).toEqual(
            expected.map((ids) => [...BigUint64Array.from(ids).sort()]),
          );
        },
      ),
    );
  });
});

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
