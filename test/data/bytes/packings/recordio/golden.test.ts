/** Files that were written byte by byte by test/golden/data/recordio/make.py. */
import { expect, test } from 'vitest';
import { chunkOf, contentOf, golden } from './recordio.ts';

const RECORDS = ['1 1:1', '', '0 2:1 7:0.5'];
const TEXT = '1 1:1\n\n0 2:1 7:0.5\n';
/** The first ends in a line break; the second is JSON on two lines. */
const OTHERS = '1 1:1 1:1 1:1 1:1\n{"a": 1, "b": 2}\n';

test.each([
  ['none', TEXT],
  ['snappy', TEXT],
  ['snappy-copy', OTHERS],
  ['gzip', TEXT],
  ['chunks', `${TEXT}${OTHERS}${TEXT}`],
])('%s', async (name, text) => {
  expect(await contentOf(golden(name))).toBe(text);
});

test('the writer gives the same bytes where these are determined, and the same records where they are not', async () => {
  expect(chunkOf(RECORDS).equals(golden('none'))).toBe(true);
  expect(golden('chunks').includes(chunkOf([]))).toBe(true);
  for (const compressor of ['snappy', 'gzip'] as const) {
    expect(await contentOf(chunkOf(RECORDS, compressor))).toBe(TEXT);
  }
});

test('the header is as docs/recordio.md says: each number in its place', () => {
  const header = golden('gzip').subarray(0, 20);
  const numbers = [0, 4, 8, 12, 16].map((at) => header.readUInt32LE(at));
  expect(numbers).toEqual([0x01020304, 0xfdb2a6c4, 2, 45, 3]);
});
