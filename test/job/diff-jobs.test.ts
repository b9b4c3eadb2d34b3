import { expect, test } from 'vitest';
import { diffJobs } from '../../src/job/diff-jobs.ts';
import { parseJobFile } from '../../src/job/load-job.ts';

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
