/** What the index of the data finds odd, in the file that is kept of it too. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import { odditiesOf, type Traits } from '../../src/data/oddities.ts';
import { testPlace } from './place.ts';

async function traitsOf(files: Record<string, string | Buffer>) {
  const place = testPlace();
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(place.folder, name), bytes);
  const request = { what: Object.keys(files), format: 'libsvm', recordsPerTask: 10 } as const;
  const { traits } = await loadOrBuildIndex(place, request);
  expect((await loadOrBuildIndex(place, request)).traits).toEqual(traits);
  return traits;
}

const told = (...given: Parameters<typeof odditiesOf>): string[] => odditiesOf(...given).map(({ message }) => message);

test('files without any feature are named, whatever their labels', async () => {
  const traits = await traitsOf({
    a: '1 1:1\n0\n',
    'a.group': '5\n10 # 1:1\n\n',
    'a.weight.gz': gzipSync('0.25\n1'),
    empty: '# 1\n',
  });
  expect(traits.withoutFeatures).toEqual(['a.group', 'a.weight.gz']);
  expect(told([traits], { task: 'regression' })).toEqual([
    'no record of a.group has a feature',
    'no record of a.weight.gz has a feature',
  ]);
});

test.each([
  [['1 1:1\n0 2:1\n-1 3:1\n'], { binary: true, unknown: true, regression: false }],
  [['+1 1:1\n0 2:1\n', '1 1:1\n-1.0 2:1\n'], { binary: true, unknown: true, regression: false }],
  [['-1 1:1\n0 2:1\n7 3:1\n'], { binary: true, unknown: false, regression: false }],
  [['-1 1:1\n1 2:1\n', '-1 1:1\n'], { binary: false, unknown: false, regression: false }],
  [['0 1:1\n-0 2:1\nx 3:1\n'], { binary: false, unknown: false, regression: false }],
])('labels of %j', async (files, expected) => {
  const all: Traits[] = [];
  for (const file of files) all.push(await traitsOf({ file }));
  const isOdd = (task?: string): boolean =>
    told(all, task === undefined ? {} : { task }).some((message) =>
      message.includes('both the label 0 and the label -1'),
    );
  expect({ binary: isOdd('binary'), unknown: isOdd(), regression: isOdd('regression') }).toEqual(expected);
});

test('a label that all records have is odd, as there is nothing to tell apart', () => {
  const label = { name: 'y', type: 'label' } as const;
  expect(told([], { task: 'binary', columns: [{ ...label, value: 1 }] })).toEqual([
    'all records have label 1: the model learns that every record is positive',
  ]);
  expect(told([], { task: 'binary', columns: [label] })).toEqual([]);
});
