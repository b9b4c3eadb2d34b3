import { expect, test } from 'vitest';
import { diffJobs } from '../../src/job/diff-jobs.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const text = 'name: a\ndata: { train: [x, y], format: libsvm }\nmodel: { type: lr }\n';
const job = (...sets: string[]) => parseJobFile('job.yaml', text, sets);

test('a job does not differ from itself', () => {
  expect(diffJobs(job(), job())).toEqual([]);
});

test('fields that changed, came and went', () => {
  const changed = job('data.train=[y, x]', 'optimizer.type=sgd', 'checkpoint.dir=/c');
  expect(diffJobs(job(), changed)).toEqual([
    { field: 'data.train', before: ['x', 'y'], after: ['y', 'x'] },
    { field: 'optimizer.type', before: 'adagrad', after: 'sgd' },
    { field: 'optimizer.initialAccumulator', before: 0.1, after: undefined },
    { field: 'optimizer.epsilon', before: 1e-7, after: undefined },
    { field: 'checkpoint.dir', before: undefined, after: '/c' },
  ]);
});

test('a job with columns does not differ from itself as the store has it', () => {
  const columns = [
    'age: number',
    'city: { type: category, buckets: 5, vocabulary: places }',
    'y: { type: label, positive: [a] }',
    'both: { cross: [city, city2] }',
    'city2: category',
  ];
  for (const csv of ['{}', '{ header: false, comment: "#", quote: none }']) {
    const file = `name: a\ndata:\n  train: x\n  format: csv\n  csv: ${csv}\n  columns:\n    ${columns.join('\n    ')}\nmodel: { type: lr }\n`;
    const resolved = asPublished(parseJobFile('job.yaml', file));
    expect(diffJobs(parseJob(JSON.parse(JSON.stringify(resolved))), resolved)).toEqual([]);
    const other = asPublished(parseJobFile('job.yaml', file.replace('buckets: 5', 'buckets: 6')));
    expect(diffJobs(resolved, other).map(({ field }) => field)).toEqual(['data.columns']);
  }
});
