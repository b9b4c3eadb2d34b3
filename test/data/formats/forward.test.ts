/** Records read forwards: wherever slices are cut, they are those that a trainer reads of the same text. */
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import type { ColumnSpec } from '../../../src/data/columns/column.ts';
import { slotsOf } from '../../../src/data/columns/column.ts';
import { StatisticsBuilder } from '../../../src/data/columns/statistics.ts';
import type { ReadColumns } from '../../../src/data/formats/format.ts';
import * as fc from '../../properties.ts';
import { CSV, category, LABEL, list, number } from '../columns/samples.ts';
import { indexOf, placeWith, readAll } from './csv/read-files.ts';
import { contentOf, readForward } from './forward-records.ts';

const COLUMNS: ColumnSpec['columns'] = [
  LABEL,
  number('x', { normalize: 'none' }),
  category('c'),
  list('l'),
  { name: 'w', type: 'weight' },
  { name: 't', type: 'time', format: 'iso', zone: 'UTC' },
];

const columnsOf = (spec: ColumnSpec, input: 'sparse' | 'dense' = 'sparse'): ReadColumns => ({
  ...spec,
  input,
  statistics: new StatisticsBuilder(slotsOf(spec.columns)).finish(),
});

const WITH_HEADER = columnsOf({ columns: COLUMNS, dialect: CSV });
const HEADER = 'c,label,x,id,l,w,t\n';
const LINES = [
  'a,1,0.5,7,p|q,1,2024-01-01\n',
  '"b ""x"", y",0,-3,"8\nnine",p,2,2024-01-02T03:04\r\n',
  'c,1,much,9,,1,2024-01-01\n',
  'd,,1,10,q,,\n',
  ' e ,no,1e3,11,q|p|q,-1,never\n',
  'f,1,2\n',
  '"g"g,1,2,12,p,1,2024-01-01\n',
  '\n',
];

const anyLines = (lines: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...lines), { maxLength: 12 }).map((all) => all.join(''));
const anySlice = fc.integer({ min: 1, max: 60 });

test('csv: slices cut anywhere give the same records, texts and places', async () => {
  await fc.assert(
    fc.asyncProperty(anyLines(LINES), anySlice, fc.boolean(), async (text, sliceBytes, isEnded) => {
      const file = HEADER + (isEnded ? text : text.trimEnd());
      const how = { columns: WITH_HEADER, keep: ['id', 'c'] };
      const whole = await readForward('csv', file, how);
      const cut = await readForward('csv', file, { ...how, sliceBytes });
      expect({ ...cut, groups: [] }).toEqual({ ...whole, groups: [] });
    }),
    { numRuns: 60 },
  );
});

test('libsvm: the same', async () => {
  const lines = [
    '1 3:1 7:0.5\n',
    '-1 qid:4 18446744073709551615:2\n',
    '# none\n',
    '0 1:x\n',
    'x 2:1\n',
    '2.5 4:1\n',
    '\n',
  ];
  await fc.assert(
    fc.asyncProperty(anyLines(lines), anySlice, fc.boolean(), async (text, sliceBytes, isMarked) => {
      const file = `${isMarked ? '\ufeff' : ''}${text}1 5:1`;
      const whole = await readForward('libsvm', file);
      const cut = await readForward('libsvm', file, { sliceBytes });
      expect(cut.records).toEqual(whole.records);
      expect(whole.records.at(-1)).toEqual(['5:1']);
    }),
    { numRuns: 60 },
  );
});

test('csv: good records are those that a trainer reads, groups have no more than wanted', async () => {
  const lines = LINES.slice(0, 2);
  const text = HEADER + Array.from({ length: 9 }, (_, at) => lines[at % 2]).join('');
  const place = placeWith({ 'a.csv': text });
  const spec = { columns: COLUMNS, dialect: CSV };
  const [task] = await readAll(place, await indexOf(place, { spec }), { spec });
  const { records, groups, texts } = await readForward('csv', text, { columns: WITH_HEADER, keep: ['4'] });
  expect(records).toEqual(contentOf(task!));
  expect(groups).toEqual([5, 4]);
  expect(texts.slice(0, 2)).toEqual([['7'], ['8\nnine']]);
});

test('csv: what only training needs may be wrong or missing; the rest makes a record bad', async () => {
  const { records } = await readForward('csv', HEADER + LINES.join(''), { columns: WITH_HEADER });
  expect(records).toHaveLength(7);
  expect(records.map((one) => (Array.isArray(one) ? 'good' : (one as { reason: string }).reason))).toEqual([
    ...['good', 'good', expect.stringContaining('column x: "much"'), 'good', 'good'],
    ...['3 fields, expected 7', expect.stringContaining('text follows a closing quote')],
  ]);
  const { records: without } = await readForward('csv', 'l,x,c\np|q,0.5,a\n', { columns: WITH_HEADER });
  expect(without).toEqual(records.slice(0, 1));
});

const PLACED = columnsOf({
  columns: [
    { name: 'label', type: 'label', position: 2 },
    number('x', { normalize: 'none', position: 1 }),
    category('c', { position: 4 }),
    { name: 'w', type: 'weight', position: 3 },
  ],
  dialect: { ...CSV, header: false },
});

test('csv without a header: the field of the label is missing, the others close up', async () => {
  const how = { columns: PLACED, fields: 4, keep: ['c', '2'] };
  const all = await readForward('csv', '0.5,1,2,a\n', how);
  const without = await readForward('csv', '0.5,2,a\n', how);
  expect(without.records).toEqual(all.records);
  expect([all.kept, all.texts]).toEqual([['c', 'label'], [['a', '1']]]);
  expect([without.kept, without.texts]).toEqual([['c', 'w'], [['a', '2']]]);
  await expect(readForward('csv', '0.5,a\n', how)).rejects.toMatchObject({
    code: 'DataInvalid',
    message: 'expected 4 fields per line in in, as in the files of the job, got 2',
  });
});

test('csv: columns to keep that are missing, or there twice', async () => {
  const keep = (...names: string[]) => readForward('csv', 'x,c,l,x\n1,a,p,2\n', { columns: WITH_HEADER, keep: names });
  await expect(keep('id')).rejects.toThrow('in:1: the header has x twice');
  const spec = columnsOf({ columns: [category('c')], dialect: CSV });
  const kept = (...names: string[]) => readForward('csv', 'x,c,l,x\n1,a,p,2\n', { columns: spec, keep: names });
  await expect(kept('x')).rejects.toMatchObject({ hint: expect.stringContaining('such as 1') });
  await expect(kept('5')).rejects.toThrow('does not have the column 5 to keep');
  expect(await kept('4', 'c')).toMatchObject({ kept: ['x', 'c'], texts: [['2', 'a']] });
  expect(await readForward('csv', '', { columns: spec, keep: ['z'] })).toMatchObject({ kept: ['z'], records: [] });
});

test('csv: rows of numbers, a value in the path, a quote that is not closed', async () => {
  const dense = columnsOf({ columns: [LABEL, number('x', { normalize: 'none' })], dialect: CSV }, 'dense');
  expect((await readForward('csv', 'x\n1\n2\n', { columns: dense })).records).toEqual([[1], [2]]);
  const day = columnsOf({ columns: [category('day', { from: 'folder' })], dialect: CSV });
  const [inPath] = (await readForward('csv', 'x\n1\n', { columns: day, file: 'day=2/a.csv' })).records as string[][];
  expect(inPath).toHaveLength(1);
  await expect(readForward('csv', 'x\n1\n', { columns: day })).rejects.toThrow('no folder in in is named day=');
  await expect(readForward('csv', 'x\n1\n"2\n', { columns: dense, sliceBytes: 2 })).rejects.toThrow(
    'in:3:1: this quote is not closed',
  );
});

test.each(['csv', 'libsvm'] as const)(
  '%s: a line that is too long is a bad record, and what follows it is read',
  async (format) => {
    const columns = columnsOf({ columns: [number('x', { normalize: 'none' })], dialect: CSV });
    const [first, next] = format === 'csv' ? ['x\n1\n', '2\n'] : ['1 1:1\n', '1 2:1\n'];
    const bytes = Buffer.concat([
      Buffer.from(first),
      Buffer.alloc(LIMITS.recordBytes + 64, '1'),
      Buffer.from(`\n${next}`),
    ]);
    const how = format === 'csv' ? { columns, keep: ['x'] } : {};
    const { records, texts } = await readForward(format, bytes, { ...how, sliceBytes: LIMITS.recordBytes + 32 });
    // With its line break, or without.
    const [line, length] = [format === 'csv' ? 3 : 2, 65];
    const reason = expect.stringContaining(`got ${LIMITS.recordBytes + length}`);
    expect(records).toEqual([expect.any(Array), { line, byteOffset: first.length, reason }, expect.any(Array)]);
    if (format === 'csv') expect(texts).toEqual([['1'], [''], ['2']]);
  },
);

test('idx: images without their labels', async () => {
  const header = [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2];
  const file = Uint8Array.of(...header, 0, 255, 51, 0, 0, 0);
  const { records, groups } = await readForward('idx', file, { inputWidth: 2, sliceBytes: 4 });
  expect(records).toEqual([
    [0, 255],
    [51, 0],
    [0, 0],
  ]);
  expect(groups).toEqual([2, 1]);
  const refused = (bytes: Uint8Array, inputWidth = 2) => readForward('idx', bytes, { inputWidth });
  await expect(refused(file, 3)).rejects.toThrow('expected 3 inputs per record in in, as the model expects, got 2');
  await expect(refused(file.subarray(0, 21))).rejects.toThrow('in ends before its 3 images');
  await expect(refused(Uint8Array.of(...file, 1))).rejects.toThrow('in has more bytes after its 3 images');
  await expect(refused(Uint8Array.of(0, 0, 8, 1, 0, 0, 0, 0))).rejects.toThrow('in contains labels, not images');
});
