import { describe, expect, it } from 'vitest';
import { CBOR_MAX_DEPTH, decodeCbor, encodeCbor } from '../../../src/protocol/frames/cbor.ts';
import * as fc from '../../properties.ts';

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'));
const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.maxSafeInteger(),
    // cbor-x writes -0 as 0.
    fc.double({ noNaN: true }).map((number) => number + 0),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 30 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 30, noNullPrototype: true },
    ),
  ),
})).value;

describe('CBOR headers', () => {
  it('brings back what was written', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(decodeCbor(encodeCbor(value))).toEqual(value);
      }),
    );
  });

  it('reads what other libraries write', () => {
    // RFC 8949, appendix A.
    expect(decodeCbor(hex('a2 6161 01 6162 82 02 03'))).toEqual({ a: 1, b: [2, 3] });
    expect(decodeCbor(hex('1b 000000e8d4a51000'))).toBe(1_000_000_000_000);
    expect(decodeCbor(hex('1b 001fffffffffffff'))).toBe(Number.MAX_SAFE_INTEGER);
    expect(decodeCbor(hex('3a 7fffffff'))).toBe(-(2 ** 31));
    expect(decodeCbor(hex('20'))).toBe(-1);
    expect(decodeCbor(hex('f9 3c00'))).toBe(1);
    expect(decodeCbor(hex('fa 47c35000'))).toBe(100_000);
  });

  it.each([
    ['an announced array of 2^32 - 1', '9a ffffffff', 'count'],
    ['an announced map of 2^63', 'bb 8000000000000000', 'count'],
    ['a string of 2^40 bytes', '7b 0000010000000000', 'string'],
    ['an indefinite length', '9f 01 ff', 'indefinite'],
    ['an integer of 2^53', '1b 0020000000000000', '2^53'],
    ['an integer under -2^31', '3a 80000000', '-2^31'],
    ['a tag', 'c1 1a 514b67b0', 'tag'],
    ['a record definition of cbor-x', 'd9 dff8 84 19 e000 81 6161 01', 'tag'],
    ['a key that is a number', 'a1 01 02', 'key'],
    ['a repeated key', 'a2 6161 01 6161 02', 'key at byte 4 is repeated'],
    ['a repeated key in a map inside', '81 a1 6161 a3 6162 01 6161 00 6162 f6', 'key at byte 11 is repeated'],
    ['a repeated key with another form of length', 'a2 6161 01 7801 61 02', 'repeated'],
    ['two keys that are read as the same', 'a2 61ff 01 61fe 02', 'repeated'],
    ['an unknown simple value', 'f0', 'simple'],
    ['a cut number', 'fb 3ff0', 'number'],
    ['two values', '01 02', 'follow'],
    ['nothing', '', 'missing'],
    ['nesting', `${'81'.repeat(CBOR_MAX_DEPTH + 1)}01`, 'deep'],
    ['a million levels', '81'.repeat(1_000_000), 'deep'],
  ])('refuses %s', (_what, bytes, reason) => {
    expect(() => decodeCbor(hex(bytes))).toThrowError(reason);
  });

  it('takes the same key in several maps', () => {
    expect(decodeCbor(hex('82 a1 6161 a1 6161 01 a1 6161 02'))).toEqual([{ a: { a: 1 } }, { a: 2 }]);
  });

  it('refuses a repeated key among very many as quickly as it takes them', () => {
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 0]));
    const bytes = encodeCbor(many);
    expect(Object.keys(decodeCbor(bytes) as object)).toHaveLength(60_000);
    // The last key becomes one of those before it.
    const again = Buffer.from(bytes);
    again.write('k10000', again.lastIndexOf('k59999'));
    expect(() => decodeCbor(again)).toThrowError('repeated');
  });

  it('sets no prototype', () => {
    const decoded = decodeCbor(hex('a1 69 5f5f70726f746f5f5f a1 61 78 01'));
    expect(({} as Record<string, unknown>).x).toBeUndefined();
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  it('decodes or refuses any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeCbor(bytes);
        } catch (error) {
          expect((error as Error).constructor).toBe(Error);
        }
      }),
      { numRuns: 5000 },
    );
  });
});
