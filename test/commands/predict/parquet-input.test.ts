/** Predictions of Parquet files: the same as of text with the same values. */
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer, type SchemaElement } from 'hyparquet-writer';
import { beforeAll, expect, test } from 'vitest';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import { openInput } from '../../../src/commands/predict/input.ts';
import { createPartMaker } from '../../../src/commands/predict/part-maker.ts';
import { makeParts } from '../../../src/commands/predict/thread.ts';
import type { ToThread } from '../../../src/commands/predict/thread-messages.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { loadDataset, trainFactsOf } from '../../../src/roles/master/dataset.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { type TestPlace, testPlace } from '../../data/place.ts';
import { type How, predicted } from './predicted.ts';

const RECORDS = 250;
const COLUMNS = {
  x: 'number',
  y: { type: 'number', quantiles: 4 },
  z: { type: 'number', missing: 'error', normalize: 'log' },
  town: 'category',
  big: { type: 'category', ids: 'integer' },
  tags: 'categories',
  where: { type: 'category', path: 'at.place' },
  both: { cross: ['y', 'town'] },
  clicked: 'label',
  w: 'weight',
  who: 'group',
  when: 'time',
};

interface Row {
  readonly id: bigint | null;
  readonly x: number | null;
  readonly y: number;
  readonly z: number | null;
  readonly town: string | null;
  readonly big: bigint;
  readonly tags: string;
  readonly place: string | null;
  readonly half: number;
  readonly day: Date;
}

const ROWS = Array.from(
  { length: RECORDS },
  (_, at): Row => ({
    id: at % 17 === 3 ? null : BigInt(at) * 9_007_199_254_740_993n,
    x: at % 5 === 2 ? null : ((at * 31) % 97) / 8,
    y: (at * 7919) % 101,
    z: at % 60 === 41 ? null : at / 4,
    town: ['Oslo', 'Zürich', null, 'São "Paulo"', 'Roma, Lima'][at % 5]!,
    big: BigInt(at % 40) ** 11n,
    tags: ['', 'a', 'a|b', 'c|a|b'][at % 4]!,
    place: [null, 'north', 'south'][at % 3]!,
    half: (at - 100) / 2,
    day: new Date(Date.UTC(2024, 0, 1 + at)),
  }),
);

const dayOf = ({ day }: Row): string => day.toISOString().slice(0, 10);

const csv = (rows: readonly Row[]): string => {
  const quoted = (value: unknown): string => `"${String(value ?? '').replaceAll('"', '""')}"`;
  const line = (row: Row): string =>
    [row.id, row.x, row.y, row.z, row.town, row.big, row.tags, row.place, row.half, dayOf(row)].map(quoted).join(',');
  return `id,x,y,z,town,big,tags,where,half,day\n${rows.map((row) => `${line(row)}\n`).join('')}`;
};

/** Numbers of any length as they are. */
const json = (rows: readonly Row[]): string =>
  rows
    .map((row) => {
      const { id, big, place, ...others } = row;
      const rest = JSON.stringify({ ...others, day: dayOf(row), at: { place } });
      return `{"id":${id},"big":${big},${rest.slice(1)}\n`;
    })
    .join('');

function parquet(rows: readonly Row[]): Buffer {
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const texts = { type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional } as const;
  const leaves = [
    { name: 'half', type: 'FLOAT', ...optional },
    { name: 'id', type: 'INT64', ...optional },
    { name: 'x', type: 'DOUBLE', ...optional },
    { name: 'y', type: 'INT32', ...optional },
    { name: 'z', type: 'DOUBLE', ...optional },
    { name: 'town', ...texts },
    { name: 'big', type: 'INT64', ...optional },
    { name: 'tags', ...texts },
    { name: 'day', type: 'INT32', converted_type: 'DATE', ...optional },
  ] as const;
  const schema: SchemaElement[] = [
    { name: 'root', num_children: leaves.length + 2 },
    ...leaves,
    { name: 'at', num_children: 1, ...optional },
    { name: 'place', ...texts },
    { name: 'list', num_children: 1, converted_type: 'LIST', ...optional },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    { name: 'element', type: 'INT32', ...optional },
  ];
  const columnData = [
    ...leaves.map(({ name }) => ({ name, data: rows.map((row) => row[name]) })),
    { name: 'at', data: rows.map(({ place }) => ({ place })) },
    { name: 'list', data: rows.map(() => [1, 2]) },
  ];
  return Buffer.from(parquetWriteBuffer({ columnData, schema, rowGroupSize: 90 }));
}

let place: TestPlace;
let record: JobRecord;

const recordFor = async (format: DataFormat, train: string): Promise<JobRecord> => {
  const job = aJob({ data: { train, format, columns: COLUMNS } });
  const dataset = await loadDataset(place, job, job.data.train, job.data.trainLabels, 'train');
  return recordOf(job, { dataDir: place.folder, train: trainFactsOf(dataset) });
};

beforeAll(async () => {
  place = testPlace();
  const put = (name: string, bytes: string | Uint8Array): void => writeFileSync(join(place.folder, name), bytes);
  const training = ROWS.map(
    (row, at) =>
      `{"x":${row.x},"y":${row.y},"z":${row.z ?? 0},"town":${JSON.stringify(row.town)},"big":${row.big},` +
      `"tags":"${row.tags}","at":{"place":"north"},"clicked":${at % 2},"w":1,"who":"me","when":"2024-01-01"}\n`,
  );
  put('train.jsonl', training.join(''));
  put('a.csv', csv(ROWS));
  put('a.jsonl', json(ROWS));
  put('a.parquet', parquet(ROWS));
  record = await recordFor('jsonl', 'train.jsonl');
});

const KEEP = ['town', 'id', 'half', 'day', 'big'];

const scored = async (how: Partial<How>): Promise<string> =>
  String((await predicted(place, { record, file: 'a.parquet', format: 'parquet', ...how })).bytes);

test('CSV, JSON lines and Parquet of the same rows give the same bytes, with any number of threads', async () => {
  const before = readdirSync(place.folder);
  const expected = await scored({ file: 'a.jsonl', format: 'jsonl', keep: KEEP });
  expect(expected.split('\n')).toHaveLength(RECORDS + 2);
  expect(expected.match(/,column z has no value\n/g)).toHaveLength(4);
  expect(new Set(expected.split('\n').map((line) => line.split(',').at(-2))).size).toBeGreaterThan(50);
  expect(await scored({ file: 'a.csv', format: 'csv', keep: KEEP })).toBe(expected);
  expect(await scored({ keep: KEEP })).toBe(expected);
  expect(await scored({ keep: KEEP, threads: 3 })).toBe(expected);
  expect(readdirSync(place.folder)).toEqual(before);
});

test('a Parquet file is the same whatever it is made of, and by whom', async () => {
  const how = { record, as: 'parquet', keep: KEEP } as const;
  const { bytes } = await predicted(place, { ...how, file: 'a.parquet', format: 'parquet', threads: 3 });
  expect((await predicted(place, { ...how, file: 'a.csv', format: 'csv' })).bytes.equals(bytes)).toBe(true);
});

test('bad records are told with their rows', async () => {
  const { tally } = await predicted(place, { record, file: 'a.parquet', format: 'parquet' });
  expect(tally).toMatchObject({ records: RECORDS, bad: 4 });
  expect(tally.firstBad[0]).toMatch(/^a\.parquet:42: column z has no value/);
  expect(tally.firstBad[3]).toMatch(/^a\.parquet:222: column z has no value/);
});

test('a job of Parquet scores JSON lines, and keeps columns by their paths', async () => {
  const labelled = parquetWriteBuffer({
    columnData: Object.entries({ x: [1, 2], clicked: [0, 1] }).map(([name, data]) => ({ name, data })),
  });
  writeFileSync(join(place.folder, 'train.parquet'), new Uint8Array(labelled));
  const job = aJob({ data: { train: 'train.parquet', format: 'parquet', columns: { x: 'number', clicked: 'label' } } });
  const train = trainFactsOf(await loadDataset(place, job, job.data.train, job.data.trainLabels, 'train'));
  const how = { record: recordOf(job, { dataDir: place.folder, train }), keep: ['at.place'] };
  const expected = await scored({ ...how, file: 'a.jsonl', format: 'jsonl' });
  expect(expected).toMatch(/^at\.place,score,error\n,0\.\d+,\nnorth,0\.\d+,\nsouth,/);
  expect(await scored(how)).toBe(expected);
  expect(await scored({ ...how, keep: ['where'] }).catch((error: Error) => error.message)).toBe(
    'a.parquet has no column where',
  );
});

test('a pipe is refused, and a file that changes before a thread opens it', async () => {
  const { signal } = new AbortController();
  await expect(openInput('-', undefined, 'parquet', signal)).rejects.toMatchObject({
    code: 'Usage',
    hint: expect.stringContaining('save the data as a file'),
  });
  const { disk } = place.host;
  const path = join(place.folder, 'a.parquet');
  const facts = { ...(await disk.inspect(path))!, modifiedMs: 1 };
  const source = { kind: 'file', path, facts } as const;
  const options = {
    record,
    format: 'parquet',
    file: 'a.parquet',
    keep: [],
    as: 'csv',
    hasErrors: true,
    source,
  } as const;
  const { port1, port2 } = new MessageChannel();
  makeParts(port2, options);
  await expect(createPartMaker(options, disk)).rejects.toMatchObject({ code: 'DataChanged' });
  // The thread has failed, too, when its first part comes.
  const answered = once(port1, 'message');
  port1.postMessage({ kind: 'part', id: 1, part: { group: 0, from: 0, to: 1 }, tellsIds: false } satisfies ToThread);
  expect((await answered)[0]).toMatchObject({ kind: 'failed', error: { code: 'DataChanged' } });
  port1.close();
});

test('what cannot be kept or read is refused, with what to do', async () => {
  const whole = parquet(ROWS);
  const damaged = Buffer.from(whole);
  damaged.fill(255, 4, 30);
  const put = (name: string, bytes: Uint8Array): void => writeFileSync(join(place.folder, name), bytes);
  put('page.parquet', damaged);
  put('footer.parquet', whole.subarray(0, whole.length - 9));
  put('packed.parquet', gzipSync(whole));
  const refusal = async (how: Partial<How>): Promise<unknown> =>
    scored(how).catch(({ code, message, hint }) => `${code}: ${message}; ${hint}`);
  const refusals = await Promise.all([
    refusal({ keep: ['hal'] }),
    refusal({ keep: ['list'] }),
    refusal({ file: 'page.parquet', keep: ['half'] }),
    refusal({ file: 'footer.parquet' }),
    refusal({ file: 'packed.parquet' }),
    refusal({ file: 'a.csv' }),
    refusal({ format: 'csv' }),
  ]);
  expect(refusals).toEqual([
    expect.stringMatching(/^DataInvalid: a\.parquet has no column hal; did you mean half\? its columns are half, id,/),
    expect.stringMatching(/^DataInvalid: column list contains lists, which --keep does not support; /),
    expect.stringMatching(/^DataInvalid: page\.parquet: row group 0, column half.*; the file is damaged/),
    expect.stringMatching(/^DataInvalid: footer\.parquet: it does not end with PAR1/),
    expect.stringMatching(
      /^DataInvalid: the whole file packed\.parquet is compressed, for example with gzip; decompress it/,
    ),
    expect.stringMatching(/^DataInvalid: a\.csv is not a Parquet file/),
    expect.stringMatching(/a\.parquet is a Parquet file; set data.format to parquet .*predict: --format parquet/),
  ]);
});
