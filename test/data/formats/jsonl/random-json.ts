/** Random columns with paths, and lines of JSON that mostly fit them. */
import type { ColumnSpec, FieldColumn } from '../../../../src/data/columns/column.ts';
import { layoutByPath } from '../../../../src/data/columns/layout.ts';
import { jsonLinesForm } from '../../../../src/data/formats/jsonl/format.ts';
import { planFor } from '../../../../src/data/formats/text/form.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import * as fc from '../../../properties.ts';
import { CSV } from '../../columns/samples.ts';

/** Draws a value. */
type Draw = fc.GeneratorValue;

const pick = <T>(g: Draw, ...of: readonly T[]): T => of[g(fc.integer, { min: 0, max: of.length - 1 })]!;

export function jsonPlan(columns: FieldColumn[], missing: string[] = [''], rule: LabelRule = { task: 'regression' }) {
  const spec: ColumnSpec = { columns, dialect: { ...CSV, missing } };
  return planFor(jsonLinesForm, spec, layoutByPath(spec), rule, 'day=1/f.jsonl');
}

const PATHS = ['a', 'b', 'ü', 'a b', 'n.x', 'n.y', 'n.m.x', 'o.x', 'dots.in.it', 'x"y'];

export function randomPlan(g: Draw): LinePlan {
  const paths = fc.sample(fc.shuffledSubarray(PATHS, { minLength: 1 }), { numRuns: 1, seed: g(fc.integer) })[0]!;
  const columns = paths.map((path): FieldColumn => {
    const placed = { name: `the ${path}`, path };
    return pick<FieldColumn>(
      g,
      { ...placed, type: 'number', normalize: 'none', missing: 'mean' },
      { ...placed, type: 'number', normalize: 'none', missing: 'error' },
      { ...placed, type: 'category', ids: 'hash' },
      { ...placed, type: 'category', ids: 'hash', buckets: 7 },
      { ...placed, type: 'category', ids: 'integer' },
      { ...placed, type: 'category', ids: 'integer', vocabulary: 'v' },
      { ...placed, type: 'categories', ids: 'hash', separator: '|', maxLength: 3 },
      { ...placed, type: 'categories', ids: 'integer', separator: '|', maxLength: 3 },
    );
  });
  const missing = pick<string[]>(g, [''], [], ['', '?'], ['NA', '-1'], ['true'], ['0.5'], ['1'], ['0', '1.50']);
  const label = pick<FieldColumn[]>(
    g,
    [{ name: 'label', type: 'label' }],
    [{ name: 'label', type: 'label', positive: ['yes', 'true', '1'] }],
    [
      { name: 'label', type: 'label' },
      { name: 'w', type: 'weight' },
      { name: 'g', type: 'group', ids: 'hash' },
    ],
    [
      { name: 'label', type: 'label' },
      { name: 'g', type: 'group', ids: 'integer' },
    ],
    [
      { name: 'label', type: 'label' },
      { name: 't', type: 'time', format: 'unix', zone: 'UTC' },
    ],
    [
      { name: 'label', type: 'label' },
      { name: 'day', type: 'category', ids: 'hash', from: 'folder' },
    ],
  );
  const rule = pick<LabelRule>(g, { task: 'regression' }, { task: 'binary' });
  return jsonPlan([...columns, ...label], missing, rule);
}

const VALUES = [
  ...['1', '0', '-1', '7', '-0', '0.5', '-12.25', '1e3', '1E-2', '3.4e38', '1e400', '123456789012345678901', '01'],
  ...['9007199254740993', '18446744073709551615', '-9223372036854775809', '1.0', '+1', '.5', '5.', '-', '1e', 'NaN'],
  ...['Infinity', '-Infinity', '-NaN', 'Infinite', 'NaN1', '"NaN"', '[1, NaN, -Infinity]', '[NaN1]'],
  ...['true', 'false', 'null', 'nul', 'True', '"yes"', '"no"', '"red"', '"Häuser"', '"05db9164"', '" x "', '""', '"?"'],
  ...[
    '"NA"',
    '"true"',
    '"null"',
    '"1.50"',
    '"7"',
    '"-1"',
    '"a|b"',
    '"1|2"',
    '"a\\"b"',
    '"\\u00fc"',
    '"\\ud83d"',
    '"\\ud83d\\uDE00x"',
    '"\\ud83d\\u0041"',
    '"\\ude00"',
    '"\\n\\/\\u20acé"',
    '1e21',
    '-123e20',
    '["\\u0061", "\\ud800"]',
    '[1e21, 1e400]',
    '"\\x"',
  ],
  ...['"\t"', '"open', '[]', '[1,2]', '["a","b"]', '["a", null, ""]', '[ true , "1" ]', '[1.5]', '[1,2,3,4]', '[[1]]'],
  ...[
    '[1,]',
    '[,]',
    '{}',
    '{"x":1}',
    '{"x":{"y":[1,{"z":"\\n"}]}}',
    '{"x":1,}',
    '{"a":"\\u12g4"}',
    '[{"x":1}]',
    '{1:2}',
  ],
];
const BLANKS = ['', '', '', '', ' ', '\t', '  '];

function objectText(g: Draw, plan: LinePlan): string {
  const tree = new Map<string, unknown>();
  for (const target of plan.targets) {
    if (target === undefined || g(fc.integer, { min: 0, max: 11 }) === 0) continue;
    const keys = (target.column.path ?? target.column.name).split('.');
    let object = tree;
    for (const key of keys.slice(0, -1)) {
      const inner = object.get(key);
      object = inner instanceof Map ? inner : new Map();
      if (!(inner instanceof Map)) (keys.length > 1 ? findOrRoot(tree, keys, key) : tree).set(key, object);
    }
    object.set(keys.at(-1)!, valueText(g, target.kind));
  }
  for (const key of ['other', 'n', 'zz']) {
    if (g(fc.integer, { min: 0, max: 7 }) === 0 && !tree.has(key)) tree.set(key, g(fc.constantFrom, ...VALUES));
  }
  return textOf(g, tree);
}

/** The object that is to have `key`, along `keys`. */
function findOrRoot(tree: Map<string, unknown>, keys: readonly string[], key: string): Map<string, unknown> {
  let object = tree;
  for (const one of keys.slice(0, keys.indexOf(key))) object = object.get(one) as Map<string, unknown>;
  return object;
}

function valueText(g: Draw, kind: string): string {
  if (g(fc.integer, { min: 0, max: 9 }) === 0) return g(fc.constantFrom, ...VALUES);
  if (kind === 'list') return g(fc.constantFrom, '[1,2]', '["1"]', '"3"', '"4|5"', '7', 'null', '[]');
  if (kind === 'single') return g(fc.constantFrom, '"a"', '"ü"', '12', 'true', '"b c"', '1234567890123456789012');
  if (kind === 'text') return g(fc.constantFrom, '1700000000', '"1700000000.5"', '0');
  return g(fc.constantFrom, '1', '0', '0.25', '"1"', 'true', '12', 'false');
}

function textOf(g: Draw, tree: ReadonlyMap<string, unknown>): string {
  const blank = (): string => g(fc.constantFrom, ...BLANKS);
  const pairs = [...tree].map(([key, value]) => {
    const text = value instanceof Map ? textOf(g, value) : (value as string);
    const name = JSON.stringify(key);
    // As an escape, now and then.
    const written =
      g(fc.integer, { min: 0, max: 19 }) === 0 ? name.replace('a', '\\u0061').replace('ü', '\\u00fc') : name;
    return `${blank()}${written}${blank()}:${blank()}${text}${blank()}`;
  });
  // A key twice, now and then.
  if (pairs.length > 0 && g(fc.integer, { min: 0, max: 29 }) === 0) pairs.push(pairs[0]!);
  return `{${pairs.join(',')}}`;
}

/** Some lines, as bytes. */
export function randomText(g: Draw, plan: LinePlan): Buffer {
  const newline = g(fc.constantFrom, '\n', '\n', '\r\n');
  const lines = Array.from({ length: g(fc.integer, { min: 0, max: 20 }) }, () => {
    const how = g(fc.integer, { min: 0, max: 39 });
    if (how === 0) return g(fc.constantFrom, '', ' ', '[]', '1', '{}', '{', '}', '{}{}', '{"a"}', '{"a":1}x', 'null');
    const line = objectText(g, plan);
    return how === 1 ? line.slice(0, g(fc.integer, { min: 0, max: line.length })) : line;
  });
  const isEnded = g(fc.boolean);
  const bytes = Buffer.from(lines.join(newline) + (isEnded && lines.length > 0 ? newline : ''));
  // Bytes that are no UTF-8.
  if (bytes.length > 0 && g(fc.integer, { min: 0, max: 19 }) === 0)
    bytes[g(fc.integer, { min: 0, max: bytes.length - 1 })] = 0xff;
  return bytes;
}
