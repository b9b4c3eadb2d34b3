/** Files of libffm: what their index says, and the fields of the features that a task has. */
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import { type Selection, Selector } from '../../../../src/data/selection.ts';
import { createTaskReader, type TaskReaderOptions } from '../../../../src/data/task-reader.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import * as fc from '../../../properties.ts';
import type { TestPlace } from '../../place.ts';
import { placeWith } from '../csv/read-files.ts';
import { contentOf, readForward } from '../forward-records.ts';

const LABELS = { task: 'regression' } as const;
const RECORDS = 90;
const featuresOf = (record: number): string[] =>
  Array.from({ length: record % 5 }, (_, at) => `${(record * 7 + at) % 40}:${record + at}:${at + 0.5}`);
const lineOf = (record: number): string =>
  record % 11 === 3 ? `${record} 1:x:1\n` : `${record} ${featuresOf(record).join(' ')}\n`;
const TEXT = Array.from({ length: RECORDS }, (_, record) => lineOf(record)).join('');

interface How extends Partial<TaskReaderOptions> {
  readonly recordsPerTask?: number;
}

async function readAll(place: TestPlace, { recordsPerTask = 20, selection, ...how }: How = {}): Promise<unknown[]> {
  const selected = selection && { selection, labels: LABELS };
  const index = await buildIndex(place, { what: 'a.txt', format: 'libffm', recordsPerTask, selected });
  const options = { format: 'libffm', files: index.files, labels: LABELS, inputWidth: 0, batchSize: 8 } as const;
  const reader = createTaskReader(place, { ...options, readsFields: true, selection, ...how });
  const content: unknown[] = [];
  for (const chunks of cutTasks(index, recordsPerTask)) {
    const task = await reader.read(chunks);
    content.push(...contentOf(task));
    // A planned batch has the fields of those that are picked.
    const records = Math.min(8, task.records);
    const [planned] = task.batch(0, records).sparse;
    const [picked] = task.pick(Uint32Array.from({ length: records }, (_, at) => at)).sparse;
    expect(planned?.fields).toEqual(picked?.fields);
  }
  await reader.close();
  return content;
}

/** What is read of the record, as `contentOf` has it; bad ones aside. */
const good = (content: readonly unknown[]): unknown[] => content.filter(Array.isArray);
const WRITTEN = Array.from({ length: RECORDS }, (_, record) => record).filter((record) => record % 11 !== 3);

describe('the index of libffm', () => {
  test.each([
    ['1 3:7:1 0:9:0.5\n', 4, '10'],
    ['1:0.5 qid:77 0:9000:1\n', 1, '9001'],
    ['1 # 9:9:9\n0 4095:5:6\n', LIMITS.fields, '6'],
    // A bad record says nothing.
    ['1 # 9:9:9\n0 4095:1:5:6\n', 0, '0'],
    ['1 4096:1:1\n1 2:1:1 # 5:1:1\n', 3, '2'],
    ['1 qid:5\n1 x:1:1\n', 0, '0'],
    // A line of libsvm is bad, and says nothing of fields.
    ['1 4000:1 9:5\n1 2:1:1\n', 3, '2'],
  ])('of %j has fields below %i and ids below %s', async (text, fieldBound, featureBound) => {
    const request = { what: 'a.txt', format: 'libffm', recordsPerTask: 10 } as const;
    expect(await buildIndex(placeWith({ 'a.txt': text }), request)).toMatchObject({ fieldBound, featureBound });
  });

  test('of libsvm has no fields', async () => {
    const request = { what: 'a.txt', format: 'libsvm', recordsPerTask: 10 } as const;
    expect(await buildIndex(placeWith({ 'a.txt': '1 3:7\n' }), request)).toMatchObject({ fieldBound: 0 });
  });
});

describe('the features of libffm', () => {
  test('have the fields that are written', async () => {
    const content = await readAll(placeWith({ 'a.txt': TEXT }));
    expect(content).toHaveLength(RECORDS);
    expect(good(content)).toEqual(WRITTEN.map(featuresOf));
  });

  test('have them in tasks from the cache, which are others than those without fields', async () => {
    const place = placeWith({ 'a.txt': TEXT });
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    const without = await readAll(place, { readsFields: false, cache });
    expect(good(without)[0]).toEqual([]);
    expect(good(without)[4]).toEqual(featuresOf(5).map((feature) => feature.replace(/^\d+:/, '')));
    const first = await readAll(place, { cache });
    expect(good(first)).toEqual(WRITTEN.map(featuresOf));
    expect(await readAll(place, { cache: new ParsedCache(place, { bytes: 2 ** 30 }) })).toEqual(first);
    expect(place.warnings).toEqual([]);
  });

  test('have them where a split leaves records out', async () => {
    const place = placeWith({ 'a.txt': TEXT });
    const side = (part: Selection['part']) => readAll(place, { selection: { part, seed: 3, split: { test: 0.4 } } });
    const [train, tested] = [good(await side('train')), good(await side('test'))];
    const sorted = (all: readonly unknown[]) => all.map((one) => JSON.stringify(one)).sort();
    expect(sorted([...train, ...tested])).toEqual(sorted(WRITTEN.map(featuresOf)));
    expect(train.length).toBeGreaterThan(tested.length);
    expect(tested.length).toBeGreaterThan(0);
    // By the position among all records, bad ones included.
    const selector = new Selector({ part: 'test', seed: 3, split: { test: 0.4 } }, 'a.txt');
    const wanted = WRITTEN.filter((position) => selector.keeps({ position, label: position }));
    expect(tested).toEqual(wanted.map(featuresOf));
  });

  test('bounds and labels of the index are those of all records, selected or not', async () => {
    const place = placeWith({ 'a.txt': TEXT });
    const request = { what: 'a.txt', format: 'libffm', recordsPerTask: 10 } as const;
    const { featureBound, fieldBound, labelBound, traits } = await buildIndex(place, request);
    const selection = { part: 'test', seed: 3, split: { test: 0.1 } } as const;
    const part = await buildIndex(place, { ...request, selected: { selection, labels: LABELS } });
    expect(part.records).toBeLessThan(RECORDS / 2);
    expect(part).toMatchObject({ featureBound, fieldBound, labelBound, traits });
  });

  test('groups of records that are read forwards have room, though their ids are numbered in the same memory', async () => {
    const lines = (from: number, features: number): string[] =>
      Array.from({ length: 9000 }, (_, record) => {
        const ids = Array.from({ length: features }, (__, at) => `${from + ((record * 7 + at) % 5000)}:1`);
        return `1 ${ids.join(' ')}\n`;
      });
    const how = { batchSize: 4096, readsFields: false };
    const plain = await readForward('libsvm', lines(1, 36).join(''), how);
    expect(plain.records).toHaveLength(9000);
    expect(plain.records.at(-1)).toHaveLength(36);
    const bad = lines(2 ** 52, 10).with(5, 'x 1:1\n');
    const { records, groups } = await readForward('libsvm', bad.join(''), how);
    expect(records).toHaveLength(9000);
    expect(records[5]).toMatchObject({ line: 6 });
    expect(Math.max(...groups)).toBe(4096);
  });

  test('have them wherever text that is read forwards is cut', async () => {
    const whole = await readForward('libffm', TEXT, { readsFields: true });
    expect(good(whole.records)).toEqual(WRITTEN.map(featuresOf));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), async (sliceBytes) => {
        expect((await readForward('libffm', TEXT, { readsFields: true, sliceBytes })).records).toEqual(whole.records);
      }),
      { numRuns: 20 },
    );
  });
});
