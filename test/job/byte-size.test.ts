import { expect, test } from 'vitest';
import { parseByteSize } from '../../src/job/byte-size.ts';

test.each([
  ['512MB', 512_000_000],
  ['1.5 GiB', 1.5 * 2 ** 30],
  ['800kB', 800_000],
  ['64 B', 64],
  ['2TiB', 2 ** 41],
])('%s', (text, bytes) => {
  expect(parseByteSize(text)).toBe(bytes);
});

test.each(['512', '512M', '512mb', '-1MB', '1e3MB', 'MB', '', '1 000MB'])('"%s" is no size', (text) => {
  expect(parseByteSize(text)).toBeUndefined();
});
