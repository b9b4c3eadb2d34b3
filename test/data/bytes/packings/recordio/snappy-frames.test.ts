/** What is compressed is read back, and no larger than it must be. */
import { expect, test } from 'vitest';
import { decodeFrames, encodeFrames } from '../../../../../src/data/bytes/packings/recordio/snappy-frames.ts';
import { dice, randomBytes } from '../../../formats/garbage.ts';

const next = dice(5);
const words = Array.from({ length: 12_000 }, () => `${next(20)}:${next(3)} `).join('');

test.each([
  ['nothing', Buffer.alloc(0), 10],
  ['one byte', Buffer.from('a'), 19],
  ['zeros over several blocks', Buffer.alloc(200_000), 10_000],
  ['text', Buffer.from(words), 40_000],
  ['60 random bytes', randomBytes(1, 60), 78],
  ['64 KiB of random bytes', randomBytes(2, 65_536), 65_554],
  ['a repetition', Buffer.concat([randomBytes(3, 2000), randomBytes(3, 2000)]), 2300],
  ['overlapping copies', Buffer.from(`${'ab'.repeat(500)}c`), 100],
])('%s', (_, bytes, most) => {
  const frames = encodeFrames(bytes);
  expect(frames.length).toBeLessThanOrEqual(most);
  expect(decodeFrames(frames, bytes.length).equals(bytes)).toBe(true);
});
