/** What is compressed by the project is decompressed by the kernel of others. */
import { expect, test } from 'vitest';
import { compressedSnappy, snappyBytes, uncompressedSnappy } from '../../src/data/snappy.ts';
import { dice, randomBytes } from './formats/garbage.ts';

const next = dice(5);
const words = Array.from({ length: 12_000 }, () => `${next(20)}:${next(3)} `).join('');

test.each([
  ['one byte', Buffer.from('a'), 3],
  ['zeros', Buffer.alloc(65_536), 3100],
  ['text', Buffer.from(words).subarray(0, 65_536), 35_000],
  // A literal of each length form.
  ['60 random bytes', randomBytes(1, 60), 62],
  ['61 random bytes', randomBytes(1, 61), 64],
  ['256 random bytes', randomBytes(1, 256), 260],
  ['257 random bytes', randomBytes(1, 257), 262],
  ['64 KiB of random bytes', randomBytes(2, 65_536), 65_542],
  ['a repetition', Buffer.concat([randomBytes(3, 2000), randomBytes(3, 2000)]), 2200],
  ['overlapping copies', Buffer.from(`${'ab'.repeat(500)}c`), 80],
])('%s', (_, bytes, most) => {
  const block = compressedSnappy(bytes);
  expect(block.length).toBeLessThanOrEqual(most);
  expect(snappyBytes(block)).toBe(bytes.length);
  expect(Buffer.from(uncompressedSnappy(block, bytes.length)).equals(bytes)).toBe(true);
});
