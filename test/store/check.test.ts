import { describe, expect, it } from 'vitest';
import { compareKeys, prefixEnd } from '../../src/store/check.ts';
import * as fc from '../properties.ts';

const text = (constraints: fc.StringConstraints) => fc.string({ unit: 'binary', ...constraints });

describe('order of keys', () => {
  it('is that of their bytes', () => {
    fc.assert(
      fc.property(text({ maxLength: 4 }), text({ maxLength: 4 }), (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      {
        examples: [
          ['\u{1F600}', '\uE000'],
          ['a', 'a\0'],
          ['\uD7FF', '\uE000'],
        ],
      },
    );
  });

  it('puts the end of a prefix right behind all that begin with it', () => {
    fc.assert(
      fc.property(text({ minLength: 1, maxLength: 3 }), text({ minLength: 1, maxLength: 4 }), (prefix, key) => {
        const end = prefixEnd(prefix);
        const isInside = compareKeys(key, prefix) >= 0 && (end === undefined || compareKeys(key, end) < 0);
        expect(isInside).toBe(key.startsWith(prefix));
        expect(end?.isWellFormed() ?? true).toBe(true);
      }),
      {
        examples: [
          ['\u{10FFFF}', '\u{10FFFF}a'],
          ['a\u{10FFFF}', 'b'],
          ['\uD7FF', '\uE000'],
        ],
      },
    );
  });
});
