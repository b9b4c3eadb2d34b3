/** Corrupt chunks: each is named, and left out where a job says so. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { ForwardBytes } from '../../../../../src/data/bytes/forward.ts';
import { decodeBody } from '../../../../../src/data/bytes/packings/recordio/body.ts';
import { listChunks, readRange } from '../../../../../src/data/bytes/packings/recordio/chunks.ts';
import { COMPRESSORS, encodeHeader } from '../../../../../src/data/bytes/packings/recordio/header.ts';
import { type ScannedChunk, scanChunks } from '../../../../../src/data/bytes/packings/recordio/scan.ts';
import { linesOf } from '../../../../../src/data/bytes/packings/recordio/unpack.ts';
import { loadOrBuildIndex } from '../../../../../src/data/index-file.ts';
import { odditiesOf } from '../../../../../src/data/oddities.ts';
import { createDisk } from '../../../../../src/host/disk.ts';
import type { TestPlace } from '../../../place.ts';
import { chunkOf, damaged, placeOf, textOf } from './recordio.ts';

const FIRST = chunkOf(['1 1:1', '0 2:1'], 'snappy');
const THIRD = chunkOf(['1 3:1'], 'gzip');

/** A chunk whose header fits these bytes. */
const chunkWith = (packed: Buffer, compressor: number, records: number): Buffer =>
  Buffer.concat([encodeHeader({ crc32: crc32(packed), compressor, bytes: packed.length, records }), packed]);

const GOOD = chunkOf(['0 5:1', '1 6:1', '']);
const IDENTIFIER = Buffer.from('\xff\x06\0\0sNaPpY', 'latin1');
const frame = (...bytes: number[]): Buffer => Buffer.concat([IDENTIFIER, Buffer.from(bytes)]);

/** The second of three chunks, what is said of it, and how many records its header says. */
const CORRUPT: [what: string, chunk: Buffer, fault: string, records: number][] = [
  ['a wrong CRC', damaged(GOOD, 25), 'its CRC-32 is 0x9f6c670d, expected 0x87d65143', 3],
  ['another magic number', damaged(GOOD, 1), 'expected the bytes 04030201, which begin a chunk, got 04fc0201', 0],
  ['a size that is too large', damaged(GOOD, 15), 'its header says 4278190102 bytes, expected at most 134217728', 0],
  ['a size that goes too far', damaged(GOOD, 13), 'it is cut off: expected 65302 bytes after its header, got', 3],
  ['too many records', damaged(GOOD, 19), 'its header says 4278190083 records, expected at most 4194304', 0],
  ['an unknown compressor', chunkWith(Buffer.from('x'), 7, 9), 'its compressor is 7, expected 0 (none), 1 (snappy)', 9],
  [
    'no snappy',
    chunkWith(Buffer.from('xx'), 1, 1),
    'its snappy data cannot be decompressed: the frame at byte 0 is',
    1,
  ],
  ['no gzip', chunkWith(Buffer.from('xx'), 2, 1), 'its gzip data cannot be decompressed: incorrect header check', 1],
  ['too few records', chunkWith(Buffer.alloc(4), 0, 2), 'it has 1 records, expected 2', 2],
  ['too many of them', chunkWith(Buffer.alloc(8), 0, 1), 'it has more than 1 records', 1],
  ['a record that is cut off', chunkWith(Buffer.of(5, 0, 0, 0, 1), 0, 1), 'its records end at byte 0 of 5', 1],
  ['half a length', chunkWith(Buffer.alloc(6), 0, 1), 'its records end at byte 4 of 6', 1],
  [
    'snappy without beginning',
    chunkWith(Buffer.of(1, 4, 0, 0, 0, 0, 0, 0), 1, 0),
    'does not begin as a snappy stream',
    0,
  ],
  [
    'a wrong CRC in snappy',
    chunkWith(frame(1, 5, 0, 0, 1, 2, 3, 4, 9), 1, 0),
    'the CRC-32C of the frame at byte 10',
    0,
  ],
  ['a frame that is too short', chunkWith(frame(0, 3, 0, 0, 1, 2, 3), 1, 0), 'the frame at byte 10 is too short', 0],
  [
    'frames of nothing without end',
    chunkWith(Buffer.concat([IDENTIFIER, Buffer.alloc(1 << 20, Buffer.of(0x80, 0, 0, 0))]), 1, 0),
    'it has more than 262144 frames',
    0,
  ],
  ['a frame that must not be skipped', chunkWith(frame(2, 0, 0, 0), 1, 0), 'at byte 10 is of the unknown kind 2', 0],
  [
    'a block that says too much',
    chunkWith(frame(0, 9, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 15), 1, 0),
    'bytes, expe',
    0,
  ],
  ['a block that is no block', chunkWith(frame(0, 7, 0, 0, 0, 0, 0, 0, 9, 1, 1), 1, 0), 'cannot be decompressed', 0],
];

const skipping = (place: TestPlace) => ({ ...place, corruptChunks: 'skip' as const });

test.each(CORRUPT)('%s', async (_, chunk, fault, records) => {
  const place = placeOf(FIRST, chunk, THIRD);
  const error = await textOf(place).then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: 'DataInvalid', hint: expect.stringContaining('data.corruptChunks: skip') });
  expect(error.message).toContain(`/a: chunk 2, at byte ${FIRST.length}: `);
  expect(error.message).toContain(fault);
  expect(await textOf(skipping(place))).toBe('1 1:1\n0 2:1\n1 3:1\n');
  expect(place.warnings).toEqual([expect.stringContaining(`a: chunk 2, at byte ${FIRST.length}: `)]);
  const { chunks, ...seen } = await listed(place);
  expect(seen).toEqual({ good: 3, offsets: [0, FIRST.length, FIRST.length + chunk.length] });
  expect(chunks[1]).toMatchObject({ bytes: chunk.length, fault: expect.stringContaining(fault) });
  expect(chunks[1]?.records ?? 0).toBe(records);
});

async function listed(place: TestPlace) {
  const file = await createDisk().open(join(place.folder, 'a'));
  const chunks = await listChunks(file, 'a');
  await file.close();
  const good = chunks.reduce((sum, { fault, records = 0 }) => sum + (fault === undefined ? records : 0), 0);
  return { chunks, good, offsets: chunks.map(({ offset }) => offset) };
}

test.each([
  ['its header', 10],
  ['its body', 30],
])('a last chunk that is cut off in %s', async (_, bytes) => {
  const place = placeOf(FIRST, GOOD.subarray(0, bytes));
  await expect(textOf(place)).rejects.toThrow(/chunk 2, at byte \d+: it(s header)? is cut off: expected \d+ bytes/);
  expect(await textOf(skipping(place))).toBe('1 1:1\n0 2:1\n');
});

test('what is cut off does not take the chunk behind it along, though its header says almost so many bytes', async () => {
  const place = placeOf(THIRD, GOOD.subarray(0, 22), chunkOf(['1 7:1'.padEnd(GOOD.length - 47)]));
  expect(await textOf(skipping(place))).toMatch(/^1 3:1\n1 7:1 *\n$/);
});

test.each([
  ['snappy', 'it has more than 1000 bytes'],
  ['gzip', 'Cannot create a Buffer larger than 1000 bytes'],
] as const)('%s that decompresses to more than a chunk may have', (compressor, why) => {
  const packed = chunkOf(['x'.repeat(1000)], compressor).subarray(20);
  const header = { crc32: 0, compressor: COMPRESSORS.indexOf(compressor), bytes: packed.length, records: 1 };
  expect(decodeBody(header, packed, 1000)).toBe(`its ${compressor} data cannot be decompressed: ${why}`);
  expect(decodeBody(header, packed, 1004)).toHaveLength(1004);
});

test('corrupt chunks that follow one another are several, and what is in them is no chunk', async () => {
  const inner = Buffer.concat([chunkOf(['0 9:9']), Buffer.from('x')]);
  const outer = damaged(chunkWith(Buffer.concat([Buffer.of(inner.length, 0, 0, 0), inner]), 0, 1), 20);
  const place = placeOf(FIRST, damaged(GOOD, 25), outer, THIRD, damaged(GOOD, 30), outer);
  expect(await textOf(skipping(place))).toBe('1 1:1\n0 2:1\n1 3:1\n');
  expect(place.warnings).toHaveLength(4);
  const { chunks, good } = await listed(place);
  expect([good, chunks.map(({ fault, records }) => [fault !== undefined, records])]).toEqual([
    3,
    [
      [false, 2],
      [true, 3],
      [true, 1],
      [false, 1],
      [true, 3],
      [true, 1],
    ],
  ]);
});

test('a search among what only looks like chunks ends, and lets other work go on', async () => {
  const fake = encodeHeader({ crc32: 1, compressor: 0, bytes: 900, records: 1 });
  const bytes = Buffer.concat([damaged(GOOD, 0), ...Array.from({ length: 10_000 }, () => fake), THIRD]);
  const scanned = async (most?: number) => {
    let turns = 0;
    const turn = async () => void turns++;
    const chunks: ScannedChunk[] = [];
    async function* whole() {
      yield bytes;
    }
    for await (const chunk of scanChunks(new ForwardBytes(whole()), { turn, ...(most === undefined ? {} : { most }) }))
      chunks.push(chunk);
    return { turns, chunks };
  };
  const all = await scanned();
  expect(all.chunks.map(({ fault }) => fault !== undefined)).toEqual([true, false]);
  expect(all.turns).toBeGreaterThan(0);
  const { chunks } = await scanned(100_000);
  expect(chunks.map(({ fault }) => fault)).toEqual([
    expect.stringContaining('04030201'),
    'more than 100000 bytes look like chunks but are not: paddlet does not search the rest',
  ]);
});

test('a stretch of damage is one chunk, however long, and what is in it by chance begins none', async () => {
  const fake = Buffer.concat([encodeHeader({ crc32: 1, compressor: 0, bytes: 5, records: 1 }), Buffer.from('12345')]);
  const place = placeOf(FIRST, damaged(GOOD, 0), Buffer.alloc(3 << 20, 'x'), fake, Buffer.of(4, 3, 2), THIRD);
  expect(await textOf(skipping(place))).toBe('1 1:1\n0 2:1\n1 3:1\n');
  expect((await listed(place)).chunks.map(({ fault }) => fault !== undefined)).toEqual([false, true, false]);
});

test('the index tells what is left out, and neither it nor the cache is taken for another policy', async () => {
  const place = placeOf(FIRST, damaged(GOOD, 25), THIRD, damaged(GOOD, 25));
  const request = { what: 'a', format: 'libsvm', recordsPerTask: 10 } as const;
  const skippedChunks = [{ path: 'a', chunks: 2, records: 6 }];
  for (const recordsPerTask of [10, 10, 20]) {
    const { traits, records } = await loadOrBuildIndex(skipping(place), { ...request, recordsPerTask });
    expect({ records, skippedChunks: traits.skippedChunks }).toEqual({ records: 3, skippedChunks });
    expect(odditiesOf([traits]).map(({ message }) => message)).toEqual([
      'paddlet skips 2 corrupt chunks of a (records: 6)',
    ]);
  }
  // Once, as the file is unpacked once.
  expect(place.warnings).toHaveLength(2);
  await expect(loadOrBuildIndex(place, request)).rejects.toMatchObject({ code: 'DataInvalid' });
  writeFileSync(join(place.folder, 'a'), Buffer.concat([FIRST, THIRD]));
  expect((await loadOrBuildIndex(skipping(place), request)).traits.skippedChunks).toEqual([]);
  expect((await loadOrBuildIndex(place, request)).records).toBe(3);
  expect(readdirSync(join(place.cacheFolder, 'inflated'))).toHaveLength(4);
});

test('a range of records: only chunks that hold some of them are looked at', async () => {
  const chunks = [0, 1, 2, 3].map((at) => chunkOf([`${at}0`, '', `${at}2`], at % 2 === 0 ? 'snappy' : 'gzip'));
  const range = async (from: number, count: number, hurt: readonly number[]): Promise<string> => {
    const { folder } = placeOf(...chunks.map((chunk, at) => (hurt.includes(at) ? damaged(chunk, 22) : chunk)));
    const file = await createDisk().open(join(folder, 'a'));
    const parts: Uint8Array[] = [];
    try {
      for await (const part of readRange(file, 'a', { from, count })) parts.push(linesOf(part));
    } finally {
      await file.close();
    }
    return Buffer.concat(parts).toString();
  };
  expect(await range(4, 4, [0, 3])).toBe('\n12\n20\n\n');
  expect(await range(5, 1, [0, 2, 3])).toBe('12\n');
  expect(await range(9, 99, [0, 1, 2])).toBe('30\n\n32\n');
  expect(await range(12, 5, [])).toBe('');
  expect(await range(0, 0, [0])).toBe('');
  await expect(range(4, 4, [2])).rejects.toThrow(/^a: chunk 3, at byte \d+: its CRC-32 is/);
});
