/** The kernel against the plain form: the same records and the same faults of any lines. */
import { describe, expect, test, vi } from 'vitest';
import type { FieldColumn } from '../../../../src/data/columns/column.ts';
import { JsonLineReader } from '../../../../src/data/formats/jsonl/line-reader.ts';
import { columnReading } from '../../../../src/data/formats/text/columns.ts';
import { readText } from '../../../../src/data/formats/text/read-text.ts';
import * as fc from '../../../properties.ts';
import { ALL, expectSame, Records, textOf } from '../csv/both-forms.ts';
import { jsonPlan, randomPlan, randomText } from './random-json.ts';

const KEYS = ['label', 'x', 'c', 'l', 'g', 'w', 't'];
const every: FieldColumn[] = [
  { name: 'label', type: 'label' },
  { name: 'x', type: 'number', normalize: 'none', missing: 'mean' },
  { name: 'c', type: 'category', ids: 'hash' },
  { name: 'l', type: 'categories', ids: 'hash', separator: '|', maxLength: 9 },
  { name: 'g', type: 'group', ids: 'integer' },
  { name: 'w', type: 'weight' },
  { name: 't', type: 'time', format: 'unix', zone: 'UTC' },
  { name: 'n', type: 'category', ids: 'integer', path: 'deep.er.n' },
  { name: 's', type: 'category', ids: 'hash', path: 'deep.s' },
];

test('any lines', () => {
  fc.assert(
    fc.property(fc.gen(), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9 }), (g, room, atOnce) => {
      const plan = randomPlan(g);
      const bytes = randomText(g, plan);
      expectSame(bytes, plan);
      expectSame(bytes, plan, room, atOnce);
    }),
    { numRuns: 400 },
  );
});

describe('usual lines are read by the kernel alone', () => {
  test.each<[string, string]>([
    ['in order', '{"label":1,"x":0.5,"c":"a","l":["p","q"],"g":7,"w":2,"t":1700000000,"deep":{"er":{"n":5},"s":"ü"}}'],
    [
      'in another order',
      '{"deep":{"s":"v","er":{"n":-5}},"t":"5","w":1e0,"g":"1","l":"p|q","c":12,"x":-1E2,"label":0}',
    ],
    ['with blanks', ' { "label" : 1 , "w" : 1 , "l" : [ "a" , 1 ] , "deep" : { "er" : { } } , "t" : 1 } '],
    [
      'with others',
      '{"label":1,"t":1,"w":0,"o":{"a":[1,"\\"\\u00e9\\\\",{"b":null}],"c":{}},"p":[],"q":-0.5e-3,"r":"","s":false}',
    ],
    ['with keys missing', '{"label":1,"t":1,"w":1}'],
    ['with nulls', '{"label":1,"x":null,"c":null,"l":null,"g":null,"w":1,"t":1,"deep":null}'],
    [
      'with what Python writes',
      '{"label":1,"x":NaN,"c":Infinity,"l":["a",NaN,-Infinity],"g":NaN,"w":1,"t":1,"deep":NaN,"more":[Infinity]}',
    ],
    ['with truth values', '{"label":true,"x":false,"c":true,"l":[true,false],"w":true,"t":1,"deep":{"s":false}}'],
    [
      'with escapes',
      '{"l\\u0061bel":1,"c":"\\u00fc\\n\\ud83d\\ude00\\/","l":["\\"","\\u20ac"],"t":"\\u0031","w":1,"z":"\\t"}',
    ],
    ['with large ids', '{"label":1,"c":123456789012345678901234,"g":1234567890123456789,"t":1,"w":1}'],
  ])('%s', (_, line) => {
    const used = jsonPlan(every);
    const bytes = Buffer.from(`${line}\n${line}\r\n\n${line}`);
    const plainly = vi.spyOn(JsonLineReader.prototype, 'read');
    const got = new Records(ALL, ALL);
    readText(textOf(bytes), columnReading(used), got);
    expect(plainly).not.toHaveBeenCalled();
    plainly.mockRestore();
    expect(got.bads).toEqual([]);
    expect(got.records).toHaveLength(3);
    expectSame(bytes, used);
  });
});

test('a plan after another one, and keys in other orders in turn', () => {
  const lines = KEYS.map((_, at) => {
    const turned = [...KEYS.slice(at), ...KEYS.slice(0, at)];
    return `{${turned.map((key) => `"${key}":1`).join(',')}}\n`;
  });
  for (const columns of [every, every.slice(0, 7), every]) {
    const got = expectSame(Buffer.from(lines.join('').repeat(3)), jsonPlan(columns));
    expect([got.records.length, got.bads.length]).toEqual([3 * KEYS.length, 0]);
  }
});

test('many columns, most of them missing in each record', () => {
  const columns = Array.from(
    { length: 1000 },
    (_, at): FieldColumn => ({
      ...{ name: `k${at}`, type: 'category', ids: 'hash' },
      ...(at % 3 === 0 ? { path: `o${at % 7}.k${at}` } : {}),
    }),
  );
  const plan = jsonPlan([{ name: 'label', type: 'label' }, ...columns]);
  const lines = Array.from(
    { length: 50 },
    (_, at) => `{"k${20 * at + 1}":"a","label":1,"o3":{"k3":"b","k${at}":"c"}}\n`,
  );
  expect(expectSame(Buffer.from(lines.join('')), plan).records).toHaveLength(50);
});
