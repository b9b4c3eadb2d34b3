/**
 * Data with columns in sync mode, with real processes: CSV, JSON lines, RecordIO, Parquet, and files of columns that
 * were made of TSV in another order of fields, are the same records, and make the bits of a plain loop on any cluster;
 * shuffled and split, they make others.
 */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { referenceOf } from '../sync/reference-loop.ts';
import { DEEP, jobOf, RECORDS, SELECTED, writeData } from './columns-job.ts';
import { openPlace, resultOf } from './harness.ts';

test('the same records give the same bits, however they are written and whatever the cluster is', async () => {
  const place = openPlace();
  writeData(place);
  writeFileSync(place.path('convert.yaml'), JSON.stringify(jobOf('tsv', 'part-*.tsv', 'tasks')));
  const convert = ['data', 'convert', 'part-1.tsv', 'part-2.tsv', '--job', 'convert.yaml', '--output', 'made'];
  expect(await place.start('convert', convert).ended).toMatchObject({ code: 0 });
  const digests: string[] = [];
  for (const [name, job, trainers, pservers] of [
    ['csv', jobOf('csv', 'all.csv', 'tasks'), 1, 1],
    ['recordio', jobOf('recordio', 'all.recordio', 'tasks'), 3, 2],
    ['columns', jobOf('columns', 'made/*.columns', 'tasks'), 1, 2],
    ['selected', jobOf('tsv', 'part-*.tsv', 'records', SELECTED), 2, 1],
    ['deepfm', jobOf('parquet', 'all.parquet', 'records', {}, DEEP), 2, 3],
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
  const [csv, recordio, columns, selected] = digests;
  for (const format of ['jsonl', 'parquet'] as const) {
    expect((await referenceOf(jobOf(format, `all.${format}`, 'tasks'), place.path())).modelDigest).toBe(csv);
  }
  expect(recordio).toBe(csv);
  expect(columns).toBe(csv);
  expect(selected).not.toBe(csv);
});
