/** Folders as Spark writes them: empty parts, and values in names of folders. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cwd, file, paddlet, printed, repeat, useFolder } from './printed.ts';

const HEADER = 'age,town,clicked';
const JOB = 'name: t\ndata: { format: csv, train: parts, columns: { age: number, town: category, clicked: label } }';

beforeAll(() => {
  useFolder();
  const rows = repeat(150, (at) => `${at % 40},${['Oslo', 'Rome'][at % 2]},${Number(at % 3 === 0)}`);
  for (const folder of ['parts', 'none', 'days/dt=1', 'days/dt=2']) mkdirSync(join(cwd, folder), { recursive: true });
  file('parts/part-0.csv', []);
  file('parts/part-1.csv', [HEADER]);
  file('parts/part-2.csv', [HEADER, ...rows]);
  file('none/part-0.csv', []);
  for (const day of ['1', '2']) file(`days/dt=${day}/part.csv`, [HEADER, ...rows]);
  file('job.yaml', [JOB, 'model: { type: lr }']);
});

test('the first part with records is looked at', async () => {
  const { text } = await printed('--data', 'parts');
  expect(text).toContain('train: parts # parts/part-2.csv was looked at, of 3 files\n');
  const { out } = await paddlet('data', 'inspect', 'parts');
  expect(out).toContain('parts/part-2.csv: 150 records, 3 columns');
  expect(out).toContain('It is the first of 3 files that has records.');
  const asJob = await paddlet('data', 'inspect', 'parts', '--job', 'job.yaml', '--json');
  expect(JSON.parse(asJob.out)).toMatchObject({ path: 'parts/part-2.csv', records: 150 });
  const { code, err } = await paddlet('data', 'inspect', 'none');
  expect([code, err]).toEqual([3, expect.stringContaining('none/part-0.csv has no records')]);
});

test('values in names of folders are named', async () => {
  const { text } = await printed('--data', 'days');
  expect(text).toContain('    # dt is in the path, and is read with: dt: { type: category, from: folder }\n');
});
