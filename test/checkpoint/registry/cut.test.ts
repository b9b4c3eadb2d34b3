/** `/checkpoints/cut`: from one complete cut to the next, and back (docs/modes.md). */
import { expect, it } from 'vitest';
import {
  type Cut,
  type CutFile,
  FIRST_CUT,
  filesOfCut,
  nextCut,
  parseCut,
  readCut,
  rolledBack,
  rolledFurtherBack,
} from '../../../src/checkpoint/registry/cut.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { FakeClock, put } from '../../store/support.ts';

const file = (index: number, letter: string): CutFile => {
  const uuid = `${letter.repeat(8)}-${letter.repeat(4)}-4${letter.repeat(3)}-8${letter.repeat(3)}-${letter.repeat(12)}`;
  return { index, uuid, md5: letter.repeat(32) };
};
const A = [file(0, 'a'), file(1, 'b')];
const B = [file(0, 'c'), file(1, 'd')];
const C = [file(0, 'e'), file(1, 'f')];

it('begins at round 0 with no files: the initial values', () => {
  expect(parseCut('/cut', undefined)).toEqual({ cut: FIRST_CUT, modRevision: 0n });
  expect(filesOfCut(FIRST_CUT).size).toBe(0);
});

it('keeps the complete one before it', () => {
  const first = nextCut(FIRST_CUT, { round: 10, files: A });
  expect(first).toEqual({ timeline: 0, round: 10, files: A });
  const second = nextCut(first, { round: 20, files: B });
  expect(second).toEqual({ timeline: 0, round: 20, files: B, before: { round: 10, files: A } });
  expect(nextCut(second, { round: 30, files: C }).before).toEqual({ round: 20, files: B });
  expect([...filesOfCut(second)]).toEqual([...B, ...A].map(({ uuid }) => uuid));
});

it('going back to it raises the timeline and nothing else', () => {
  const cut = nextCut(nextCut(FIRST_CUT, { round: 10, files: A }), { round: 20, files: B });
  expect(rolledBack(cut)).toEqual({ ...cut, timeline: 1 });
  expect(rolledBack(rolledBack(cut)).timeline).toBe(2);
  expect(rolledBack(FIRST_CUT)).toEqual({ ...FIRST_CUT, timeline: 1 });
  // The next one is of the new timeline.
  expect(nextCut(rolledBack(cut), { round: 20, files: C }).timeline).toBe(1);
});

it('a damaged one gives way to the one before, and that one to the beginning', () => {
  const cut = nextCut(nextCut(FIRST_CUT, { round: 10, files: A }), { round: 20, files: B });
  const back = rolledFurtherBack(cut);
  expect(back).toEqual({ timeline: 1, round: 10, files: A });
  expect(rolledFurtherBack(back)).toEqual({ timeline: 2, round: 0, files: [] });
});

it('is read as it was written', async () => {
  const store = new MemoryStore(new MemoryStoreData({ clock: new FakeClock() }));
  const cut: Cut = nextCut(nextCut(FIRST_CUT, { round: 10, files: A }), { round: 20, files: B });
  await put(store, '/cut', JSON.stringify(cut));
  const read = await readCut(store, '/cut');
  expect(read.cut).toEqual(cut);
  expect(read.modRevision).toBeGreaterThan(0n);
});

it.each([
  ['no number of a timeline', { ...FIRST_CUT, timeline: -1 }],
  ['a round that is none', { ...FIRST_CUT, round: 1.5 }],
  ['a file without a proper name', { ...FIRST_CUT, files: [{ ...A[0], uuid: '../up' }] }],
  ['a file with a digest that is none', { ...FIRST_CUT, files: [{ ...A[0], md5: 'A'.repeat(32) }] }],
  ['an index that no pserver has', { ...FIRST_CUT, files: [{ ...A[0], index: 1e9 }] }],
  ['more than it should have', { ...FIRST_CUT, more: 1 }],
])('%s is refused', (_, value) => {
  expect(() => parseCut('/cut', { value: JSON.stringify(value), modRevision: 3n })).toThrow('/cut');
});
