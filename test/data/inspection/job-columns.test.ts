/** The columns of a file as a job reads them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collisionsOf } from '../../../src/data/inspection/ids.ts';
import { type JobLook, lookAsJob } from '../../../src/data/inspection/job-columns.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import { columnSpecOf } from '../../../src/job/schema.ts';
import { testPlace } from '../place.ts';

const place = testPlace();
const JOB = `
name: t
model: { type: lr }
data:
  format: csv
  train: t.csv
  columns:
    age: number
    height: { type: number, quantiles: 4 }
    town: { type: category, buckets: 4 }
    tags: categories
    number: { type: category, ids: integer }
    clicked: { type: label, positive: ["yes"], negative: ["no"] }
`;

async function look(text: string, records?: number): Promise<JobLook> {
  writeFileSync(join(place.folder, 't.csv'), text);
  const spec = columnSpecOf(parseJobFile('job', JOB))!;
  return await lookAsJob(place, 't.csv', { format: 'csv', spec, labels: { task: 'binary' } }, { records });
}

const HEAD = 'town,age,height,tags,number,clicked,other';
const rows = Array.from({ length: 1000 }, (_, at) => {
  const town = at % 10 === 0 ? '' : `town ${at % 8}`;
  return [
    town,
    at % 5 === 0 ? '' : at % 4,
    at,
    at % 2 === 0 ? `a|b|c${at % 3}` : '',
    7,
    at % 4 === 0 ? 'yes' : 'no',
    'x',
  ];
});

test('types, missing values, ids, numbers as models take them, labels', async () => {
  const { columns, labels, ...rest } = await look([HEAD, ...rows.map((row) => row.join())].join('\n'));
  expect(rest).toEqual({ path: 't.csv', records: 1000, isWhole: true, bad: { records: 0, first: [] } });
  expect(labels).toEqual([
    { label: 0, count: 750 },
    { label: 1, count: 250 },
  ]);
  const [age, height, town, tags, number, clicked] = columns;
  expect(age).toMatchObject({
    type: 'number',
    missing: 200,
    numbers: { min: 0, max: 3 },
    statistics: { present: 800 },
  });
  // 0, 1, 2 and 3 are as frequent: the distance of 1.5 from their mean, in deviations.
  expect(age?.normalized?.map((value) => value.toFixed(3))).toEqual(['-1.342', '1.342']);
  expect(height).toMatchObject({ type: 'number', normalized: undefined, missing: 0 });
  expect(town).toMatchObject({ missing: 100, ids: { distinct: 8, isExact: true } });
  // With 7 others in 4 buckets.
  expect(town?.ids?.sharing).toBeCloseTo(1 - 0.75 ** 7, 12);
  expect(tags).toMatchObject({ missing: 500, ids: { distinct: 5, sharing: undefined } });
  expect(number).toMatchObject({ ids: { distinct: 1, collisions: 0 } });
  expect(clicked).toMatchObject({ type: 'label', ids: undefined });
});

test('bad records with the place of the first ones; the first records only', async () => {
  const text = [HEAD, ...rows.slice(0, 3).map((row) => row.join()), 'a,old,1,b,7,yes,x', 'a,1,1,b,7,maybe,x'].join(
    '\n',
  );
  const { records, bad } = await look(text);
  expect([records, bad.records]).toEqual([3, 2]);
  expect(bad.first.map(({ line, reason }) => [line, reason])).toEqual([
    [5, 'column age: "old" is not a finite 32-bit number'],
    [6, 'column clicked: label "maybe" is not one of "yes", "no"'],
  ]);
  expect(await look(text, 4)).toMatchObject({ records: 3, isWhole: false, bad: { records: 1 } });
});

test('a column that the file lacks is an error', async () => {
  await expect(look('town,age\na,1\n')).rejects.toMatchObject({ code: 'DataInvalid' });
});

test('expected collisions', () => {
  expect(collisionsOf(2 ** 33, true, undefined).collisions).toBeCloseTo(2, 8);
  expect(collisionsOf(1000, false, undefined).collisions).toBe(0);
  expect(collisionsOf(1, true, 1).sharing).toBe(0);
  expect(collisionsOf(2, true, 1).sharing).toBe(1);
  expect(collisionsOf(1001, true, 10 ** 12).sharing).toBeCloseTo(1e-9, 15);
});
