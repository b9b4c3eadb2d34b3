/** Bytes are cut into records in one place: a second one would have other ideas of lines that are too long. */
import { expect, test } from 'vitest';
import { sourceFiles } from '../source-files.ts';

const filesWith = (pattern: RegExp): string[] =>
  sourceFiles('src/data')
    .filter(({ code }) => pattern.test(code))
    .map(({ path }) => path.replace('src/data/', ''))
    .sort();

test('only Slices holds the beginning of a record until its end is read', () => {
  expect(filesWith(/\.set\(held\b|\.copyWithin\(0/)).toEqual(['bytes/slices.ts']);
  // What these join is no text.
  expect(filesWith(/Buffer\.concat\(\[/)).toEqual([
    'bytes/packings/recordio/body.ts',
    'bytes/packings/recordio/snappy-frames.ts',
    'bytes/packings/zstd/decompress.ts',
  ]);
});
