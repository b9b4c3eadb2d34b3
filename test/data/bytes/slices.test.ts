/** Cuts bytes into slices, for any size of slices and any progress of their reader. */
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { ForwardBytes } from '../../../src/data/bytes/forward.ts';
import {
  lineBreaks,
  ownMemory,
  PLAIN_LINES,
  SLICE_BYTES,
  Slices,
  type SlicesStart,
} from '../../../src/data/bytes/slices.ts';
import * as fc from '../../properties.ts';

async function* blocksOf(bytes: Uint8Array, blockBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blockBytes) yield bytes.subarray(at, at + blockBytes);
}

const START = { offset: 0, line: 1, rules: { ...PLAIN_LINES, comment: 35 } };
const slicesOf = (text: Uint8Array, start: Partial<SlicesStart> = {}, blockBytes = 1 << 20): Slices =>
  new Slices(new ForwardBytes(blocksOf(text, blockBytes)), { ...START, ...start });

test('each byte comes once, with its offset and its line, however far slices are read', async () => {
  const lines = fc.array(fc.stringMatching(/^[ab]{0,5}\n{0,2}$/), { maxLength: 30 });
  const sizes = fc.record({ slice: fc.integer({ min: 1, max: 20 }), block: fc.integer({ min: 1, max: 9 }) });
  await fc.assert(
    fc.asyncProperty(lines, sizes, fc.array(fc.nat(3)), fc.boolean(), async (parts, size, left, isKept) => {
      const text = Buffer.from(parts.join(''));
      const slices = slicesOf(
        text,
        { offset: 7, line: 3, sliceBytes: size.slice, ...(isKept && { room: ownMemory }) },
        size.block,
      );
      const read: Uint8Array[] = [];
      let at = 7;
      let line = 3;
      let ended = false;
      for (let n = 0, slice = await slices.next(); slice !== undefined; n++, slice = await slices.next()) {
        const { bytes, isLast } = slice;
        expect([slice.offset, slice.first, ended]).toEqual([at, line, false]);
        expect(isLast || bytes.at(-1) === 10).toBe(true);
        // The lines that the reader leaves are returned again in the next slice.
        const all = Buffer.from(bytes)
          .toString()
          .split(/(?<=\n)/);
        const taken = isLast ? bytes : bytes.subarray(0, all.slice(0, all.length - (left[n] ?? 0)).join('').length);
        read.push(isKept ? taken : taken.slice());
        slices.passed(taken.length, lineBreaks(taken));
        at += taken.length;
        line += lineBreaks(taken);
        ended = isLast;
      }
      expect(Buffer.concat(read).toString()).toBe(text.toString());
    }),
    { numRuns: 500 },
  );
});

test('a line that is too long to be a record is skipped, and its place is reported', async () => {
  const long = Buffer.alloc(LIMITS.recordBytes + 3 * SLICE_BYTES, ' x');
  const slices = slicesOf(Buffer.concat([Buffer.from('a\n'), long, Buffer.from('\nb\n'), long]));
  const seen: unknown[] = [];
  for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
    const { bytes, first, offset, long: before } = slice;
    seen.push([Buffer.from(bytes.subarray(0, 9)).toString(), first, offset, before]);
    slices.passed(bytes.length, lineBreaks(bytes));
  }
  const behind = 2 + long.length + 1;
  const place = { isOpen: false, isRecord: true };
  expect(seen).toEqual([
    ['a\n', 1, 0, undefined],
    ['b\n', 3, behind, { start: 2, line: 2, bytes: long.length + 1, ...place }],
    ['', 5, behind + 2 + long.length, { start: behind + 2, line: 4, bytes: long.length, ...place }],
  ]);
});

test('a reader must report its progress before the next slice', async () => {
  const slices = slicesOf(Buffer.from('a\nb\n'), { sliceBytes: 2 });
  await slices.next();
  await expect(slices.next()).rejects.toThrow('is called for each slice before the next one');
  expect(() => slices.passed(3, 1)).toThrow('at most the bytes of the slice');
});
