/** How the numbers of pservers, units and shards of a job must relate. */
import { expect, test } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const load = (cluster: string) =>
  parseJobFile('job.yaml', `name: x\ndata: { train: a, format: libsvm }\nmodel: { type: lr }\ncluster: ${cluster}\n`);

test.each([
  ['{ pservers: 2, minPservers: 3 }', 'job.yaml:4:22: cluster.pservers: expected at least minPservers (3)'],
  ['{ pservers: 3, maxPservers: 2 }', 'job.yaml:4:22: cluster.pservers: expected at most maxPservers (2)'],
  ['{ shards: 4, units: 5 }', 'job.yaml:4:30: cluster.units: expected at most 4 (cluster.shards)'],
  ['{ units: 4, maxPservers: 5 }', 'job.yaml:4:35: cluster.maxPservers: expected at most 4 (cluster.units)'],
  ['{ shards: 4, maxPservers: 5 }', 'job.yaml:4:36: cluster.maxPservers: expected at most 4 (cluster.shards)'],
  ['{ pservers: 2, maxPservers: 2, replicas: 3 }', 'cluster.replicas: expected at most maxPservers (2)'],
  ['{ replicas: 6 }', 'cluster.replicas: '],
  ['{ replicas: 2, minInSync: 3 }', 'cluster.minInSync: expected at most replicas (2)'],
  ['{ pservers: 2, replicas: 2, minInSync: 2 }', 'cluster.minInSync: expected at most minPservers (1)'],
])('%s is refused', (cluster, message) => {
  expect(() => load(cluster)).toThrow(message);
});

test('a job has one copy of each unit unless it says otherwise', () => {
  expect(load('{}').cluster).toMatchObject({ replicas: 1, minInSync: 1 });
  const cluster = { pservers: 3, minPservers: 2, replicas: 3, minInSync: 2 };
  expect(load(JSON.stringify(cluster)).cluster).toMatchObject(cluster);
});

test('units have copies in sync mode, too', () => {
  const file = 'name: x\ndata: { train: a, format: libsvm }\nmodel: { type: lr }\ntraining: { mode: sync }\n';
  expect(parseJobFile('job.yaml', `${file}cluster: { pservers: 2, replicas: 2 }\n`).cluster.replicas).toBe(2);
});

test('without bounds a job may have any number of pservers for which it has units', () => {
  expect(load('{ pservers: 4, units: 4, shards: 4 }').cluster).toMatchObject({ pservers: 4, minPservers: 1 });
});
