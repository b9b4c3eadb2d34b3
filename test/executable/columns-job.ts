/** Jobs in sync mode on data with columns, made from a seed and written in several ways. */
import { writeFileSync } from 'node:fs';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect } from 'vitest';
import { encodeChunk } from '../../src/data/bytes/packings/recordio/body.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { type Place, resultOf } from './harness.ts';
import { JOB } from './planted-job.ts';
import { type LiveProcess, liveProcesses, oneOf, startRun } from './run.ts';
import { cutOf, SLOWLY } from './sync-job.ts';

export const RECORDS = 700;
/** A master, a pserver and a trainer, as `expectPlainAfterKills` starts them. */
const PROCESSES = 3;
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

/** The same records, written in several ways. */
export function writeData(place: Place): void {
  const all = rows();
  writeFileSync(place.path('all.csv'), fileOf(all, ',', [0, 1, 2, 3, 4, 5], '\n'));
  const lines = all.map(([age, income, city, tags, weight, clicked]) => {
    const inner = { ...(age === '' ? {} : { age: Number(age) }), income: Number(income), city, more: [1, 'x'] };
    return `${JSON.stringify({ clicked, who: inner, tags: tags!.split('|'), weight: Number(weight) })}\n`;
  });
  writeFileSync(place.path('all.jsonl'), lines.join(''));
  const records = lines.map((line) => Buffer.from(line));
  const chunks = [records.slice(0, 250), records.slice(250)].map((some) => encodeChunk(some, 'snappy'));
  writeFileSync(place.path('all.recordio'), Buffer.concat(chunks));
  const columnData = NAMES.map((name, at) => {
    const isNumber = ['age', 'income', 'weight'].includes(name);
    const values = all.map((row) => (isNumber && row[at] !== '' ? Number(row[at]) : row[at] || undefined));
    return { name, data: values, type: isNumber ? 'DOUBLE' : 'STRING', nullable: true } as const;
  });
  writeFileSync(place.path('all.parquet'), Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 300 })));
  // A file ends a chunk, not a task: the records of tasks are the same.
  writeFileSync(place.path('part-1.tsv'), fileOf(all.slice(0, 333), '\t', [5, 3, 4, 0, 2, 1], '\r\n'));
  writeFileSync(place.path('part-2.tsv'), fileOf(all.slice(333), '\t', [2, 1, 0, 5, 4, 3], '\n'));
}

/** With all that deep models have. */
export const DEEP = { type: 'deepfm', factors: 3, hidden: [8, 4], normalization: 'batch', dropout: 0.2 };

export const SELECTED = { split: { test: 0.3, by: 'city' }, negativeSampling: { rate: 0.5 } };

/** Of what is in an object of its own. */
const pathIn = (format: string, name: string) =>
  format === 'jsonl' || format === 'recordio' ? { path: `who.${name}` } : {};

export const jobOf = (
  format: 'csv' | 'tsv' | 'jsonl' | 'recordio' | 'parquet' | 'columns',
  train: string,
  shuffle: 'tasks' | 'records',
  selected = {},
  model: Readonly<Record<string, unknown>> & { readonly type: string } = { type: 'fm', factors: 3 },
) => ({
  name: 'columns',
  data: {
    format,
    ...(format === 'recordio' ? { record: 'json' } : {}),
    train,
    recordsPerTask: 100,
    shuffle,
    ...selected,
    columns: {
      age: { type: 'number', ...pathIn(format, 'age') },
      income: { type: 'number', quantiles: 8, ...pathIn(format, 'income') },
      city: { type: 'category', ...pathIn(format, 'city') },
      tags: { type: 'categories', separator: '|' },
      weight: 'weight',
      clicked: { type: 'label', positive: ['yes'] },
      both: { cross: ['income', 'city'] },
    },
  },
  model,
  training: { mode: 'sync', passes: 3, batchSize: 16, lanes: 3 },
  cluster: { leaseTtl: '15s' },
});

/**
 * A run whose processes of these roles are killed in turn has the bits of a plain loop. `passes`: so many that it is
 * not over before the last kill.
 */
export async function expectPlainAfterKills(
  place: Place,
  roles: readonly LiveProcess['role'][],
  passes: number,
  model?: Parameters<typeof jobOf>[4],
): Promise<void> {
  writeData(place);
  const { cluster: _, training, ...rest } = jobOf('tsv', 'part-*.tsv', 'records', {}, model);
  const job = { ...rest, name: JOB.name, training: { ...training, passes }, checkpoint: { interval: '200ms' } };
  writeFileSync(place.path('killed.yaml'), JSON.stringify(job));
  const { running, store } = await startRun(place, place.path('killed.yaml'), SLOWLY);
  // All found before the first kill: asking after the dead takes time, in which the job goes on.
  const processes = await liveProcesses(place, PROCESSES);
  for (const role of roles) {
    await cutOf(store, (await cutOf(store, 1)) + 1);
    process.kill(oneOf(processes, role).pid, 'SIGKILL');
    await running.said(new RegExp(`${role}.* ended \\(SIGKILL\\)`));
  }
  const result = await resultOf(running);
  const plain = await referenceOf(job, place.path());
  expect(result.records).toMatchObject({ applied: passes * RECORDS, bad: 0, lost: 0 });
  expect(result.modelDigest).toBe(plain.modelDigest);
}
