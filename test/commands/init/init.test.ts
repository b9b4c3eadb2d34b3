/** `paddlet init`: the job files that it writes, and whether jobs read the data as it says. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { lookAsJob } from '../../../src/data/inspection/job-columns.ts';
import { recordsPerLargeTask } from '../../../src/data/records-per-task.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { columnSpecOf, type RequestedJob } from '../../../src/job/schema.ts';
import { widestRule } from '../../../src/roles/master/dataset.ts';
import { isRealDataMissing, REAL_DATA, testPlace } from '../../data/place.ts';
import { cwd, file, imageFiles, paddlet, printed, repeat, types, useFolder } from './printed.ts';

beforeAll(useFolder);

/** Bad records of a file, read by a job. */
async function badOf(job: RequestedJob, path: string, folder = cwd): Promise<number> {
  const place = testPlace({ folder });
  const look = await lookAsJob(
    place,
    path,
    { format: job.data.format, spec: columnSpecOf(job)!, labels: widestRule(job) },
    { records: 5000 },
  );
  expect(look.records).toBeGreaterThan(0);
  return look.bad.records;
}

describe('of a table', () => {
  test('a label whose text stands for a missing number in another column', async () => {
    file('dash.csv', [
      'x,label',
      ...repeat(200, (at) => `${at % 20 === 0 ? '-' : at % 50},${at % 2 === 0 ? '+' : '-'}`),
    ]);
    const { job } = await printed('--data', 'dash.csv', '--label', 'label');
    expect(types(job)).toEqual({ x: 'number', label: 'label' });
    expect(job.data.dialect?.missing).toEqual(['']);
  });

  test('names that differ only in bytes that are no UTF-8', async () => {
    const rows = repeat(50, (at) => `${at},${at * 3},${at % 2}`).join('\n');
    writeFileSync(join(cwd, 'latin.csv'), Buffer.from(`pr\xe9,pr\xe8,label\n${rows}\n`, 'latin1'));
    const { job } = await printed('--data', 'latin.csv');
    expect(Object.keys(types(job))).toHaveLength(3);
  });

  test('columns, label, missing texts and split, each with its reason', async () => {
    file('log.csv', [
      'user_id,age,town,paid,tags,clicked',
      ...repeat(600, (at) => {
        const clicked = at % 4 === 0;
        const tags = ['a|b', 'b', 'a|b|c', 'c|b', 'a|c'][at % 5];
        return `${at},${at % 7 === 0 ? '?' : 20 + (at % 50)},${['Oslo', 'Rome'][at % 2]},${clicked ? 'p' : 'o'},${tags},${clicked ? 'yes' : 'no'}`;
      }),
    ]);
    const { job, text } = await printed('--data', 'log.csv');
    expect(types(job)).toEqual({
      ...{ user_id: 'ignore', age: 'number', town: 'category', paid: 'ignore', tags: 'categories', clicked: 'label' },
    });
    expect(job).toMatchObject({ name: 'log', model: { type: 'lr', task: 'binary' }, data: { split: { test: 0.2 } } });
    expect(text).toContain('    user_id: ignore # each record has its own number, as ids have; 600 different\n');
    expect(text).toContain('    age: number # numbers; 20 to 69, 50 different, 14 % missing\n');
    expect(text).toContain(
      '    paid: ignore # nearly equals the label: is it known before that is? texts; 2 different\n',
    );
    expect(text).toContain('"yes" counts as positive: by its text, 25.0 % of the records');
    expect(text.split('\n').filter((line) => line.length > 120)).toEqual([]);
    expect(await badOf(job, 'log.csv')).toBe(0);
  });

  test('of semicolons, decimal commas and German days: split by time', async () => {
    file('days.csv', [
      'day;price;town;label',
      ...repeat(
        100,
        (at) => `${String(1 + (at % 28)).padStart(2, '0')}.03.2024;${at},5;town ${at % 3};${at % 5 === 0 ? 1 : 0}`,
      ),
    ]);
    const { job } = await printed('--data', 'days.csv', '--model', 'fm');
    expect(types(job)).toEqual({ day: 'time', price: 'number', town: 'category', label: 'label' });
    expect(job.data.dialect).toMatchObject({ delimiter: ';', decimal: ',', header: true });
    expect(job.data.split).toEqual({ fromMs: Date.UTC(2024, 2, 22) });
    // Of the first records no one knows what is late.
    const first = await printed('--data', 'days.csv', '--rows', '50');
    expect(first.job.data.split).toEqual({ test: 0.2 });
    expect(job.model).toMatchObject({ type: 'fm', factors: 8 });
    expect(await badOf(job, 'days.csv')).toBe(0);
  });

  test('of classes: softmax on its numbers', async () => {
    file(
      'iris.data',
      repeat(150, (at) => `${5 + (at % 31) / 10},${(at % 13) / 10},${['rose', 'lily', 'tulip'][at % 3]}`),
    );
    const { job, text } = await printed('--data', 'iris.data');
    expect(types(job)).toEqual({ c1: 'number', c2: 'number', c3: 'label' });
    expect(job.model.type).toBe('softmax');
    expect(job.data.columns?.[2]).toMatchObject({ classes: ['lily', 'rose', 'tulip'] });
    expect(text).toContain('3 classes');
    expect(await badOf(job, 'iris.data')).toBe(0);
  });

  test('softmax leaves texts out, and says so', async () => {
    file('mixed.csv', [
      'x,town,label',
      ...repeat(200, (at) => `${at / 8},${['Oslo', 'Rome'][at % 2]},${1 + (at % 3)}`),
    ]);
    const { job, text } = await printed('--data', 'mixed.csv', '--model', 'softmax');
    expect(types(job)).toEqual({ x: 'number', town: 'ignore', label: 'label' });
    expect(job.data.columns?.[2]).toMatchObject({ classes: ['1', '2', '3'] });
    expect(text).toContain('softmax takes numbers only, lr and fm take them');
  });

  test('of a number: regression', async () => {
    file('price.csv', [
      'rooms,town,target',
      ...repeat(300, (at) => `${at % 6},${['a', 'b', 'c'][at % 3]},${at * 1.25}`),
    ]);
    const { job } = await printed('--data', 'price.csv');
    expect(job.model).toMatchObject({ type: 'lr', task: 'regression' });
    expect(await badOf(job, 'price.csv')).toBe(0);
  });

  test('a number that tells the label stays, with a warning', async () => {
    file('sensor.csv', ['x,z,label', ...repeat(300, (at) => `${(at % 3) * 10 + (at % 4) / 2},${at / 7},k${at % 3}`)]);
    const { text } = await printed('--data', 'sensor.csv');
    expect(text).toContain('    x: number # nearly equals the label: is it known before that is? numbers; 0 to 21.5');
  });

  test('columns without names, and those of the same name, by their places', async () => {
    file('twice.csv', [',x,x,label', ...repeat(200, (at) => `${at},${at / 2},${at / 3},${at % 2}`)]);
    const { job } = await printed('--data', 'twice.csv');
    expect(types(job)).toEqual({ c1: 'ignore', x: 'number', c3: 'number', label: 'label' });
    expect(await badOf(job, 'twice.csv')).toBe(0);
  });

  test('names and texts that YAML could take for something else', async () => {
    file('names.csv', [
      'null,"a: b",y,"#z"',
      ...repeat(200, (at) => `${at / 2},"t, ${at % 3}",${at % 2 ? 'no' : 'null: #1'},${at / 5}`),
    ]);
    const { job } = await printed('--data', 'names.csv');
    expect(types(job)).toEqual({ null: 'number', 'a: b': 'category', y: 'label', '#z': 'number' });
    expect(await badOf(job, 'names.csv')).toBe(0);
  });

  test('records that would be bad are allowed for', async () => {
    file('gaps.csv', [
      'x,town,label',
      ...repeat(400, (at) => `${at === 9 ? 'oops' : at / 2},t${at % 3},${at % 8 === 0 ? '' : at % 2}`),
      '1,2',
    ]);
    const { job } = await printed('--data', 'gaps.csv');
    expect(await badOf(job, 'gaps.csv')).toBe(52);
    expect(job.data.maxBadRecords).toBeGreaterThanOrEqual(recordsPerLargeTask(job.training));
  });
});

describe('of other formats', () => {
  test('libsvm: binary, or regression, or weights', async () => {
    file(
      'a.libsvm',
      repeat(50, (at) => `${at % 2 === 0 ? '+1' : '-1'} ${at}:1 3:0.5`),
    );
    expect((await printed('--data', 'a.libsvm')).job).toMatchObject({
      name: 'a',
      model: { type: 'lr', task: 'binary' },
    });
    file(
      'b.libsvm',
      repeat(50, (at) => `${at / 4}:2 ${at}:1`),
    );
    const { job } = await printed('--data', 'b.libsvm', '--model', 'fm', '--test', 'b.libsvm');
    expect(job).toMatchObject({
      model: { type: 'fm', task: 'regression' },
      data: { labelWeights: true, test: ['b.libsvm'] },
    });
    expect(job.data.split).toBeUndefined();
  });

  test('libffm: ffm, or another model', async () => {
    file(
      'a.ffm',
      repeat(50, (at) => `${at % 2} 0:${at}:1 1:3:0.5`),
    );
    expect((await printed('--data', 'a.ffm')).job).toMatchObject({
      ...{ name: 'a', data: { format: 'libffm' }, model: { type: 'ffm', task: 'binary', factors: 4 } },
    });
    expect((await printed('--data', 'a.ffm', '--model', 'lr')).job).toMatchObject({ model: { type: 'lr' } });
  });

  test('idx: softmax, without a split', async () => {
    const { job } = await printed('--data', imageFiles());
    expect(job).toMatchObject({ model: { type: 'softmax' }, data: { format: 'idx', test: [] } });
  });
});

describe('the file', () => {
  test('is written beside its data or elsewhere, once, and says what comes next', async () => {
    file('data.csv', ['x,label', ...repeat(100, (at) => `${at / 2},${at % 2}`)]);
    mkdirSync(join(cwd, 'jobs'));
    expect((await paddlet('init', '--data', 'data.csv', '-o', 'jobs/a.yaml')).code).toBe(0);
    expect(parseJobFile('a', readFileSync(join(cwd, 'jobs/a.yaml'), 'utf8')).data.train).toEqual([
      join(cwd, 'data.csv'),
    ]);
    const { out, err } = await paddlet('init', '--data', 'data.csv');
    expect(err).toBe('');
    expect(out).toBe(`wrote job.yaml: lr on 1 column; label label: by its name; its values fit a binary model
next: paddlet doctor job.yaml
      paddlet run job.yaml
      paddlet predict data --data FILE
`);
    const written = readFileSync(join(cwd, 'job.yaml'), 'utf8');
    expect(parseJobFile('job', written).data.train).toEqual(['data.csv']);
    const again = await paddlet('init', '--data', 'data.csv', '--model', 'fm');
    expect(again).toMatchObject({ code: 2, out: '' });
    expect(again.err).toContain(
      'job.yaml exists already\nhint: choose another file with --output, or overwrite this file with --replace',
    );
    expect(readFileSync(join(cwd, 'job.yaml'), 'utf8')).toBe(written);
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    const pipe = await paddlet('init', '--data', 'data.csv', '--output', 'pipe', '--replace');
    expect([pipe.code, pipe.err]).toEqual([
      2,
      expect.stringContaining('pipe is not a file\nhint: give the path of a file'),
    ]);
    const forced = await paddlet('init', '--data', 'data.csv', '--model', 'fm', '--replace', '--json');
    expect(JSON.parse(forced.out)).toMatchObject({
      path: 'job.yaml',
      next: ['paddlet doctor job.yaml', 'paddlet run job.yaml', 'paddlet predict data --data FILE'],
    });
    expect(parseJobFile('job', readFileSync(join(cwd, 'job.yaml'), 'utf8')).model.type).toBe('fm');
  });

  test.each([
    [['none', '--label', 'd'], 3, 'no such data file'],
    [
      ['three.csv', '--model', 'lr', '--label', 'kind'],
      2,
      'the label kind has 3 values, but lr predicts one of two values, or a number',
    ],
    [
      ['three.csv', '--model', 'softmax', '--label', 'town'],
      2,
      'softmax needs numeric columns, but no column is numeric',
    ],
    [['reals.csv'], 2, 'no column of reals.csv looks like a label'],
    [['two.libsvm'], 2, 'expected the labels of two.libsvm to be 1 and 0, got 1 and 2'],
    [['two.libsvm', '--model', 'softmax'], 2, 'softmax does not support libsvm text'],
    [['two.libsvm', '--model', 'ffm'], 2, 'ffm needs a field for each feature'],
    [
      ['three.csv', '--test', 'two.libsvm'],
      2,
      'expected test files in the format of three.csv, but two.libsvm has another',
    ],
    [['three.csv', '--json', '--output', '-'], 2, '--json and --output - cannot be combined: both write to stdout'],
  ])('%j is refused, and nothing is written', async (args, code, message) => {
    file('three.csv', ['town,kind', ...repeat(60, (at) => `t${at % 2},k${at % 3}`)]);
    file('reals.csv', ['a,b', ...repeat(60, (at) => `${at / 3},${at / 7}`)]);
    file(
      'two.libsvm',
      repeat(20, (at) => `${1 + (at % 2)} ${at}:1`),
    );
    const [data = '', ...others] = args;
    const output = others.includes('--output') ? [] : ['--output', 'refused.yaml'];
    const ran = await paddlet('init', '--data', data, ...output, ...others);
    expect(ran.code).toBe(code);
    expect(`${ran.out}${ran.err}`).toContain(message);
    expect(existsSync(join(cwd, 'refused.yaml'))).toBe(false);
  });
});

test.skipIf(isRealDataMissing)('Adult as it is, with labels of its test file that end in a point', async () => {
  const [data, test] = ['adult/adult.data.gz', 'adult/adult.test.gz'];
  const { job } = await printed('--data-dir', REAL_DATA, '--data', data, '--test', test, '--rows', '1500');
  expect(job.data).toMatchObject({ train: [data], test: [test], maxBadRecords: 0 });
  expect(job.data.dialect).toMatchObject({ header: false, comment: '|', missing: ['', '?'] });
  const label = job.data.columns?.at(-1);
  expect(label).toMatchObject({ type: 'label', positive: ['>50K', '>50K.'], negative: ['<=50K', '<=50K.'] });
  expect(await badOf(job, test, REAL_DATA)).toBe(0);
});

test('a job has the name of its file, of --name, or of its data', async () => {
  mkdirSync(join(cwd, 'ads'), { recursive: true });
  const rows = Array.from({ length: 40 }, (_, at) => `${at % 2},u${at % 7}\n`).join('');
  for (const name of ['train.csv', 'log.csv']) writeFileSync(join(cwd, 'ads', name), `label,user\n${rows}`);
  for (const [words, name] of [
    [['ads/train.csv', '--output', 'clicks.yaml'], 'clicks'],
    [['ads/train.csv', '--output', 'other.yaml', '--name', 'mine'], 'mine'],
    [['ads/train.csv'], 'ads'],
    [['ads/log.csv', '--output', '-'], 'log'],
  ] as const) {
    const { code, out, err } = await paddlet('init', '--replace', '--data', ...words);
    expect([code, out + err], words.join(' ')).toEqual([
      0,
      expect.stringContaining(`paddlet predict ${name} --data FILE`),
    ]);
    expect(err.includes('next: '), words.join(' ')).toBe(name === 'log');
  }
});
