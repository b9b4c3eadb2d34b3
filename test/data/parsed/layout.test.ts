/** The bytes of a block, and what is not taken for one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { type BlockFeatures, type ParsedBlock, plannedBatch } from '../../../src/data/parsed/block.ts';
import { decodeBlock, encodeBlock } from '../../../src/data/parsed/layout.ts';
import { HEADER_BYTES, SECTION } from '../../../src/data/parsed/sections.ts';
import * as fc from '../../properties.ts';
import { GOLDEN_KEY, goldenBlock, goldenInputs, WEIGHTED_TEXT } from './golden-block.ts';

const GOLDEN = readFileSync(join(import.meta.dirname, '../../golden/data/v3.block'));
const WEIGHTED = readFileSync(join(import.meta.dirname, '../../golden/data/v3-weighted.block'));
const INPUTS = readFileSync(join(import.meta.dirname, '../../golden/data/v3-inputs.block'));
const OLD = readFileSync(join(import.meta.dirname, '../../golden/data/v2.block'));
/** The same, section by section: docs/data-cache.md shows it. */
const VECTOR = JSON.parse(readFileSync(join(import.meta.dirname, '../../golden/data/v3.json'), 'utf8')) as unknown;

/** A copy at an address that is a multiple of eight. */
const copyOf = (bytes: Uint8Array): Buffer => {
  const copy = Buffer.alloc(bytes.length);
  copy.set(bytes);
  return copy;
};

/** With the check sum of what is there now. */
function summed(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(16)), 12);
  return bytes;
}

const changed = (bytes: Buffer, at: number, values: readonly number[]): Buffer => {
  bytes.set(values, at);
  return summed(bytes);
};

function fault(bytes: Buffer): string {
  try {
    decodeBlock(GOLDEN_KEY, bytes);
  } catch (error) {
    if (isPaddletError(error, 'DataInvalid')) return error.message;
    throw error;
  }
  return '';
}

function vectorOf(bytes: Buffer): unknown {
  const { block, sources } = decodeBlock(GOLDEN_KEY, copyOf(bytes));
  const { goods, labels, badPositions, runPositions, runLines, notes } = block;
  const { starts, offsets, rows, values, ids } = block.sparse[0]!;
  return {
    records: block.records,
    batchSize: block.batchSize,
    sources,
    notes,
    labels: [...labels],
    badPositions: [...badPositions],
    runPositions: [...runPositions],
    runLines: [...runLines],
    goods: [...goods],
    starts: [...starts],
    offsets: [...offsets],
    rows: [...rows],
    values: [...(values ?? [])],
    ids: Array.from({ length: ids.length / 8 }, (_, at) =>
      Buffer.from(ids)
        .readBigUInt64LE(8 * at)
        .toString(),
    ),
  };
}

describe('a block', () => {
  test('has the bytes of version 3', () => {
    expect(encodeBlock(GOLDEN_KEY, goldenBlock())).toEqual(GOLDEN);
  });

  test('is read as the vector says', () => {
    expect(vectorOf(GOLDEN)).toEqual(VECTOR);
  });

  test('has sections of weights and groups where a record has one, and of fields where they are read', () => {
    const kept = goldenBlock(WEIGHTED_TEXT, true);
    expect(encodeBlock(GOLDEN_KEY, kept)).toEqual(WEIGHTED);
    const { weights, groups, sparse } = decodeBlock(GOLDEN_KEY, copyOf(WEIGHTED)).block;
    expect(weights).toEqual(Float32Array.of(0.25, 1));
    expect(groups).toEqual(Uint8Array.of(...Array(8).fill(255), 2, 1, 0, 0, 0, 0, 0, 0));
    expect(sparse[0]!.fields).toEqual(Uint16Array.of(3, 4095, 258));
    const plain = decodeBlock(GOLDEN_KEY, copyOf(GOLDEN)).block;
    expect([plain.weights, plain.groups, plain.sparse[0]!.fields]).toEqual([undefined, undefined, undefined]);
  });

  test('has any number of sparse inputs, and floats', () => {
    expect(encodeBlock(GOLDEN_KEY, goldenInputs())).toEqual(INPUTS);
    const { block } = decodeBlock(GOLDEN_KEY, copyOf(INPUTS));
    expect([plannedBatch(block, 0), plannedBatch(block, 1)]).toEqual(
      [0, 1].map((number) => plannedBatch(goldenInputs().block, number)),
    );
    const { sparse, dense } = plannedBatch(block, 1);
    expect(sparse.map(({ fields }) => [...fields!])).toEqual([[0], [0, 1, 1]]);
    expect(sparse.map(({ rows, count }) => [count, ...rows])).toEqual([
      [1, 0],
      [2, 0, 1, 0],
    ]);
    expect(dense).toEqual([{ width: 2, values: Float32Array.of(3, 4) }]);
  });

  test('whose weights are below 0 is refused', () => {
    const at = WEIGHTED.indexOf(Buffer.from(Float32Array.of(0.25, 1).buffer));
    const bytes = copyOf(WEIGHTED);
    bytes.writeFloatLE(-0.5, at);
    expect(fault(summed(bytes))).toBe('it has a weight below 0, or a weight that is not a number');
  });

  test('whose fields are too high, or too few, is refused', () => {
    const bytes = copyOf(WEIGHTED);
    bytes.writeUInt16LE(4096, WEIGHTED.indexOf(Buffer.from(Uint16Array.of(3, 4095, 258).buffer)));
    expect(fault(summed(bytes))).toBe('it has a field above 4095');
    const { block, sources } = goldenBlock(WEIGHTED_TEXT, true);
    const short = encodeBlock(GOLDEN_KEY, {
      block: { ...block, sparse: [{ ...block.sparse[0]!, fields: Uint16Array.of(1, 2) }] },
      sources,
    });
    expect(fault(copyOf(short))).toBe('a section has 4 bytes, not 6');
  });

  test('whose values are all 1 has no values', () => {
    const bytes = encodeBlock(GOLDEN_KEY, goldenBlock('1 1:1 2:1.0\n0\n0 3:10e-1\n1 1:1\n'));
    const sections = Array.from({ length: bytes.readUInt32LE(28) }, (_, at) =>
      bytes.readUInt16LE(HEADER_BYTES + 24 * at),
    );
    expect(sections).not.toContain(SECTION.values);
    expect(decodeBlock(GOLDEN_KEY, bytes).block.sparse[0]!.values).toBeUndefined();
  });
});

describe('what is no block of that key', () => {
  test.each<[string, (bytes: Buffer) => Buffer, string]>([
    ['of version 2', () => OLD, 'expected version 3, got 2'],
    ['of a later version', (bytes) => changed(bytes, 8, [4]), 'expected version 3, got 4'],
    ['of other data', (bytes) => changed(bytes, 64, [9]), 'it is a block of other data'],
    ['of a kind to come', (bytes) => changed(bytes, 24, [2]), 'it is of another kind'],
    ['with a section to come', (bytes) => changed(bytes, HEADER_BYTES, [36]), 'it has a section 36 of input 0'],
    ['of more inputs', (bytes) => changed(bytes, 52, [2]), 'it has no section 16'],
    ['of floats that it does not have', (bytes) => changed(bytes, 48, [2]), 'its dense input does not fit'],
    [
      'with a section beyond its end',
      (bytes) => changed(bytes, HEADER_BYTES + 18, [255]),
      'its section 1 does not fit',
    ],
    ['of more sections than it has room for', (bytes) => changed(bytes, 28, [255, 255]), 'its sections are cut off'],
    ['of more records', (bytes) => changed(bytes, 32, [5]), 'its counts do not fit'],
    ['of batches of no records', (bytes) => changed(bytes, 40, [0]), 'its counts do not fit'],
  ])('%s is refused', (_, damage, message) => {
    expect(fault(damage(copyOf(GOLDEN)))).toBe(message);
  });

  const BLOCK = decodeBlock(GOLDEN_KEY, copyOf(INPUTS)).block;
  const [FIRST, SECOND] = BLOCK.sparse as [BlockFeatures, BlockFeatures];
  const second = (damage: Partial<BlockFeatures>): Pick<ParsedBlock, 'sparse'> => ({
    sparse: [FIRST, { ...SECOND, ...damage }],
  });
  test.each<[string, object, string]>([
    ['rows that have no id', second({ rows: SECOND.rows.map(() => 4_000_000_000) }), 'it has features without an id'],
    [
      'offsets beyond the features',
      second({ offsets: SECOND.offsets.map((offset) => 9e8 * offset) }),
      'the features of its records do not add up',
    ],
    [
      'starts that fall',
      second({ starts: SECOND.starts.map((start, at) => (at === 2 ? 9 : start)) }),
      'its batches are out of order',
    ],
    ['good records that it lacks', { goods: BLOCK.goods.map((good) => 2 * good) }, 'its batches do not add up'],
    ['too few floats', { dense: { width: 3, values: BLOCK.dense!.values } }, 'a section has 16 bytes, not 24'],
    ['a bad record of nothing', { notes: { ...BLOCK.notes, bad: [null] } }, 'its notes cannot be read'],
    ['a part of nothing', { notes: { ...BLOCK.notes, parts: [null] } }, 'its notes cannot be read'],
  ])('with %s is refused', (_, damage, message) => {
    const block = { ...BLOCK, ...damage };
    expect(fault(copyOf(encodeBlock(GOLDEN_KEY, { block, sources: [] })))).toBe(message);
  });

  test('a change of any byte is noticed', () => {
    for (let at = 0; at < INPUTS.length; at++) {
      const bytes = copyOf(INPUTS);
      bytes[at]! ^= 0x10;
      expect(fault(bytes), `byte ${at}`).not.toBe('');
    }
  });

  test('numbers that were changed with the check sum never reach beyond the file', () => {
    fc.assert(
      fc.property(fc.nat(INPUTS.length - 1), fc.nat(255), fc.nat(INPUTS.length - 1), fc.nat(255), (a, x, b, y) => {
        const bytes = copyOf(INPUTS);
        bytes[a] = x;
        bytes[b] = y;
        // It is refused, or its arrays are within it: anything else throws a RangeError.
        fault(summed(bytes));
      }),
      { numRuns: 5000 },
    );
  });
});
