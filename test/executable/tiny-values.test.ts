/** L2 shrinks weights until they are 0, not until they are denormal: those take many times as long to compute with. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPlace } from './harness.ts';

/** Four numbers, label first. */
const lineOf = (record: number): string =>
  [record % 2, ...[1, 2, 3, 4].map((column) => ((record * (2 * column + 5)) % 17) / 17)].join(',');

test('a deep model under strong L2 keeps no float between 0 and 2^-100', async () => {
  const place = openPlace();
  writeFileSync(
    place.path('all.csv'),
    `label,a,b,c,d\n${Array.from({ length: 800 }, (_, at) => `${lineOf(at)}\n`).join('')}`,
  );
  const number = { type: 'number' };
  const job = place.writeJob({
    name: 'tiny',
    data: {
      ...{ format: 'csv', train: 'all.csv', recordsPerTask: 400 },
      columns: { label: { type: 'label', positive: ['1'] }, a: number, b: number, c: number, d: number },
    },
    model: { type: 'mlp', task: 'binary', hidden: [5, 3], activation: 'tanh' },
    optimizer: { type: 'momentum', learningRate: 0.5, momentum: 0.5, l2: 0.6 },
    training: { passes: 2, batchSize: 4 },
    cluster: { pservers: 1, trainers: 1 },
  });
  await place.json('run', job, '--dir', 'job');
  await place.json('checkpoint', 'export', 'job', '--as', 'csv', '--output', 'model', '--state');
  const floats = readdirSync(place.path('model')).flatMap((name) =>
    floatsIn(readFileSync(place.path('model', name), 'utf8')),
  );
  // Values and velocities of 4 × 5, 5 × 3 and 3 weights and of 9 biases.
  expect(floats).toHaveLength(2 * (20 + 15 + 3 + 9));
  expect(floats.filter((value) => value !== 0 && Math.abs(value) < 2 ** -100)).toEqual([]);
  expect(floats.filter((value) => value === 0).length).toBeGreaterThanOrEqual(floats.length / 2);
});

/** The columns behind the index of each line. */
const floatsIn = (text: string): number[] =>
  text
    .trimEnd()
    .split('\n')
    .slice(1)
    .flatMap((line) => line.split(',').slice(1).map(Number));
