/** `paddlet init` with models of layers: what they take of a table, and what it says where they take nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createDisk } from '../../../src/host/disk.ts';
import { loadJob } from '../../../src/job/load-job.ts';
import type { RequestedJob } from '../../../src/job/schema.ts';
import { cwd, file, imageFiles, paddlet, printed, repeat, types, useFolder } from './printed.ts';

beforeAll(() => {
  useFolder();
  const rows = (label: (at: number) => string): string[] => [
    'age,income,town,tags,label',
    ...repeat(600, (at) => {
      // Most incomes are close together.
      const income = at % 200 === 0 ? 1_000_000 + at : 1000 + (at % 90);
      return `${20 + (at % 50)},${income},${['Oslo', 'Rome'][at % 2]},${['a|b', 'b', 'a|b|c', 'c|b', 'a|c'][at % 5]},${label(at)}`;
    }),
  ];
  file(
    'two.csv',
    rows((at) => (at % 4 === 0 ? 'yes' : 'no')),
  );
  file(
    'kinds.csv',
    rows((at) => `kind ${at % 3}`),
  );
  file(
    'prices.csv',
    rows((at) => String(at / 8)),
  );
  file(
    'names.csv',
    rows((at) => `name ${at % 499}`),
  );
  file('numbers.csv', ['x,z,label', ...repeat(300, (at) => `${at / 7},${(at % 31) / 3},${at % 2}`)]);
  file(
    'a.libsvm',
    repeat(50, (at) => `${at % 2} ${at}:1 3:0.5`),
  );
  file(
    'a.ffm',
    repeat(50, (at) => `${at % 2} 0:${at}:1 1:3:0.5`),
  );
});

/** As `paddlet run` reads it. */
async function loaded(text: string): Promise<RequestedJob> {
  const path = join(cwd, 'written.yaml');
  writeFileSync(path, text);
  return (await loadJob({ path, sets: [], dataDir: undefined, disk: createDisk() })).job;
}

const NUMBERS = { age: 'number', income: 'number', town: 'ignore', tags: 'ignore', label: 'label' };

describe('mlp', () => {
  test.each([
    ['two.csv', 'binary', { positive: ['yes'], negative: ['no'] }],
    ['kinds.csv', 'multiclass', { classes: ['kind 0', 'kind 1', 'kind 2'] }],
    ['prices.csv', 'regression', {}],
  ])('%s: %s, on its numbers', async (data, task, label) => {
    const { text } = await printed('--data', data, '--model', 'mlp');
    const job = await loaded(text);
    expect(job).toMatchObject({ model: { type: 'mlp', task, hidden: [128] }, optimizer: { type: 'adam' } });
    expect(types(job)).toEqual(NUMBERS);
    expect(job.data.columns?.find(({ type }) => type === 'label')).toMatchObject(label);
    expect(job.data.columns?.find(({ name }) => name === 'income')).toMatchObject({ normalize: 'log' });
  });

  test('idx: classes, without columns', async () => {
    const job = await loaded((await printed('--data', imageFiles(), '--model', 'mlp')).text);
    expect(job).toMatchObject({ model: { type: 'mlp', task: 'multiclass' }, data: { format: 'idx', test: [] } });
    expect(job.data.columns).toBeUndefined();
  });
});

describe.each(['wide_deep', 'deepfm'])('%s', (type) => {
  test.each([
    ['two.csv', 'binary'],
    ['prices.csv', 'regression'],
  ])('%s: %s, on numbers, categories and lists', async (data, task) => {
    const job = await loaded((await printed('--data', data, '--model', type)).text);
    expect(job).toMatchObject({ model: { type, task, hidden: [128] }, optimizer: { type: 'adam' } });
    expect(types(job)).toEqual({ ...NUMBERS, town: 'category', tags: 'categories' });
    expect(job.data.columns?.find(({ name }) => name === 'income')).toMatchObject({ quantiles: 20 });
  });
});

test('wide_deep takes numbers alone', async () => {
  const job = await loaded((await printed('--data', 'numbers.csv', '--model', 'wide_deep')).text);
  expect(types(job)).toEqual({ x: 'number', z: 'number', label: 'label' });
});

test.each([
  ['mlp', 'names.csv', 'the label label has 499 values: too many classes\nhint: choose another column with --label'],
  [
    'softmax',
    'prices.csv',
    'the label label has 600 values: too many classes\nhint: choose another model with --model lr',
  ],
  [
    'wide_deep',
    'kinds.csv',
    'the label label has 3 values, but wide_deep predicts one of two values, or a number\nhint: use --model softmax or mlp',
  ],
  [
    'deepfm',
    'names.csv',
    'the label label has 499 values, but deepfm predicts one of two values, or a number\nhint: choose another column with --label',
  ],
  [
    'deepfm',
    'numbers.csv',
    'deepfm needs columns of categories, but numbers.csv has none\nhint: use --model wide_deep',
  ],
  [
    'wide_deep',
    'a.libsvm',
    'wide_deep does not support libsvm text: it needs columns\nhint: use --model fm, or write the data',
  ],
  [
    'deepfm',
    'a.ffm',
    'deepfm does not support libffm text: it needs columns\nhint: use --model ffm, or write the data as CSV',
  ],
  ['deepfm', 'train-images-idx3-ubyte', 'deepfm does not support images: use softmax or mlp for idx files'],
])('%s on %s is refused, with what there is to do', async (model, data, message) => {
  imageFiles();
  const { code, err } = await paddlet('init', '--output', '-', '--data', data, '--model', model);
  expect(code).toBe(2);
  expect(err).toContain(message);
});
