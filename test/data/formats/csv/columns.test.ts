/** What becomes of the columns of files: folders, weights, groups, labels, dense rows, the index and the cache. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import { categoryId, hash64, missingId, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { csvFormat } from '../../../../src/data/formats/csv/format.ts';
import { loadOrBuildIndex } from '../../../../src/data/index-file.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import { parseJobFile } from '../../../../src/job/load-job.ts';
import { columnSpecOf, parseJob } from '../../../../src/job/schema.ts';
import { settleRecords } from '../../../../src/job/settle-records.ts';
import { NO_GROUP } from '../../../../src/model/model.ts';
import { CSV, category, cross, idsOf, LABEL, list, number } from '../../columns/samples.ts';
import { shown } from '../../parsed/compare.ts';
import type { TestPlace } from '../../place.ts';
import { Records } from './both-forms.ts';
import { bitsOfAll, type How, indexOf, placeWith, readAll, recordsOf, rows, SPEC, write } from './read-files.ts';

const spec = (columns: readonly Column[], dialect = {}): ColumnSpec => ({ columns, dialect: { ...CSV, ...dialect } });
const idOf = (text: string, name: string): bigint => categoryId(Buffer.from(text), vocabularySeed(name));

async function batchOf(place: TestPlace, how: How) {
  const [task] = await readAll(place, await indexOf(place, how), how);
  return task!.batch(0, task!.records);
}

const groupsOf = (groups: Uint8Array | undefined): bigint[] => idsOf(new Uint32Array(Uint8Array.from(groups!).buffer));

/** The ids of the features of all records, in order. */
async function featuresOf(place: TestPlace, how: How): Promise<bigint[]> {
  const [input] = (await batchOf(place, how)).sparse;
  const ids = idsOf(new Uint32Array(Uint8Array.from(input!.ids).buffer));
  return [...input!.rows].map((row) => ids[row]!);
}

describe('columns in folders', () => {
  const columns = [LABEL, category('dt', { from: 'folder' })];

  test('have the value of the path of each file, escaped as in URLs', async () => {
    const place = placeWith({
      'dt=2024-01-01/part.csv': 'label\n1\n',
      'dt=a%20b/dt=c%2Fd%20e/part.csv': 'label\n2\n',
      'x/dt=100%/part.csv': 'label\n3\n',
    });
    const what = ['dt=2024-01-01', 'dt=a%20b', 'x'];
    expect(await featuresOf(place, { spec: spec(columns), what })).toEqual(
      ['2024-01-01', 'c/d e', '100%'].map((text) => idOf(text, 'dt')),
    );
  });

  test('of which a path has none are refused', async () => {
    const place = placeWith({ 'dt=1/a.csv': 'label\n1\n', 'xdt=1/b.csv': 'label\n1\n', 'dt=2.csv': 'label\n1\n' });
    for (const what of ['xdt=1', 'dt=2.csv']) {
      await expect(indexOf(place, { spec: spec(columns), what })).rejects.toMatchObject({
        code: 'DataInvalid',
        message: expect.stringMatching(/^no folder in .*csv is named dt=…$/),
      });
    }
  });

  test('may be numbers, and bad ones make bad records', async () => {
    const place = placeWith({ 'n=2.5/a.csv': 'label\n1\n', 'n=b/b.csv': 'label\n1\n2\n', 'n=/c.csv': 'label\n7\n' });
    const how = { spec: spec([LABEL, number('n', { from: 'folder', missing: 'zero' })]), what: ['n=2.5', 'n=b', 'n='] };
    const { bad, labels, index } = await recordsOf(place, how);
    expect(labels).toEqual([7, 1]);
    const reason = 'column n: "b" is not a finite 32-bit number, in the path of the file';
    expect(bad).toEqual([`n=b/b.csv:2: ${reason}`, `n=b/b.csv:3: ${reason}`]);
    expect(index.statistics).toMatchObject([{ present: 1, missing: 1, mean: 2.5 }]);
  });

  test('may be lists with more values than a line has bytes', async () => {
    const how = {
      spec: spec([LABEL, list('tags', { from: 'folder' }), category('i', { ids: 'integer', from: 'folder' })]),
      what: 'i=7',
    };
    const place = placeWith({ 'i=7/tags=a|b|c|d|e|f/x.csv': 'label\n1\n2\n' });
    const expected = [...['a', 'b', 'c', 'd', 'e', 'f'].map((text) => idOf(text, 'tags')), 7n];
    expect(await featuresOf(place, how)).toEqual([...expected, ...expected]);
    const bytes = Buffer.from('label\n1\n2\n');
    const head = { file: 'i=7/tags=a|b|c|d|e|f/x.csv', bytes, isWhole: true };
    const records = new Records(9, 9, 2);
    csvFormat.readHead!(head, { task: 'regression' }, how.spec, records);
    expect(records.records).toHaveLength(2);
  });
});

describe('columns of each type', () => {
  test('categories, lists and missing ones', async () => {
    const columns = [LABEL, category('c'), list('l', { separator: ';' }), category('i', { ids: 'integer' })];
    const place = placeWith({ 'a.csv': 'label,c,l,i\n1," b ",a; b;;,-1\n2,?,?,?\n3,a,a,+07\n4,,,x\n' });
    const how = { spec: spec(columns, { missing: ['?'] }) };
    expect(await featuresOf(place, how)).toEqual([
      ...[idOf(' b ', 'c'), idOf('a', 'l'), idOf('b', 'l'), 2n ** 64n - 1n],
      ...[missingId(vocabularySeed('c'))],
      ...[idOf('a', 'c'), idOf('a', 'l'), 7n],
    ]);
    expect((await recordsOf(place, how)).bad).toEqual([
      'a.csv:5: column i: "x" is not a whole number from -2^63 to 2^64-1',
    ]);
  });

  test('lists with too many values are bad', async () => {
    const place = placeWith({ 'a.csv': 'label,l\n1,a|b\n2,a|b|c\n3,\n' });
    const { labels, bad } = await recordsOf(place, { spec: spec([LABEL, list('l', { maxLength: 2 })]) });
    expect([labels, bad]).toEqual([[1, 3], ['a.csv:3: column l: 3 values, more than 2 (maxLength)']]);
  });

  test('many lists without separators take no quadratic time', async () => {
    const place = placeWith({ 'a.csv': `label,l\n${rows(0, 100_000, (at) => `1,a${at}\n`)}` });
    expect((await indexOf(place, { spec: spec([LABEL, list('l')]) })).records).toBe(100_000);
  });

  test('numbers with a comma, and a number of a million digits', async () => {
    const how = { spec: spec([LABEL, number('x')], { decimal: ',', delimiter: ';' }) };
    const place = placeWith({ 'a.csv': `label;x\n1,5;-2,25\n2;1.5\n3;1,2,3\n4;${'1'.repeat(1_000_000)}x\n5;\n` });
    const { labels, bad } = await recordsOf(place, how);
    expect(labels).toEqual([1.5, 5]);
    expect(bad.map((text) => text.slice(0, 8))).toEqual(['a.csv:3:', 'a.csv:4:', 'a.csv:5:']);
  });

  test('weights and groups', async () => {
    const columns: Column[] = [
      LABEL,
      { name: 'w', type: 'weight' },
      { name: 'g', type: 'group', ids: 'hash' },
      number('x'),
    ];
    const place = placeWith({ 'a.csv': 'g,w,x,label\nu1,0.5,1,1\n,2,1,2\nu1,,1,3\nu1,-1,1,4\nu2,0,1,5\n' });
    const u = (text: string): bigint => hash64(Buffer.from(text), vocabularySeed('g'));
    for (const input of ['sparse', 'dense'] as const) {
      const { labels, weights, groups } = await batchOf(place, { spec: spec(columns), input });
      expect([...labels]).toEqual([1, 2, 5]);
      expect([...weights!]).toEqual([0.5, 2, 0]);
      expect(groupsOf(groups)).toEqual([u('u1'), NO_GROUP, u('u2')]);
    }
    const whole = columns.map((column) => (column.type === 'group' ? { ...column, ids: 'integer' as const } : column));
    const numbered = placeWith({ 'a.csv': `g,w,x,label\n7,1,1,1\n,1,1,2\n${2n ** 64n - 1n},1,1,3\n-1,1,1,4\n` });
    expect(groupsOf((await batchOf(numbered, { spec: spec(whole) })).groups)).toEqual([7n, NO_GROUP]);
  });

  test('labels as texts', async () => {
    const two = (more: object): Column => ({ name: 'label', type: 'label', ...more });
    const place = placeWith({ 'a.csv': 'label,x\nyes,1\n"no",1\nmaybe,1\n,1\n' });
    const of = async (more: object) => {
      const { labels, bad, index } = await recordsOf(place, { spec: spec([two(more), number('x')]) });
      return { labels, bad: bad.map((text) => text.replaceAll('column label: ', '')), bound: index.labelBound };
    };
    const none = 'a.csv:5: the label has no value';
    expect(await of({ positive: ['yes'] })).toEqual({ labels: [1, 0, 0], bad: [none], bound: 2 });
    const other = 'a.csv:4: label "maybe" is not one of ';
    expect(await of({ positive: ['yes'], negative: ['no'] })).toMatchObject({
      labels: [1, 0],
      bad: [`${other}"yes", "no"`, none],
    });
    expect(await of({ classes: ['no', 'yes', 'x'] })).toEqual({
      labels: [1, 0],
      bad: [`${other}"no", "yes", "x"`, none],
      bound: 3,
    });
  });

  test('dense rows of good records, with statistics of the training data', async () => {
    const columns = [number('a', { normalize: 'standard' }), LABEL, number('b')];
    const place = placeWith({ 'a.csv': 'label,a,b\n1,1,\n2,x,2\n3,3,4\n', 'b.csv': 'label,b,a\n4,6,5\n' });
    const { dense, sparse, labels } = await batchOf(place, { spec: spec(columns), input: 'dense' });
    const scale = Math.sqrt(8 / 3);
    expect(sparse).toEqual([]);
    expect([...labels]).toEqual([1, 3, 4]);
    expect(dense[0]!.width).toBe(3);
    expect([...dense[0]!.values]).toEqual([-2 / scale, 5, 1, 0, 4, 0, 2 / scale, 6, 0].map(Math.fround));
  });
});

/** With all kinds of columns, bad records and comments. */
const WIDE = spec([
  number('x', { normalize: 'standard' }),
  number('q', { quantiles: 3 }),
  LABEL,
  category('c'),
  list('l'),
  cross('qc', ['q', 'c'], 50),
]);
const WIDE_TEXT = `label,c,x,q,l\n${rows(0, 60, (at) =>
  at % 13 === 5
    ? `${at},bad\n`
    : `${at},"c${at % 4}",${at % 6 === 1 ? '' : at / 7},${at},${at % 3 ? `a|b${at % 5}` : ''}\n\n`,
)}`;
const wide = () => placeWith({ 'a.csv': WIDE_TEXT, 'b.csv': WIDE_TEXT });

describe('the cache of parsed tasks', () => {
  test('gives the bits of tasks that are parsed', async () => {
    const place = wide();
    const how = { spec: WIDE, recordsPerTask: 25 };
    const index = await indexOf(place, how);
    const bits = async (more: How) => (await readAll(place, index, { ...how, ...more })).map((task) => shown(task, 7));
    const plain = await bits({});
    expect(await bits({ cache: new ParsedCache(place, { bytes: 2 ** 30 }) })).toEqual(plain);
    expect(readdirSync(join(place.cacheFolder, 'parsed'))).toHaveLength(5);
    expect(await bits({ cache: new ParsedCache(place, { bytes: 2 ** 30 }) })).toEqual(plain);
    expect(place.warnings).toEqual([]);
  });

  test('keeps nothing for other columns, dialects or statistics', async () => {
    const place = wide();
    const index = await indexOf(place, { spec: WIDE });
    const cache = () => new ParsedCache(place, { bytes: 2 ** 30 });
    await readAll(place, index, { spec: WIDE, cache: cache() });
    const others: [ColumnSpec, typeof index][] = [
      [
        { ...WIDE, columns: WIDE.columns.map((of) => (of.type === 'category' ? { ...of, vocabulary: 'other' } : of)) },
        index,
      ],
      [{ ...WIDE, dialect: { ...CSV, missing: ['', 'c1'] } }, index],
      [WIDE, { ...index, statistics: index.statistics!.map((of) => ({ ...of, mean: 1 })) }],
    ];
    for (const [other, known] of others) {
      const plain = await readAll(place, known, { spec: other });
      const kept = await readAll(place, known, { spec: other, cache: cache() });
      expect(bitsOfAll(kept)).toEqual(bitsOfAll(plain));
    }
  });
});

describe('the index', () => {
  test('has the same digest everywhere, and another one for other columns, dialects and headers', async () => {
    const digestOf = async (how: How, text = WIDE_TEXT) =>
      (await indexOf(placeWith({ 'a.csv': text }), { spec: WIDE, ...how })).digest;
    const first = await digestOf({});
    expect(await digestOf({})).toBe(first);
    const others = [
      await digestOf({ spec: { ...WIDE, columns: WIDE.columns.slice(0, 5) } }),
      await digestOf({ spec: { ...WIDE, dialect: { ...CSV, comment: '#' } } }),
      await digestOf({ recordsPerTask: 20 }),
      await digestOf({}, WIDE_TEXT.replace('x,q', 'q,x')),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  test('has the same digest for a job file and for the job in the store', async () => {
    const job = parseJobFile(
      'a.yaml',
      'name: a\nmodel: { type: lr }\ndata:\n  format: csv\n  train: a.csv\n  columns:\n    label: label\n    x: number\n    c: { type: category, buckets: 9 }\n    b: { cross: [c, c] }\n',
    );
    const stored = parseJob(JSON.parse(JSON.stringify(settleRecords(job, 10))));
    const place = placeWith({ 'a.csv': 'label,x,c\n1,1,1\n' });
    const [one, other] = [
      await indexOf(place, { spec: columnSpecOf(job)! }),
      await indexOf(place, { spec: columnSpecOf(stored)! }),
    ];
    expect(other.digest).toBe(one.digest);
  });

  test('is kept with its statistics, and rebuilt after a change of the data or the columns', async () => {
    const place = wide();
    const load = (columns: ColumnSpec) =>
      loadOrBuildIndex(place, { what: '*.csv', format: 'csv', columns, recordsPerTask: 10 });
    const built = await load(WIDE);
    expect(built.statistics).toMatchObject([
      { name: 'x' },
      { name: 'q', bounds: [expect.any(Number), expect.any(Number)] },
    ]);
    const folder = join(place.cacheFolder, 'index');
    const [name = ''] = readdirSync(folder);
    const kept = readFileSync(join(folder, name), 'utf8');
    expect(kept).toContain('"statistics"');
    expect(await load(WIDE)).toEqual(built);
    writeFileSync(join(folder, name), kept.replace('"mean":', '"mean":1'));
    expect(await load(WIDE)).toEqual(built);
    expect(place.warnings).toHaveLength(1);
    expect((await load({ ...WIDE, columns: WIDE.columns.slice(1) })).statistics).toHaveLength(1);
    write(place, 'b.csv', `${WIDE_TEXT}61,c,1000,1000,\n`);
    const later = await load(WIDE);
    expect(later.records).toBe(built.records + 1);
    expect(later.statistics![0]!.max).toBe(1000);
    expect(later.digest).not.toBe(built.digest);
  });

  test('has the same statistics however the records are divided into files', async () => {
    const text = (from: number, to: number) =>
      `label,x\n${rows(from, to, (at) => `1,${at % 9 ? Math.fround(Math.sin(at)) : ''}\n`)}`;
    const one = await indexOf(placeWith({ 'a.csv': text(0, 9000) }));
    const two = await indexOf(
      placeWith({ 'a.csv': text(0, 123), 'b.csv': text(123, 5000), 'c.csv': text(5000, 9000) }),
    );
    expect(two.statistics).toEqual(one.statistics);
    expect(one.statistics![0]).toMatchObject({ present: 8000, missing: 1000 });
    expect(SPEC.columns).toHaveLength(2);
  });
});

describe('layouts come over the wire', () => {
  test.each([
    ['a column without a field', { fields: 5, positions: [-1, 1, 2, 3, 4] }],
    ['a field behind the last one', { fields: 5, positions: [5, 1, 2, 3, 4] }],
    ['two columns in one field', { fields: 5, positions: [1, 1, 2, 3, 4] }],
    ['a column too few', { fields: 5, positions: [0, 1, 2, 3] }],
  ])('%s is refused', async (_, layout) => {
    const place = wide();
    const index = await indexOf(place, { spec: WIDE });
    expect(index.files[0]!.layout).toMatchObject({ fields: 5 });
    const files = index.files.map((file) => ({ ...file, layout }));
    await expect(readAll(place, { ...index, files }, { spec: WIDE })).rejects.toMatchObject({ code: 'DataChanged' });
  });
});
