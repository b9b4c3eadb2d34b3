/** Files of JSON lines, indexed and read as trainers do: the records are those of CSV with the same values. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import { hash64, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { StatisticsBuilder } from '../../../../src/data/columns/statistics.ts';
import { buildIndex } from '../../../../src/data/index-builder.ts';
import { odditiesOf } from '../../../../src/data/oddities.ts';
import { CSV, category, cross, LABEL, list, number } from '../../columns/samples.ts';
import { count, type How, placeWith, readAll, recordsOf } from '../csv/read-files.ts';
import { contentOf, readForward } from '../forward-records.ts';

const COLUMNS: Column[] = [
  { name: 'label', type: 'label', positive: ['yes'], negative: ['no'] },
  number('x', { quantiles: 4 }),
  number('y', { normalize: 'standard' }),
  category('c'),
  category('i', { ids: 'integer' }),
  list('l', { maxLength: 3 }),
  { name: 'w', type: 'weight' },
  { name: 'g', type: 'group', ids: 'hash' },
  { name: 't', type: 'time', format: 'iso', zone: 'UTC' },
  cross('cc', ['c', 'x'], 50),
];
const SPEC: ColumnSpec = { columns: COLUMNS, dialect: { ...CSV, missing: ['', '?'] } };
/** The same, deep in objects. */
const DEEP: ColumnSpec = {
  ...SPEC,
  columns: COLUMNS.map((column) =>
    column.type === 'cross'
      ? column
      : { ...column, path: `${'xyl'.includes(column.name) ? 'in' : 'out.in'}.${column.name}` },
  ),
};

const NAMES = ['label', 'x', 'y', 'c', 'i', 'l', 'w', 'g', 't'] as const;
type Row = Readonly<Record<(typeof NAMES)[number], string>>;

const row = (at: number): Row => ({
  label: at % 3 === 0 ? 'yes' : 'no',
  x: at % 7 === 0 ? '?' : `${(at * 37) % 101}`,
  y: at % 5 === 0 ? '' : `${at / 8 - 3}`,
  c: ['Oslo', 'Zürich', '', 'São "Paulo"', 'a,b'][at % 5]!,
  i: at % 11 === 0 ? '' : `${BigInt(at) * 9_007_199_254_740_993n}`.slice(0, 18),
  l: ['', 'a', 'a|b', 'c|a|ü'][at % 4]!,
  w: `${(at % 4) / 2}`,
  g: `user ${at % 9}`,
  t: `2024-01-${String(1 + (at % 28)).padStart(2, '0')}`,
});
/** Bad in one value each. */
const BAD: Partial<Row>[] = [
  { label: 'maybe' },
  { x: 'many' },
  { i: '1.5' },
  { l: 'a|b|c|d' },
  { w: '-1' },
  { t: 'never' },
];
const ROWS = count(500).map(
  (at): Row => (at % 60 === 41 ? { ...row(at), ...BAD[Math.floor(at / 60) % BAD.length] } : row(at)),
);

const csvLine = (one: Row): string => NAMES.map((name) => `"${one[name].replaceAll('"', '""')}"`).join(',');
/** Numbers as such where JSON can say them, lists as arrays; what is empty is null, or is left out. */
function jsonOf(one: Row, at: number): Record<string, unknown> {
  const values = NAMES.map((name): [string, unknown] => {
    const text = one[name];
    if (text === '') return [name, at % 2 === 0 ? null : undefined];
    if (name === 'l') return [name, at % 3 === 0 ? text : text.split('|')];
    const isNumber = name !== 'i' && /^-?\d+(\.\d+)?$/.test(text) && at % 3 !== 1;
    return [name, isNumber ? Number(text) : text];
  });
  return Object.fromEntries(at % 2 === 0 ? values : values.reverse());
}
const nested = (flat: Record<string, unknown>): unknown => {
  const { x, y, l, ...out } = flat;
  return { out: { in: out, other: [1, { x: 2 }] }, in: { x, y, l } };
};
/** Whole numbers as such: no JSON writer of numbers as f64 could write them. */
const written = (value: unknown): string => JSON.stringify(value).replaceAll(/"i":"(-?\d+)"/g, '"i":$1');

const csv = `${NAMES.join(',')}\n${ROWS.map(csvLine).join('\n')}\n`;
const jsonl = ROWS.map((one, at) => written(jsonOf(one, at))).join('\n');

describe('the same records as of CSV', () => {
  test.each<[string, string | Buffer, How]>([
    ['flat', jsonl, { spec: SPEC }],
    ['nested', ROWS.map((one, at) => written(nested(jsonOf(one, at)))).join('\r\n'), { spec: DEEP }],
    ['in tasks that are cut anywhere', jsonl, { spec: SPEC, recordsPerTask: 37 }],
    ['with a mark, and packed', gzipSync(`\ufeff${jsonl}\n`), { spec: SPEC }],
  ])('%s', async (_, text, how) => {
    const place = placeWith({ 'a.csv': csv, 'a.jsonl': text });
    const common = { labels: { task: 'binary' }, recordsPerTask: 1000, ...how } as const;
    const expected = await recordsOf(place, { ...common, spec: SPEC });
    const got = await recordsOf(place, { ...common, what: 'a.jsonl', format: 'jsonl' });
    expect(got.bits).toEqual(expected.bits);
    expect(got.labels).toEqual(expected.labels);
    expect(got.index.statistics).toEqual(expected.index.statistics);
    // A header is a line of its own.
    const moved = expected.bad.map((bad) => bad.replace(/a\.csv:(\d+)/, (_all, line) => `a.jsonl:${Number(line) - 1}`));
    expect(got.bad).toEqual(moved);
    expect(got.bad).toHaveLength(8);
  });
});

const readLines = async (lines: string, columns: Column[], missing = ['']): Promise<unknown[]> => {
  const place = placeWith({ 'a.jsonl': lines });
  const spec = { columns: [LABEL, ...columns], dialect: { ...CSV, missing } };
  const { index } = await recordsOf(place, { what: 'a.jsonl', format: 'jsonl', spec });
  const [records] = await readAll(place, index, { format: 'jsonl', spec });
  return contentOf(records!);
};
const idOf = (name: string, text: string): string => `${hash64(Buffer.from(text), vocabularySeed(name))}:1`;

describe('values', () => {
  test('a category goes by its canonical text, whatever its type is', async () => {
    const values = [
      '"12"',
      '12',
      '12.0',
      '1.2e1',
      '9007199254740993',
      '"9007199254740993"',
      '1.50',
      'true',
      '"true"',
      '-0',
      '1e21',
    ];
    const texts = [
      '12',
      '12',
      '12',
      '12',
      '9007199254740993',
      '9007199254740993',
      '1.5',
      'true',
      'true',
      '0',
      '1000000000000000000000',
    ];
    const lines = values.map((value) => `{"label":0,"c":${value}}\n`).join('');
    expect(await readLines(lines, [category('c')])).toEqual(texts.map((text) => [idOf('c', text)]));
  });

  test('whole numbers above 2^53 are ids exactly, as numbers and as texts', async () => {
    const ids = ['9007199254740992', '9007199254740993', '18446744073709551615', '-1'];
    const lines = ids.flatMap((id) => [
      `{"label":0,"i":${id},"l":[${id}]}\n`,
      `{"label":0,"l":["${id}"],"i":"${id}"}\n`,
    ]);
    const read = await readLines(lines.join(''), [category('i', { ids: 'integer' }), list('l', { ids: 'integer' })]);
    const as64 = ids.map((id) => `${BigInt.asUintN(64, BigInt(id))}:1`);
    expect(read).toEqual(
      as64.flatMap((id) => [
        [id, id],
        [id, id],
      ]),
    );
  });

  test('escapes are read, in keys and in texts', async () => {
    const lines = '{"label":0,"\\u0063":"S\\u00e3o\\n\\"x\\""}\n{"l\\u0061bel":0,"c":"São\\u000a\\u0022x\\u0022"}\n';
    expect(await readLines(lines, [category('c')])).toEqual([[idOf('c', 'São\n"x"')], [idOf('c', 'São\n"x"')]]);
  });

  test('of a key that is there twice, the last one counts', async () => {
    expect(await readLines('{"label":0,"c":"a","c":"b"}\n', [category('c')])).toEqual([[idOf('c', 'b')]]);
  });

  test('a path leads into objects; a name with dots is one key', async () => {
    const columns = [
      category('id', { path: 'user.id' }),
      category('user.name'),
      category('day', { path: 'user.at.day' }),
    ];
    const missing = (name: string): string => `${hash64(Uint8Array.of(0xff), vocabularySeed(name))}:1`;
    const lines = '{"label":0,"user":{"id":7,"at":null,"name":"x"},"user.name":"y"}\n{"label":0,"user":null}\n';
    expect(await readLines(lines, columns)).toEqual([
      [idOf('id', '7'), idOf('user.name', 'y'), missing('day')],
      [missing('id'), missing('user.name'), missing('day')],
    ]);
  });

  test.each([
    ['{"label":0,"x":"1e"}', 'column x: "1e" is not a finite 32-bit number'],
    ['{"label":0,"x":1e400}', 'column x: "1e400" is not a finite 32-bit number'],
    ['{"label":0,"x":[1]}', 'column x: expected a number, got an array'],
    ['{"label":0,"c":{"a":1}}', 'column c: expected one value, got an object'],
    ['{"label":0,"l":[1,[2]]}', 'column l: an array in the array'],
    ['{"label":0,"l":{}}', 'column l: expected an array or a text, got an object'],
    ['{"label":0,"o":5}', 'column p: expected an object at o, got a number'],
    ['{"c":1}', 'column label: the label has no value'],
    ['[1]', 'expected an object, got an array'],
    ['"x"', 'expected an object, got a text'],
    ['{"label":0,"c":1e400}', 'column c: expected one value, got 1e400, which a 64-bit float cannot represent,'],
    ['{"label":0,"l":["\\ud800"]}', 'column l: a text with an incomplete character in the array'],
    ['{"label":0,"l":["a","b","c","d","e"]}', 'column l: 5 values, more than 3 (maxLength)'],
    ['{"label":0', expect.stringMatching(/^not valid JSON/)],
    ['{"label":0}{}', 'not valid JSON at character 12'],
    ['{"a":NaN,"b":-Infinity,"c":"NaN\\"Infinity","label":0}{}', 'not valid JSON at character 54'],
    [`{"label":0,"c":${'['.repeat(513)}${']'.repeat(513)}}`, 'more than 512 nested objects and arrays'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'text that is not UTF-8'],
  ])('bad: %j', async (line, reason) => {
    const good = '{"label":1,"x":2}\n';
    const place = placeWith({ 'a.jsonl': Buffer.concat([good, line, `\n${good}`].map((part) => Buffer.from(part))) });
    const columns = [LABEL, number('x'), category('c'), list('l', { maxLength: 3 }), category('p', { path: 'o.p' })];
    const spec = { columns, dialect: CSV };
    const { index } = await recordsOf(place, { what: 'a.jsonl', format: 'jsonl', spec });
    const [records] = await readAll(place, index, { format: 'jsonl', spec });
    expect(records!.bad).toMatchObject([{ file: 'a.jsonl', line: 2, byteOffset: good.length, reason }]);
    expect([...records!.batch(0, 3).labels]).toEqual([1, 1]);
  });

  test('truth is 1 where a number is wanted, unless it means that there is none', async () => {
    const lines = '{"label":true,"x":true,"w":false}\n{"label":false,"x":false,"w":true}\n';
    const place = placeWith({ 'a.jsonl': lines });
    const columns: Column[] = [LABEL, number('x'), { name: 'w', type: 'weight' }];
    const spec = { columns, dialect: CSV };
    const { index } = await recordsOf(place, { what: 'a.jsonl', format: 'jsonl', spec });
    const [records] = await readAll(place, index, { format: 'jsonl', spec });
    const { labels, weights, sparse } = records!.batch(0, 2);
    expect([[...labels], [...weights!], [...sparse[0]!.values!]]).toEqual([
      [1, 0],
      [0, 1],
      [1, 0],
    ]);
    const none = await readLines(
      '{"label":0,"x":true}\n{"label":0,"x":1}\n',
      [number('x', { missing: 'zero' })],
      ['true'],
    );
    expect(none).toEqual([[expect.stringMatching(/:0$/)], [expect.stringMatching(/:1$/)]]);
  });
});

test('a first line that is cut off is a bad record', async () => {
  const place = placeWith({ 'a.jsonl': '{"label":1,\n{"label":2}\n{"label":3}\n' });
  const spec = { columns: [LABEL, number('x')], dialect: CSV };
  const { labels, bad } = await recordsOf(place, { what: 'a.jsonl', format: 'jsonl', spec });
  expect([labels, bad]).toEqual([[2, 3], ['a.jsonl:1: not valid JSON at character 12']]);
});

test('a column of which no record has a value is told of', async () => {
  const place = placeWith({ 'a.jsonl': '{"label":1,"x":1,"c":null,"l":[]}\n{"label":2}\n' });
  const columns = [LABEL, number('x'), number('y'), category('c'), list('l'), category('i', { ids: 'integer' })];
  const request = { what: 'a.jsonl', format: 'jsonl', recordsPerTask: 10, columns: { columns, dialect: CSV } } as const;
  const { traits } = await buildIndex(place, request);
  expect(traits).toMatchObject({ absentColumns: ['y', 'c', 'l', 'i'], completeColumns: [], absentIn: [] });
  expect(odditiesOf([traits]).map(({ message }) => message)).toEqual(['no record has a value for columns y, c, l, i']);
});

describe('what is no file of JSON lines', () => {
  test.each([
    ['[{"label":1}]\n', /is one JSON array, not an object on each line/, "jq -c '.[]'"],
    ['{\n  "label": 1\n}\n', /is JSON with records over several lines/, 'jq -c .'],
    ['{"a": [\n1]}\n', /is JSON with records over several lines/, 'jq -c .'],
    ['[1,2]\n[3,4]\n', /has an array on each line/, 'jq -c'],
    ['{"a": 1, "b": [1],\n"c": 1}\n', /is JSON with records over several lines/, 'jq -c .'],
    [Buffer.from('\ufeff{"label":1}\n', 'utf16le'), /UTF-16/, 'iconv'],
    [Buffer.from('\0\x01\x02'), /a binary file/, 'data.format'],
  ])('%j', async (text, message, hint) => {
    const place = placeWith({ 'a.jsonl': text });
    const spec = { columns: [LABEL, number('x')], dialect: CSV };
    const reading = recordsOf(place, { what: 'a.jsonl', format: 'jsonl', spec });
    await expect(reading).rejects.toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringContaining(hint),
    });
  });
});

test('forwards, with values that are kept', async () => {
  const columns = {
    ...SPEC,
    columns: [LABEL, number('x'), category('c', { path: 'in.c' })],
    input: 'sparse' as const,
    statistics: new StatisticsBuilder({ numbers: [number('x')] }).finish(),
  };
  const lines = [
    '{"x":1,"in":{"c":"a","id":9007199254740993},"l":[1,"b"],"s":"a\\"ü"}',
    '{"x":"no","in":{"id":2.50},"s":null}',
    'none',
    '',
    '{"in":{"c":true,"id":false}}',
  ];
  const keep = ['c', 'in.id', 'l', 's'];
  const whole = await readForward('jsonl', lines.join('\n'), { columns, keep });
  expect(whole.kept).toEqual(keep);
  const latin1 = (text: string): string => Buffer.from(text).toString('latin1');
  expect(whole.texts).toEqual([
    ['a', '9007199254740993', '[1,"b"]', latin1('a"ü')],
    ['', '2.50', '', ''],
    ['', '', '', ''],
    ['true', 'false', '', ''],
  ]);
  expect(whole.records).toEqual([
    [expect.stringMatching(/:1$/), idOf('c', 'a')],
    expect.objectContaining({ line: 2, reason: 'column x: "no" is not a finite 32-bit number' }),
    expect.objectContaining({ line: 3, reason: 'no JSON' }),
    [expect.any(String), expect.any(String), idOf('c', 'true')],
  ]);
  for (const sliceBytes of [1, 7, 40]) {
    const cut = await readForward('jsonl', lines.join('\n'), { columns, keep, sliceBytes });
    expect({ ...cut, groups: [] }).toEqual({ ...whole, groups: [] });
  }
});
