/** Looks at libsvm text and idx files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { SLICE_BYTES } from '../../../src/data/bytes/slices.ts';
import { type AnyLookOptions, type Look, lookAt } from '../../../src/data/inspection/look.ts';
import { testPlace } from '../place.ts';

const place = testPlace();

async function look(text: string | Uint8Array, name: string, options: AnyLookOptions = {}): Promise<Look> {
  writeFileSync(join(place.folder, name), text);
  return await lookAt(place, name, options);
}

const line = (at: number): string => `${at % 2} ${at % 50}:1 ${100 + at}:0.5 9000:2`;
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => line(from + at)).join('\n');

test('libsvm: records, labels, features, ids, in a gzip file of several blocks', async () => {
  expect(await look(gzipSync(lines(0, 12_000)), 'many.gz')).toMatchObject({
    kind: 'libsvm',
    records: 12_000,
    isWhole: true,
    hasWeights: false,
    hasGroups: false,
    bad: { records: 0, first: [] },
    labels: [
      { label: 0, count: 6000 },
      { label: 1, count: 6000 },
    ],
    perRecord: { count: 12_000, min: 3, max: 3 },
    values: { count: 36_000, min: 0.5, max: 2 },
    // 0 to 49, 100 to 12,099; 9000 is among these.
    ids: 12_050,
    areIdsExact: true,
    highestId: '12099',
    density: 3 / 12_100,
  });
});

test('weights, groups, ids of 64 bits, labels as they are', async () => {
  const text = '# made\n1:0.5 qid:7 3:1\n-1:1 18446744073709551615:2\n2.5 3:1\n';
  expect(await look(text, 'weights.txt')).toMatchObject({
    kind: 'libsvm',
    records: 3,
    hasWeights: true,
    hasGroups: true,
    distinctLabels: 3,
    highestId: '18446744073709551615',
    ids: 2,
  });
});

test('libffm: how many fields there are', async () => {
  const text = '1:0.5 qid:7 3:9:1\n-1:1 0:18446744073709551615:2 # c\n';
  expect(await look(text, 'fields.txt')).toMatchObject({
    ...{ kind: 'libffm', records: 2, hasWeights: true, hasGroups: true, fields: 4, ids: 2 },
  });
});

test('bad records have their lines, behind any number of blocks', async () => {
  const text = `${lines(0, 11_000)}\n1 2:x\n${lines(0, 3)}\n`;
  const found = await look(text, 'bad.txt');
  expect(found).toMatchObject({ records: 11_003, bad: { records: 1, first: [{ line: 11_001 }] } });
  const first = await look(text, 'bad.txt', { records: 20 });
  expect(first).toMatchObject({ records: 20, isWhole: false, bad: { records: 0 } });
});

test('a second file: features whose ids the first one lacks', async () => {
  const first = await look(lines(0, 100), 'first.txt');
  const second = await look(lines(50, 150), 'second.txt', { first });
  expect(second).toMatchObject({ newIds: { known: 300, features: 50 } });
});

test('idx: records, inputs, classes', async () => {
  const u32 = (value: number): number[] => [0, 0, 0, value];
  writeFileSync(join(place.folder, 'train-labels-idx1-ubyte'), Buffer.from([0, 0, 8, 1, ...u32(3), 0, 2, 2]));
  const images = Buffer.from([0, 0, 8, 3, ...u32(3), ...u32(1), ...u32(2), 1, 2, 3, 4, 5, 6]);
  expect(await look(images, 'train-images-idx3-ubyte')).toEqual({
    kind: 'idx',
    path: 'train-images-idx3-ubyte',
    labelsPath: 'train-labels-idx1-ubyte',
    records: 3,
    inputs: 2,
    classes: [1, 0, 2],
  });
});

test('a line that is too long is a bad record, and counts among those that are wanted', async () => {
  const long = `1${' '.repeat(LIMITS.recordBytes + 3 * SLICE_BYTES)}`;
  const text = `${lines(0, 3)}\n${long}\n${lines(3, 2000)}`;
  expect(await look(text, 'long.txt', { records: 3 })).toMatchObject({
    records: 3,
    isWhole: false,
    bad: { records: 0 },
  });
  expect(await look(text, 'long.txt', { records: 5 })).toMatchObject({
    records: 4,
    bad: { records: 1, first: [{ line: 4, reason: expect.stringContaining('expected a line of at most') }] },
  });
});
