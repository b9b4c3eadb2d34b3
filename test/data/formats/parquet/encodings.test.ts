/** Packed integers of all widths, and LZ4, against encoders that take one bit or byte after the other. */
import { describe, expect, test } from 'vitest';
import { decodeDeltas } from '../../../../src/data/formats/parquet/delta.ts';
import { decodeHybrid } from '../../../../src/data/formats/parquet/hybrid.ts';
import { decompressedHadoopLz4, decompressedLz4 } from '../../../../src/data/formats/parquet/lz4.ts';
import * as properties from '../../../properties.ts';
import { varint, zigzag } from './crafted.ts';

/** Lowest bits first. */
function packed(values: readonly bigint[], width: number): number[] {
  const bytes = Array<number>(Math.ceil((values.length * width) / 8)).fill(0);
  values.forEach((value, at) => {
    for (let bit = 0; bit < width; bit++) {
      const place = at * width + bit;
      bytes[place >> 3]! |= Number((value >> BigInt(bit)) & 1n) << (place & 7);
    }
  });
  return bytes;
}

describe('runs of integers', () => {
  const widths = properties.integer({ min: 1, max: 32 });

  test('packed and repeated ones, of any width', () => {
    const runs = widths.chain((width) => {
      const value = properties.nat({ max: 2 ** Math.min(width, 31) - 1 });
      const repeated = properties.record({ value, times: properties.integer({ min: 1, max: 40 }) });
      const eights = properties
        .integer({ min: 1, max: 4 })
        .chain((count) => properties.array(value, { minLength: 8 * count, maxLength: 8 * count }));
      return properties.tuple(properties.constant(width), properties.array(properties.oneof(repeated, eights)));
    });
    properties.assert(
      properties.property(runs, ([width, parts]) => {
        const bytes: number[] = [];
        const expected: number[] = [];
        for (const part of parts) {
          if (Array.isArray(part)) {
            bytes.push(...varint((part.length / 8) * 2 + 1), ...packed(part.map(BigInt), width));
            expected.push(...part);
          } else {
            const value = packed([BigInt(part.value)], 8 * Math.ceil(width / 8));
            bytes.push(...varint(2 * part.times), ...value);
            expected.push(...Array<number>(part.times).fill(part.value));
          }
        }
        const into = new Uint32Array(expected.length + 3);
        decodeHybrid(Uint8Array.from(bytes), width, into, 2, expected.length);
        expect([...into]).toEqual([0, 0, ...expected, 0]);
        if (width > 8) return;
        const levels = new Uint8Array(expected.length);
        decodeHybrid(Uint8Array.from(bytes), width, levels, 0, expected.length);
        expect([...levels]).toEqual(expected);
      }),
    );
  });

  test('the last run may be cut at its last integer', () => {
    const into = new Uint32Array(3);
    decodeHybrid(Uint8Array.of(3, 1, 2, 3), 8, into, 0, 3);
    expect([...into]).toEqual([1, 2, 3]);
  });
});

describe('differences', () => {
  const BLOCK = 16;

  /** In blocks of 16, of two parts. */
  function encodedDeltas(values: readonly bigint[], bits: number): number[] {
    const bytes = [...varint(BLOCK), 2, ...varint(values.length), ...zigzag(values[0] ?? 0n)];
    for (let from = 1; from < values.length; from += BLOCK) {
      const deltas = values
        .slice(from, from + BLOCK)
        .map((value, at) => BigInt.asIntN(bits, value - values[from + at - 1]!));
      const least = deltas.reduce((smallest, delta) => (delta < smallest ? delta : smallest));
      const above = [...deltas.map((delta) => delta - least), ...Array<bigint>(BLOCK).fill(0n)].slice(0, BLOCK);
      const halves = [above.slice(0, BLOCK / 2), above.slice(BLOCK / 2)];
      const widths = halves.map((half) =>
        Math.max(...half.map((value) => (value === 0n ? 0 : value.toString(2).length))),
      );
      const isUsed = [true, deltas.length > BLOCK / 2];
      bytes.push(...zigzag(least), ...widths);
      for (const [at, half] of halves.entries()) if (isUsed[at]) bytes.push(...packed(half, widths[at]!));
    }
    return bytes;
  }

  test('64-bit ones', () => {
    const value = properties.oneof(
      properties.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      properties.bigInt({ min: -50n, max: 50n }),
    );
    properties.assert(
      properties.property(properties.array(value, { maxLength: 70 }), (values) => {
        const bytes = encodedDeltas(values, 64);
        const into = new BigInt64Array(values.length);
        expect(decodeDeltas(Uint8Array.from([9, ...bytes]), 1, into)).toBe(bytes.length + 1);
        expect([...into]).toEqual(values);
      }),
    );
  });

  // Differences wrap in 32 bits, or have 33: writers do either.
  test.each([32, 33])('32-bit ones, with differences of %d bits', (bits) => {
    const value = properties.oneof(properties.integer(), properties.integer({ min: -50, max: 50 }));
    properties.assert(
      properties.property(properties.array(value, { maxLength: 70 }), (values) => {
        const into = new Int32Array(values.length);
        decodeDeltas(Uint8Array.from(encodedDeltas(values.map(BigInt), bits)), 0, into);
        expect([...into]).toEqual(values);
      }),
    );
  });
});

describe('LZ4', () => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
  /** `abc`, 9 bytes from 3 before, `de`. */
  const BLOCK = [0x35, ...Buffer.from('abc'), 3, 0, 0x20, ...Buffer.from('de')];
  const MADE = `${'abc'.repeat(4)}de`;

  test('a match that goes on into itself', () => {
    expect(text(decompressedLz4(Uint8Array.from(BLOCK), 14))).toBe(MADE);
  });

  test('a match of what is far back, and long lengths', () => {
    const literals = `${'x'.repeat(299)}y`;
    const block = [0xff, 255, 30, ...Buffer.from(literals), 0x2c, 1, 255, 6, 0x10, 122];
    expect(text(decompressedLz4(Uint8Array.from(block), 581))).toBe(`${literals}${literals.slice(0, 280)}z`);
  });

  test.each([
    ['LZ4 data has 14 bytes, and its header says 15', BLOCK, 15],
    ['LZ4 data is cut off or too long', BLOCK, 13],
    ['LZ4 data is cut off or too long', BLOCK.slice(0, -1), 14],
    ['an LZ4 match is outside of the block', [0x35, 97, 97, 97, 4, 0, 0x10, 97], 13],
    ['an LZ4 match is outside of the block', [0x35, 97, 97, 97, 0, 0, 0x10, 97], 13],
    ['an LZ4 match is outside of the block', BLOCK, 11],
  ])('%s', (message, block, size) => {
    expect(() => decompressedLz4(Uint8Array.from(block), size)).toThrow(message);
  });

  test('the blocks of Hadoop, and one block alone', () => {
    const head = [0, 0, 0, 14, 0, 0, 0, BLOCK.length];
    const twice = Uint8Array.from([...head, ...BLOCK, ...head, ...BLOCK]);
    expect(text(decompressedHadoopLz4(twice, 28))).toBe(MADE + MADE);
    expect(text(decompressedHadoopLz4(Uint8Array.from(BLOCK), 14))).toBe(MADE);
  });
});
