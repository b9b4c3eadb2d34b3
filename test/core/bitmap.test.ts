import { describe, expect, it } from 'vitest';
import { bitmapFromText, bitmapToText, createBitmap } from '../../src/core/bitmap.ts';
import * as fc from '../properties.ts';

const sets = fc
  .integer({ min: 0, max: 70 })
  .chain((size) =>
    fc.tuple(fc.constant(size), size === 0 ? fc.constant<number[]>([]) : fc.uniqueArray(fc.nat(size - 1))),
  );

describe('a bitmap', () => {
  it('is a set of small integers, and the same again from its text', () => {
    fc.assert(
      fc.property(sets, ([size, members]) => {
        const bitmap = createBitmap(size);
        for (const member of members) bitmap.add(member);
        for (const member of members) bitmap.add(member);
        const again = bitmapFromText(bitmapToText(bitmap), size);
        for (const one of [bitmap, again!]) {
          expect(one.count()).toBe(members.length);
          for (let i = 0; i < size; i++) expect(one.has(i)).toBe(members.includes(i));
        }
      }),
    );
  });

  it('is written lowest index first, two digits a byte', () => {
    const bitmap = createBitmap(12);
    for (const member of [0, 1, 4, 11]) bitmap.add(member);
    expect(bitmapToText(bitmap)).toBe('1308');
  });

  it.each([
    ['too short', '13', 12],
    ['too long', '130800', 12],
    ['capitals', '1F08', 12],
    ['no digits', '13g8', 12],
    ['a bit beyond the size', '1318', 12],
    ['something for nothing', '00', 0],
  ])('is refused when its text is not one of that size: %s', (_, text, size) => {
    expect(bitmapFromText(text, size)).toBeUndefined();
  });

  it('has no members beyond its size, and takes none', () => {
    const bitmap = createBitmap(12);
    expect(() => bitmap.add(12)).toThrow('12 is below 12');
    expect(() => bitmap.add(-1)).toThrow('-1 is below 12');
    expect(bitmap.has(12)).toBe(false);
    expect(bitmap.has(-1)).toBe(false);
  });
});
