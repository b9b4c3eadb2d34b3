/**
 * Data with columns in sync mode, with real processes: CSV, TSV, columns in another order and several files are the
 * same records, and make the bits of a plain loop on any cluster; shuffled, or split, they make others.
 */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { JOB } from './planted-job.ts';
import { liveOne, startRun } from './run.ts';
import { cutOf, SLOWLY } from './sync-job.ts';

const RECORDS = 700;
const NAMES = ['age', 'income', 'city', 'tags', 'weight', 'clicked'];

function rows(): string[][] {
  const random = createRandomStream(36);
  const pick = (texts: readonly string[]): string => texts[Math.floor(texts.length * random.uniform())]!;
  return Array.from({ length: RECORDS }, () => [
    random.uniform() < 0.1 ? '' : `${Math.floor(18 + 60 * random.uniform())}`,
    (1e5 * random.uniform() ** 3).toFixed(2),
    pick(['Oslo', 'Roma', 'Zürich', 'São Paulo', '']),
    pick(['', 'a', 'a|b', 'c|a|b']),
    pick(['1', '0.5', '2']),
    pick(['yes', 'no', 'no']),
  ]);
}

const fileOf = (lines: readonly string[][], delimiter: string, order: readonly number[], end: string): string =>
  [NAMES, ...lines].map((line) => order.map((at) => line[at]).join(delimiter) + end).join('');

/** The same records, written in two ways. */
function writeData(place: Place): void {
  const all = rows();
  writeFileSync(place.path('all.csv'), fileOf(all, ',', [0, 1, 2, 3, 4, 5], '\n'));
  // A file ends a chunk, not a task: the records of tasks are the same.
  writeFileSync(place.path('part-1.tsv'), fileOf(all.slice(0, 333), '\t', [5, 3, 4, 0, 2, 1], '\r\n'));
  writeFileSync(place.path('part-2.tsv'), fileOf(all.slice(333), '\t', [2, 1, 0, 5, 4, 3], '\n'));
}

const SELECTED = { split: { test: 0.3, by: 'city' }, negativeSampling: { rate: 0.5 } };

const jobOf = (format: 'csv' | 'tsv', train: string, shuffle: 'tasks' | 'records', selected = {}) => ({
  name: 'columns',
  data: {
    format,
    train,
    recordsPerTask: 100,
    shuffle,
    ...selected,
    columns: {
      age: 'number',
      income: { type: 'number', quantiles: 8 },
      city: 'category',
      tags: { type: 'categories', separator: '|' },
      weight: 'weight',
      clicked: { type: 'label', positive: ['yes'] },
      both: { cross: ['income', 'city'] },
    },
  },
  model: { type: 'fm', factors: 3 },
  training: { mode: 'sync', passes: 3, batchSize: 16, lanes: 3 },
  cluster: { leaseTtl: '15s' },
});

test('the same records give the same bits, however they are written and whatever the cluster is', async () => {
  const place = openPlace();
  writeData(place);
  const digests: string[] = [];
  for (const [name, job, trainers, pservers] of [
    ['csv', jobOf('csv', 'all.csv', 'tasks'), 1, 1],
    ['tsv', jobOf('tsv', 'part-*.tsv', 'tasks'), 3, 2],
    ['shuffled', jobOf('tsv', 'part-*.tsv', 'records'), 2, 1],
    ['selected', jobOf('tsv', 'part-*.tsv', 'records', SELECTED), 3, 2],
  ] as const) {
    writeFileSync(place.path(`${name}.yaml`), JSON.stringify(job));
    const flags = ['--set', `cluster.trainers=${trainers}`, '--set', `cluster.pservers=${pservers}`];
    const result = await resultOf(
      place.start('run', ['run', `${name}.yaml`, '--dir', name, '--data-dir', '.', '--json', ...flags]),
    );
    const plain = await referenceOf(job, place.path());
    expect(result.records).toMatchObject({ applied: plain.applied, bad: 0, lost: 0 });
    // Who is in the test records is in none of the training records.
    expect(plain.applied === 3 * RECORDS, name).toBe(name !== 'selected');
    expect(result.metrics.test === undefined, name).toBe(name !== 'selected');
    expect(result.modelDigest, name).toBe(plain.modelDigest);
    expect(result.stateDigest, name).toBe(plain.stateDigest);
    digests.push(result.modelDigest);
  }
  const [csv, tsv, ...others] = digests;
  expect(tsv).toBe(csv);
  expect(new Set([csv, ...others]).size).toBe(3);
});

test('a job with columns survives SIGKILL of its trainer, its pserver and its master', async () => {
  const place = openPlace();
  writeData(place);
  const { cluster: _, training, ...rest } = jobOf('tsv', 'part-*.tsv', 'records');
  // So many passes that it is not over before the last kill.
  const long = { ...training, passes: 15 };
  const job = { ...rest, name: JOB.name, training: long, checkpoint: { interval: '200ms' } };
  writeFileSync(place.path('killed.yaml'), JSON.stringify(job));
  const { running, store } = await startRun(place, place.path('killed.yaml'), SLOWLY);
  for (const role of ['trainer', 'pserver', 'master'] as const) {
    await cutOf(store, (await cutOf(store, 1)) + 1);
    process.kill((await liveOne(place, role)).pid, 'SIGKILL');
    await running.said(new RegExp(`${role}.* ended \\(SIGKILL\\)`));
  }
  const result = await resultOf(running);
  const plain = await referenceOf(job, place.path());
  expect(result.records).toMatchObject({ applied: 15 * RECORDS, bad: 0, lost: 0 });
  expect(result.modelDigest).toBe(plain.modelDigest);
});
