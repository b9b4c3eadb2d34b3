/** What keeps the files of a pserver that has handed over its units. */
import { expect, it } from 'vitest';
import { FIRST_CUT } from '../../../src/checkpoint/registry/cut.ts';
import type { Generation } from '../../../src/checkpoint/registry/entry.ts';
import { needOf, needText, type PublishedState } from '../../../src/checkpoint/registry/needed.ts';
import type { PublishedFile } from '../../../src/checkpoint/registry/newest.ts';
import { uuidOf } from '../fixture.ts';

const MD5 = '0'.repeat(32);

function file(index: number, number: number, epoch: number, shards: string, more: Partial<Generation> = {}) {
  const generation: Generation = {
    ...{ uuid: uuidOf(number), md5: MD5, timestamp: number },
    ...{ shards: [{ epoch, seq: [9, 9], shards }], ...more },
  };
  return { index, generation } satisfies PublishedFile;
}

/** Pserver 2 has gone; pserver 0 has its shards, at a higher epoch. */
const state = (changes: Partial<PublishedState> = {}): PublishedState => ({
  files: [file(0, 1, 5, '0-7'), file(2, 2, 4, '4-7'), file(2, 3, 3, '4-7')],
  partings: [],
  cut: FIRST_CUT,
  resting: new Set(),
  ...changes,
});

it('is nothing, once all of its shards are in newer files of others', () => {
  expect(needOf(2, state())).toBeUndefined();
  expect(needOf(3, state())).toBeUndefined();
  expect(needOf(0, state())).toMatchObject({ type: 'shards', shards: [0, 1, 2, 3, 4, 5, 6, 7] });
});

it('is a shard that no other has published since, also of an older file or of a parting snapshot', () => {
  const files = [file(0, 1, 5, '0-6'), file(2, 2, 4, '4-6'), file(2, 3, 3, '4-7')];
  expect(needOf(2, state({ files }))).toEqual({ type: 'shards', shards: [7] });
  expect(needOf(2, state({ partings: [file(2, 9, 6, '5')] }))).toEqual({ type: 'shards', shards: [5] });
  expect(needOf(2, state({ partings: [file(1, 9, 6, '5')] }))).toBeUndefined();
  // A parting snapshot of another is no published file that stays.
  const gone = [file(0, 1, 5, '0-3'), file(2, 2, 4, '4-7')];
  expect(needOf(2, state({ files: gone, partings: [file(0, 9, 8, '4-7')] }))).toMatchObject({ type: 'shards' });
});

it('is unknown when nothing is published of what a file has', () => {
  const files = [file(0, 1, 5, '0-7'), file(2, 2, 4, '4-7', { shards: undefined })];
  expect(needOf(2, state({ files }))).toEqual({ type: 'shards', shards: undefined });
});

it('is a file that a head names', () => {
  const need = needOf(2, state({ resting: new Set([uuidOf(3)]) }));
  expect(need).toEqual({ type: 'rest', uuid: uuidOf(3) });
  expect(needText(need!)).toContain(uuidOf(3));
});

it('is a file of the cut, of the one before, or of one that may be completed yet', () => {
  const files = [file(0, 1, 5, '0-7', { round: 30 }), file(2, 2, 4, '4-7', { round: 20 })];
  const ofCut = (uuid: string) => [{ index: 2, uuid, md5: MD5 }];
  const cut = { timeline: 0, round: 20, files: ofCut(uuidOf(2)) };
  expect(needOf(2, state({ files, cut }))).toEqual({ type: 'cut', round: 20 });
  const later = { ...cut, round: 30, files: ofCut(uuidOf(1)), before: { round: 20, files: ofCut(uuidOf(2)) } };
  expect(needOf(2, state({ files, cut: later }))).toEqual({ type: 'cut', round: 30 });
  expect(needOf(2, state({ files, cut: { ...cut, round: 10, files: [] } }))).toEqual({ type: 'cut', round: 10 });
  expect(needOf(2, state({ files, cut: { ...cut, round: 20, files: ofCut(uuidOf(1)) } }))).toBeUndefined();
});
