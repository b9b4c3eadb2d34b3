/** Weights of classes: training records are as if they were written with them; test records know none. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelOf } from '../../../../src/cluster/job/job-model.ts';
import { convertFile } from '../../../../src/data/convert.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import { reordered } from '../../../../src/data/reordered.ts';
import type { Selection } from '../../../../src/data/selection.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import { columnSpecOf, type Job, jobFileSchema, resolveJob } from '../../../../src/job/schema.ts';
import { loadDataset, taskChunks, trainFactsOf } from '../../../../src/roles/master/dataset.ts';
import { openTaskFiles } from '../../../../src/roles/trainer/tasks/task-files.ts';
import { asPublished, recordOf } from '../../../cluster/job/stored-job.ts';
import { shown } from '../../../data/parsed/compare.ts';
import { type TestPlace, testPlace } from '../../../data/place.ts';

const RECORDS = 23;
const BATCH = 4;
const numbers = Array.from({ length: RECORDS }, (_, record) => record);
const labelOf = (record: number): number => (record % 3 === 0 ? 1 : 0);
const ofClass = (record: number): number => (labelOf(record) === 1 ? 3 : 1);

/** `weightOf`: that is written with the records; without it they have none. */
interface Format {
  readonly data: object;
  readonly model: object;
  readonly line: (record: number, weight: number | undefined) => string;
  readonly header?: string;
}

const ofText = (format: string, features: (record: number) => string): Format => ({
  data: { format, labelWeights: true, maxBadRecords: 9 },
  model: { type: 'lr' },
  line: (record, weight) => `${labelOf(record)}${weight === undefined ? '' : `:${weight}`} ${features(record)}`,
});
const ofCells = (format: string, delimiter: string): Format => ({
  data: { format, maxBadRecords: 9, columns: { a: 'category', x: 'number', w: 'weight', y: 'label' } },
  model: { type: 'lr' },
  header: ['a', 'x', 'w', 'y'].join(delimiter),
  line: (record, weight = 1) => [`c${record % 5}`, record / 7, weight, labelOf(record)].join(delimiter),
});
const FORMATS: Readonly<Record<string, Format>> = {
  libsvm: ofText('libsvm', (record) => `${record % 6}:1 ${7 + (record % 4)}:0.5`),
  libfm: ofText('libfm', (record) => `${record % 6}:1 ${7 + (record % 4)}:0.5`),
  libffm: { ...ofText('libffm', (record) => `0:${record % 6}:1 1:${record % 9}:2`), model: { type: 'ffm' } },
  csv: ofCells('csv', ','),
  tsv: ofCells('tsv', '\t'),
};

function write(place: TestPlace, { line, header }: Format, weightOf?: (record: number) => number): void {
  const lines = numbers.map((record) => (record === 5 ? 'bad' : line(record, weightOf?.(record))));
  writeFileSync(join(place.folder, 'a.txt'), `${[...(header === undefined ? [] : [header]), ...lines].join('\n')}\n`);
}

const jobOf = (format: Format, training: object = {}, data: object = {}): Job =>
  asPublished(
    resolveJob(
      jobFileSchema.parse({
        ...{ name: 'weighted', model: format.model, training: { batchSize: BATCH, ...training } },
        data: { train: 'a.txt', recordsPerTask: RECORDS, ...format.data, ...data },
      }),
    ),
  );

/** The one task of the job, as a trainer reads it. */
async function read(
  place: TestPlace,
  job: Job,
  part: Selection['part'] = 'train',
  cache?: ParsedCache,
): Promise<TaskRecords> {
  const dataset = await loadDataset(place, job, job.data.train, job.data.trainLabels, 'train');
  const record = recordOf(job, { train: trainFactsOf(dataset) });
  const files = openTaskFiles(place, record, modelOf(record), { batchSize: BATCH, part, cache });
  const records = await files.read(taskChunks(dataset, 0));
  await files.close();
  return records;
}

const order = Uint32Array.from(numbers, (at) => (at * 7 + 3) % RECORDS);
/** In the order of the file, and in another one. */
const bothOrders = (records: TaskRecords): unknown[] =>
  [shown(records, BATCH), shown(reordered(records, order), BATCH), shown(records, BATCH + 1)].map(
    ({ batches }) => batches,
  );

describe.each(Object.entries(FORMATS))('%s', (_, format) => {
  it.each([
    ['no weights', undefined],
    ['weights', (record: number) => (record % 5) / 2],
  ])('records with %s of their own, with the data cache and without', async (__, own) => {
    const place = testPlace();
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    write(place, format, (record) => (own?.(record) ?? 1) * ofClass(record));
    const wanted = bothOrders(await read(place, jobOf(format)));
    write(place, format, own);
    const weighted = jobOf(format, { classWeights: { 1: 3 } });
    expect(bothOrders(await read(place, weighted))).toEqual(wanted);
    // Parsed, from memory, and from the folder.
    const again = new ParsedCache(place, { bytes: 2 ** 30 });
    for (const kept of [cache, cache, again]) {
      expect(bothOrders(await read(place, weighted, 'train', kept))).toEqual(wanted);
    }
    // Jobs of other weights share what is kept.
    const plain = bothOrders(await read(place, jobOf(format)));
    expect(bothOrders(await read(place, jobOf(format), 'train', cache))).toEqual(plain);
    expect(plain).not.toEqual(wanted);
    for (const kept of [undefined, cache]) {
      expect(bothOrders(await read(place, weighted, 'test', kept))).toEqual(plain);
    }
  });
});

it('columns: as if the text that they were made of had these weights', async () => {
  const place = testPlace();
  const format = FORMATS.csv!;
  const columns = columnSpecOf(jobOf(format))!;
  const readColumns = async (job: Job): Promise<unknown[]> => {
    await convertFile(place, 'a.txt', join(place.folder, 'a.columns'), { format: 'csv', columns, onBytes: () => {} });
    return bothOrders(await read(place, job));
  };
  const made = { format: 'columns', train: 'a.columns' };
  write(place, format, ofClass);
  const wanted = await readColumns(jobOf(format, {}, made));
  write(place, format);
  expect(await readColumns(jobOf(format, { classWeights: { 1: 3 } }, made))).toEqual(wanted);
  expect(await readColumns(jobOf(format, {}, made))).not.toEqual(wanted);
});

it('counts are those of records', async () => {
  const place = testPlace();
  write(place, FORMATS.libsvm!);
  const records = await read(place, jobOf(FORMATS.libsvm!, { classWeights: { 1: 3 } }));
  expect([records.records, records.bad.length, records.goodBefore(RECORDS)]).toEqual([RECORDS, 1, RECORDS - 1]);
  expect(records.batch(0, 5)).toMatchObject({ records: 5, weights: Float32Array.of(3, 1, 1, 3, 1) });
});

it('-1 and 1 are the classes 0 and 1, and a product is at most the largest float', async () => {
  const place = testPlace();
  writeFileSync(join(place.folder, 'a.txt'), '-1 1:1\n+1:1e30 1:1\n0:0 1:1\n1:0.1 1:1\n');
  const job = jobOf(FORMATS.libsvm!, { classWeights: { 0: 0.1, 1: 1e9 } });
  const { weights } = (await read(place, job)).batch(0, 4);
  expect(weights).toEqual(Float32Array.of(0.1, 3.4028234663852886e38, 0, Math.fround(0.1) * 1e9));
});

it('records that a sample leaves have the product of both weights', async () => {
  const place = testPlace();
  write(place, FORMATS.libsvm!);
  const job = jobOf(FORMATS.libsvm!, { classWeights: { 0: 3, 1: 5 } }, { negativeSampling: { rate: 0.5 } });
  const { records, labels, weights } = (await read(place, job)).batch(0, 12);
  expect(records).toBeGreaterThan(8);
  expect(new Set(labels)).toEqual(new Set([0, 1]));
  expect(weights).toEqual(labels.map((label) => (label === 0 ? 6 : 5)));
});

it('images', async () => {
  const place = testPlace();
  const header = (...fields: number[]): Buffer => {
    const bytes = Buffer.alloc(4 * fields.length);
    fields.forEach((field, at) => {
      bytes.writeUInt32BE(field, 4 * at);
    });
    return bytes;
  };
  const pixels = Buffer.from(numbers.flatMap((record) => [record, 1]));
  writeFileSync(join(place.folder, 'i'), Buffer.concat([header(0x0803, RECORDS, 1, 2), pixels]));
  writeFileSync(
    join(place.folder, 'l'),
    Buffer.concat([header(0x0801, RECORDS), Buffer.from(numbers.map((at) => at % 4))]),
  );
  const images = { data: { train: 'i', trainLabels: 'l', format: 'idx' }, model: { type: 'softmax' } } as Format;
  const job = jobOf(images, { classWeights: { 0: 0.5, 3: 2 } });
  for (const cache of [undefined, new ParsedCache(place, { bytes: 2 ** 30 })]) {
    const task = await read(place, job, 'train', cache);
    expect(task.batch(0, 5).weights).toEqual(Float32Array.of(0.5, 1, 1, 2, 0.5));
    expect(task.pick(Uint32Array.of(3, 4, 1)).weights).toEqual(Float32Array.of(2, 0.5, 1));
    expect((await read(place, job, 'test', cache)).batch(0, 5).weights).toBeUndefined();
  }
});
