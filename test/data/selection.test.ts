/** Splits and negative sampling: which records are of a dataset, the same in the index and in what is read. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DataFormat } from '../../src/data/formats/registry.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import type { LabelRule } from '../../src/data/labels.ts';
import { ParsedCache } from '../../src/data/parsed/cache.ts';
import type { Selection, Split } from '../../src/data/selection.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks } from '../../src/data/tasks.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { columnSpecOf } from '../../src/job/schema.ts';
import * as fc from '../properties.ts';
import { type TestPlace, testPlace } from './place.ts';

const LABELS: LabelRule = { task: 'binary' };
const DAY_MS = 86_400_000;

const columns = `columns: { y: label, id: { type: number, normalize: none }, user: category, when: { type: time, format: unixMs } }`;
const spec = columnSpecOf(
  parseJobFile('job', `name: a\ndata: { train: x, format: csv, ${columns} }\nmodel: { type: lr }\n`),
);

interface Row {
  /** 0, 1, or a bad record. */
  readonly label: 0 | 1 | 'x';
  readonly user: number;
  readonly day: number;
}

/** Two files; what tells records apart is a number that each has. */
function write(place: TestPlace, format: DataFormat, rows: readonly Row[]): void {
  const line = ({ label, user, day }: Row, id: number): string =>
    format === 'csv' ? `${label},${id},u${user},${day * DAY_MS}\n` : `${label} 1:${id}\n`;
  const head = format === 'csv' ? 'y,id,user,when\n' : '';
  const half = Math.ceil(rows.length / 2);
  writeFileSync(join(place.folder, 'a'), head + rows.slice(0, half).map(line).join('\n'));
  writeFileSync(
    join(place.folder, 'b'),
    head +
      rows
        .slice(half)
        .map((row, at) => line(row, half + at))
        .join(''),
  );
}

interface Read {
  readonly id: number;
  readonly weight: number;
}

async function readAll(place: TestPlace, format: DataFormat, selection?: Selection, recordsPerTask = 7) {
  const ofColumns = format === 'csv' ? { columns: spec } : {};
  const selected = selection && { selection, labels: LABELS };
  const request = { what: ['a', 'b'], format, recordsPerTask, selected, ...ofColumns };
  const index = await loadOrBuildIndex(place, request);
  expect(await buildIndex(place, request)).toEqual(index);
  const reader = createTaskReader(place, {
    format,
    files: index.files,
    labels: LABELS,
    inputWidth: 0,
    batchSize: 4,
    selection,
    cache: new ParsedCache(place, { bytes: 2 ** 30 }),
    ...(spec && format === 'csv'
      ? { columns: { ...spec, statistics: index.statistics!, input: 'sparse' as const } }
      : {}),
  });
  const good: Read[] = [];
  const bad: string[] = [];
  for (const chunks of cutTasks(index, recordsPerTask)) {
    const task = await reader.read(chunks);
    expect(task.records).toBe(chunks.reduce((sum, { records }) => sum + records, 0));
    for (let from = 0; from < task.records; from += 4) {
      const { records, weights, sparse } = task.batch(from, Math.min(from + 4, task.records));
      const { values, offsets } = sparse[0]!;
      for (let at = 0; at < records; at++) good.push({ id: values?.[offsets[at]!] ?? 1, weight: weights?.[at] ?? 1 });
    }
    bad.push(...task.bad.map(({ file, line }) => `${file}:${line}`));
  }
  await reader.close();
  return { good, bad, index };
}

const ids = (read: readonly Read[]): number[] => read.map(({ id }) => id);

const row: fc.Arbitrary<Row> = fc.record({
  label: fc.constantFrom<Row['label']>(0, 0, 1, 'x'),
  user: fc.nat(5),
  day: fc.nat(9),
});
const byPosition: Split = { test: 0.4 };
const splits = (format: DataFormat): fc.Arbitrary<Split> =>
  format === 'csv'
    ? fc.constantFrom<Split>(byPosition, { test: 0.4, by: 'user' }, { fromMs: 5 * DAY_MS })
    : fc.constant(byPosition);

test.each(['csv', 'libsvm'] as const)(
  '%s: each record is on one side of a split, with its own place',
  async (format) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 60 }),
        splits(format),
        fc.nat(100),
        async (rows, split, seed) => {
          const place = testPlace();
          write(place, format, [...rows, { label: 1, user: 9, day: 0 }]);
          const all = await readAll(place, format);
          const side = async (part: 'train' | 'test') => {
            try {
              return await readAll(place, format, { part, seed, split });
            } catch (error) {
              // One side of a small file may have nothing.
              expect(error).toMatchObject({
                code: 'DataInvalid',
                message: expect.stringContaining(`leaves no ${part} record`),
              });
              return { good: [], bad: [] };
            }
          };
          const [train, tested] = [await side('train'), await side('test')];
          expect([...ids(train.good), ...ids(tested.good)].sort((a, b) => a - b)).toEqual(ids(all.good));
          expect([...train.bad, ...tested.bad].sort()).toEqual([...all.bad].sort());
          for (const { good } of [train, tested]) expect(ids(good)).toEqual([...ids(good)].sort((a, b) => a - b));
          const of = (id: number): Row => rows[id] ?? { label: 1, user: 9, day: 0 };
          if ('fromMs' in split) {
            expect(ids(train.good).every((id) => of(id).day < 5)).toBe(true);
            expect(ids(tested.good).every((id) => of(id).day >= 5)).toBe(true);
          } else if (split.by !== undefined) {
            const users = (good: readonly Read[]): Set<number> => new Set(ids(good).map((id) => of(id).user));
            const both = [...users(train.good)].filter((user) => users(tested.good).has(user));
            expect(both).toEqual([]);
          }
        },
      ),
      { numRuns: 40 },
    );
  },
);

const many = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    label: at % 50 === 7 ? 'x' : at % 10 === 3 ? 1 : 0,
    user: at % 97,
    day: at % 10,
  }));

test.each(['csv', 'libsvm'] as const)(
  '%s: of negative records a sample stays, each counting for those left out',
  async (format) => {
    const place = testPlace();
    const rows = many(4000);
    write(place, format, rows);
    const negatives = { rate: 0.25, correction: 'weight' } as const;
    const { good, bad, index } = await readAll(place, format, { part: 'train', seed: 1, negatives }, 100);
    const positive = rows.filter(({ label }) => label === 1).length;
    const negative = rows.filter(({ label }) => label === 0).length;
    const kept = good.filter(({ id }) => rows[id]!.label === 0);
    expect(good.length - kept.length).toBe(positive);
    expect(Math.abs(kept.length / negative - 0.25)).toBeLessThan(0.03);
    expect(new Set(kept.map(({ weight }) => weight))).toEqual(new Set([4]));
    expect(good.filter(({ id }) => rows[id]!.label === 1).every(({ weight }) => weight === 1)).toBe(true);
    // What is bad is told of, whatever would be left out.
    expect(bad).toHaveLength(80);
    const plain = { rate: 0.25, correction: 'none' } as const;
    for (const recordsPerTask of [100, 33]) {
      const other = await readAll(place, format, { part: 'train', seed: 1, negatives: plain }, recordsPerTask);
      expect(other.good).toEqual(good.map(({ id }) => ({ id, weight: 1 })));
      // The same records, and other gradients.
      expect(other.index.digest).not.toBe(index.digest);
    }
    // Test records are all of them.
    const tested = await readAll(place, format, { part: 'test', seed: 1, split: byPosition, negatives }, 100);
    const zeros = ids(tested.good).filter((id) => rows[id]!.label === 0).length;
    expect(Math.abs(zeros / negative - 0.4)).toBeLessThan(0.03);
  },
);

test('seeds, files and sides decide the digest; tasks do not decide the records', async () => {
  const place = testPlace();
  write(place, 'csv', many(400));
  const of = (more: Partial<Selection>, recordsPerTask = 10) =>
    readAll(place, 'csv', { part: 'train', seed: 1, split: byPosition, ...more }, recordsPerTask);
  const first = await of({});
  const others = [await of({ seed: 2 }), await of({ part: 'test' }), await of({ split: { test: 0.3 } })];
  expect(new Set([first, ...others].map(({ index }) => index.digest)).size).toBe(4);
  expect(ids((await of({}, 33)).good)).toEqual(ids(first.good));
  expect(ids(others[0]!.good)).not.toEqual(ids(first.good));
  // Records at the same place of two files are decided each for itself.
  const inFile = (name: string): boolean[] =>
    Array.from({ length: 190 }, (_, at) => ids(first.good).includes(name === 'a' ? at : 200 + at));
  expect(inFile('a')).not.toEqual(inFile('b'));
});

test('statistics are those of the training records', async () => {
  const place = testPlace();
  write(place, 'csv', many(400));
  const { good, index } = await readAll(place, 'csv', { part: 'train', seed: 1, split: { fromMs: 5 * DAY_MS } });
  const [known] = index.statistics!;
  expect(known).toMatchObject({ name: 'id', present: good.length });
  expect(known!.mean).toBeCloseTo(ids(good).reduce((sum, id) => sum + id, 0) / good.length, 6);
});

test('a line that is too long, and left out, breaks no chunk', async () => {
  const place = testPlace();
  const long = 'x'.repeat(18 * 1024 * 1024);
  for (const format of ['csv', 'libsvm'] as const) {
    const line = (at: number): string => {
      const text = at === 20 ? long : 'u';
      return format === 'csv' ? `1,${at},${text},0\n` : `1 1:${at} #${text}\n`;
    };
    const head = format === 'csv' ? 'y,id,user,when\n' : '';
    writeFileSync(join(place.folder, 'a'), head + Array.from({ length: 40 }, (_, at) => line(at)).join(''));
    writeFileSync(join(place.folder, 'b'), `${head}${line(90)}`);
    const sides = await Promise.all(
      (['train', 'test'] as const).map((part) => readAll(place, format, { part, seed: 1, split: { test: 0.5 } }, 1000)),
    );
    const all = sides.flatMap(({ good }) => ids(good)).sort((a, b) => a - b);
    expect(all).toEqual([...Array.from({ length: 40 }, (_, at) => at).filter((at) => at !== 20), 90]);
    expect(sides.flatMap(({ bad }) => bad)).toHaveLength(1);
  }
});
