/** Only one class cuts bytes into records. A second one would treat lines that are too long in another way. */
import { expect, test } from 'vitest';
import { sourceFiles } from '../source-files.ts';

const filesWith = (pattern: RegExp): string[] =>
  sourceFiles('src/data')
    .filter(({ code }) => pattern.test(code))
    .map(({ path }) => path.replace('src/data/', ''))
    .sort();

test('only Slices keeps the beginning of a record until its end is read', () => {
  expect(filesWith(/\.set\(held\b|\.copyWithin\(0/)).toEqual(['bytes/slices.ts']);
  // These files join binary data.
  expect(filesWith(/Buffer\.concat\(\[/)).toEqual([
    'bytes/packings/recordio/body.ts',
    'bytes/packings/recordio/snappy-frames.ts',
    'bytes/packings/zstd/decompress.ts',
  ]);
});
