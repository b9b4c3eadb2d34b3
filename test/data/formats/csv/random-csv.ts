/** Random columns, and text that mostly fits them. */
import type { FieldColumn } from '../../../../src/data/columns/column.ts';
import { fieldColumns } from '../../../../src/data/columns/layout.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import * as fc from '../../../properties.ts';
import { csvPlan } from './both-forms.ts';

/** Draws a value. */
export type Draw = fc.GeneratorValue;

const LONG = 'long '.repeat(14).trim();

const NUMBERS = ['0', '1', '-1', '7', '42', '-3', '0.5', '-12.25', '123456', '1e3', '+7', '-0', '.5', '5.', '3.4e38'];
const TEXTS = ['a', 'red', 'Häuser', '05db9164', 'x y', LONG, `${LONG} and more`, '1', '-5', 'b"c', '\u0000'];
const WHOLES = ['0', '1', '9', '42', '-1', '123456789012345678', '-77'];
const HOSTILE = [
  [
    '"a""b"',
    '""""',
    '"""',
    '"a\nb"',
    '"a\r\n\n"',
    '"a"x',
    '"a" x "b"',
    '"open',
    '"',
    '""',
    '" "',
    '" 5 "',
    ' "q"\t',
    'a"b',
  ],
  [
    '',
    ' ',
    '\t',
    '\r',
    'NA',
    'null',
    '?',
    '#',
    '#a',
    'nan',
    'inf',
    '-',
    '+',
    '.',
    'e5',
    '1e',
    '1e999',
    '-1e-60',
    '1e-30',
  ],
  [
    '12345678901234567890',
    '18446744073709551615',
    '18446744073709551616',
    '-9223372036854775808',
    '-9223372036854775809',
  ],
  [
    '1234567890123456789',
    '007',
    '00',
    '-0',
    '+5',
    '+',
    '- 5',
    '1.5',
    '1,5',
    '1.500,5',
    '1|2|3',
    '1;2',
    '|',
    ' 1 | 2 | x ',
  ],
  [
    '0.1234567890123456789',
    '16777217',
    '16777217.0000001',
    '1.00000005960464477539',
    '\u00a0',
    '\u00ff',
    '٣',
    "'1'",
    "'",
  ],
].flat();

const TIMES = [
  '2024-02-29',
  '1969-12-31T23:59',
  '2024-10-27 02:30:00',
  '2024-01-02T03:04:05.678901+05:45',
  '0',
  '-1.5',
  '1704164645.25',
  '29.02.2024 13:07',
];

const ID = { ids: 'integer' } as const;
const HASH = { ids: 'hash' } as const;

function columnOf(g: Draw, name: string): FieldColumn {
  const folder = g(fc.integer, { min: 0, max: 9 }) === 0 ? ({ from: 'folder' } as const) : {};
  const buckets = g(fc.constantFrom, undefined, undefined, 1, 10, 5_000_000_000);
  const vocabulary = g(fc.constantFrom, undefined, undefined, 'shared');
  const separator = g(fc.constantFrom, '|', ';', ' ', ',');
  const maxLength = g(fc.constantFrom, undefined, 1, 2, 5, 1e12);
  const base = { name, ...folder };
  switch (g(fc.integer, { min: 0, max: 5 })) {
    case 0:
      return { ...base, type: 'number', normalize: 'none', missing: g(fc.constantFrom, 'mean', 'zero', 'error') };
    case 1:
      return { ...base, type: 'category', ...HASH, buckets, vocabulary };
    case 2:
      return { ...base, type: 'category', ...ID, buckets, vocabulary };
    case 3:
      return { ...base, type: 'categories', ...HASH, buckets, vocabulary, separator, maxLength };
    case 4:
      return { ...base, type: 'categories', ...ID, buckets, vocabulary, separator, maxLength };
    default:
      return { ...base, type: 'ignore' };
  }
}

function labelOf(g: Draw): FieldColumn[] {
  const base = { name: 'label', type: 'label' } as const;
  const folder = g(fc.integer, { min: 0, max: 15 }) === 0 ? ({ from: 'folder' } as const) : {};
  switch (g(fc.integer, { min: 0, max: 7 })) {
    case 0:
      return [{ ...base, ...folder, positive: ['yes', 'ja', 'Häuser', '1'] }];
    case 1:
      return [{ ...base, ...folder, positive: ['yes'], negative: ['no', '0'] }];
    case 2:
      return [{ ...base, ...folder, classes: ['a', 'red', '1', '', LONG, '0', 'x y'] }];
    case 3:
      return [];
    case 4:
      return [{ ...base, ...folder, classes: ['1.0', '0', '01', 'a', '-3', '0,5', '0.50', '9007199254740993', '1e3'] }];
    default:
      return [{ ...base, ...folder }];
  }
}

function columnsOf(g: Draw): FieldColumn[] {
  const count = g(fc.integer, { min: 1, max: 6 });
  const columns = Array.from({ length: count }, (_, at) => columnOf(g, `c${at}`));
  columns.splice(g(fc.integer, { min: 0, max: count }), 0, ...labelOf(g));
  if (g(fc.integer, { min: 0, max: 2 }) === 0) columns.push({ name: 'weight', type: 'weight' });
  if (g(fc.integer, { min: 0, max: 2 }) === 0) {
    columns.push({ name: 'group', type: 'group', ids: g(fc.constantFrom, 'hash', 'integer') });
  }
  if (g(fc.integer, { min: 0, max: 2 }) === 0) {
    const folder = g(fc.integer, { min: 0, max: 4 }) === 0 ? ({ from: 'folder' } as const) : {};
    const format = g(fc.constantFrom, 'iso', 'iso', 'unix', 'unixMs', 'dd.MM.yyyy HH:mm');
    const time: FieldColumn = { name: 'time', type: 'time', format, zone: g(fc.constantFrom, 'UTC', 'Europe/Oslo') };
    columns.splice(g(fc.integer, { min: 0, max: columns.length }), 0, { ...time, ...folder });
  }
  return columns;
}

export function randomPlan(g: Draw): LinePlan {
  const delimiter = g(fc.constantFrom, ',', '\t', ';', '|', ' ');
  const spec = {
    columns: columnsOf(g),
    dialect: {
      header: false,
      delimiter,
      quote: g(fc.constantFrom, '"', '"', '"', null, "'"),
      comment: g(fc.constantFrom, undefined, '#'),
      missing: g(fc.subarray<string>, ['', 'NA', 'null', '?', '-', '0', LONG]),
      decimal: g(fc.constantFrom, '.', '.', ','),
    },
  };
  const columns = fieldColumns(spec);
  const ofFields = columns.filter(({ from }) => from !== 'folder');
  const fields = ofFields.length + g(fc.integer, { min: 0, max: 2 });
  const places = g(fc.shuffledSubarray<number>, [...Array(fields).keys()], { minLength: fields });
  const positions = columns.map(({ from }, at) =>
    from === 'folder' ? -1 : places[columns.slice(0, at).filter((other) => other.from !== 'folder').length]!,
  );
  const path = columns
    .filter(({ from }) => from === 'folder')
    .map(
      (column) =>
        `${column.name}=${encodeURIComponent(g(fc.integer, { min: 0, max: 5 }) === 0 ? g(fc.constantFrom, ...HOSTILE) : goodText(g, column.type))}`,
    );
  const rule = g(fc.constantFrom, { task: 'binary' }, { task: 'multiclass', classes: 8 }, { task: 'regression' });
  return csvPlan(spec, { fields: Math.max(fields, 1), positions }, rule, [...path, 'file.csv'].join('/'));
}

function goodText(g: Draw, type: FieldColumn['type'] | undefined): string {
  switch (type) {
    case 'number':
      return g(fc.constantFrom, ...NUMBERS);
    case 'label':
      return g(fc.constantFrom, '0', '1', '1', 'yes', 'a', 'red');
    case 'weight':
      return g(fc.constantFrom, '1', '0.5', '2', '0');
    case 'group':
      return g(fc.constantFrom, '1', '17', '12345678901234567');
    case 'categories':
      return g(fc.array<string>, fc.constantFrom(...WHOLES), { maxLength: 3 }).join(g(fc.constantFrom, '|', ';', ' '));
    case 'time':
      return g(fc.constantFrom, ...TIMES);
    case undefined:
    case 'ignore':
      return g(fc.constantFrom, ...TEXTS);
    case 'category':
      return g(fc.constantFrom, ...WHOLES, ...TEXTS.slice(0, 3));
  }
}

function fieldText(g: Draw, plan: LinePlan, field: number): string {
  const how = g(fc.integer, { min: 0, max: 39 });
  if (how === 0) return g(fc.constantFrom, ...HOSTILE);
  if (how === 1) return '';
  const good = goodText(g, plan.targets[field]?.column.type);
  const text = plan.form.dialect.decimal === 44 ? good.replace('.', ',') : good;
  const { quote } = plan.form.dialect;
  if (how < 10 && quote >= 0) return String.fromCharCode(quote) + text + String.fromCharCode(quote);
  return how < 13 ? ` ${text}  ` : text;
}

/** Some lines, as bytes. */
export function randomText(g: Draw, plan: LinePlan): Buffer {
  const delimiter = String.fromCharCode(plan.form.dialect.delimiter);
  const newline = g(fc.constantFrom, '\n', '\n', '\r\n');
  const lines = Array.from({ length: g(fc.integer, { min: 0, max: 30 }) }, () => {
    const how = g(fc.integer, { min: 0, max: 29 });
    if (how === 0) return g(fc.constantFrom, '', ' ', '\t \r', '# comment "', '  #x', '#');
    if (how === 1) return g(fc.array<string>, fc.constantFrom(...HOSTILE, ...TEXTS), { maxLength: 9 }).join(delimiter);
    return Array.from({ length: plan.fields }, (_, field) => fieldText(g, plan, field)).join(delimiter);
  });
  const text = lines.join(newline) + (g(fc.boolean) ? newline : '');
  return Buffer.from(text, g(fc.boolean) ? 'utf8' : 'latin1');
}
