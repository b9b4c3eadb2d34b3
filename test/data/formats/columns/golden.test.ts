/** The file that docs/columns-file.md shows, byte by byte and section by section. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { categoryId, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { decodeBlock, SECTION } from '../../../../src/data/formats/columns/block.ts';
import { decodeHeader, headerBytes } from '../../../../src/data/formats/columns/header.ts';
import { ROOT } from '../../../source-files.ts';
import { CSV, category, list, number } from '../../columns/samples.ts';
import { placeWith } from '../csv/read-files.ts';
import { columnsOf } from './converted.ts';

const GOLDEN = join(ROOT, 'test/golden/data/v1.columns');
const SPEC: ColumnSpec = {
  columns: [{ name: 'clicked', type: 'label', positive: ['yes'] }, number('age'), category('city'), list('tags')],
  dialect: CSV,
};
const TEXT = 'clicked,age,city,tags\nyes,20,Oslo,a|b\nno,,Rome,\nno,old,Oslo,a\n';

test('is written as it was', async () => {
  const bytes = await columnsOf(placeWith({ 'log.csv': TEXT }), 'log.csv', SPEC);
  if (process.env.PADDLET_WRITE_GOLDEN === 'true') writeFileSync(GOLDEN, bytes);
  expect(bytes.equals(readFileSync(GOLDEN))).toBe(true);
});

test('has what the page says', () => {
  const golden = readFileSync(GOLDEN);
  const start = headerBytes('v1', golden);
  const { columns, source } = decodeHeader('v1', golden.subarray(0, start));
  expect(source).toBe('log.csv');
  expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'clicked label',
    'age number',
    'city category',
    'tags categories',
  ]);
  const end = start + golden.readUInt32LE(start);
  const block = golden.subarray(start, end);
  const decoded = decodeBlock(block)!;
  expect(decoded).toMatchObject({ records: 3, good: 2, position: 0 });
  expect(decodeBlock(golden.subarray(end))).toMatchObject({ records: 0, position: 3 });
  const bytesOf = (kind: number, column: number): ArrayBuffer => {
    const { offset, length } = decoded.section(kind, column)!;
    return Uint8Array.from(block.subarray(offset, offset + length)).buffer;
  };
  const id = (text: string, column: string): bigint => categoryId(Buffer.from(text), vocabularySeed(column));
  expect([...new Float32Array(bytesOf(SECTION.labels, 0))]).toEqual([1, 0]);
  expect([...new Float32Array(bytesOf(SECTION.numbers, 1))]).toEqual([20, Number.NaN]);
  expect([...new BigUint64Array(bytesOf(SECTION.ids, 2))]).toEqual([id('Oslo', 'city'), id('Rome', 'city')]);
  expect([...new Uint32Array(bytesOf(SECTION.listEnds, 3))]).toEqual([2, 2]);
  expect([...new BigUint64Array(bytesOf(SECTION.listIds, 3))]).toEqual([id('a', 'tags'), id('b', 'tags')]);
  expect([...new Uint32Array(bytesOf(SECTION.badPositions, 0))]).toEqual([2]);
  const reasons = Buffer.from(bytesOf(SECTION.badReasons, 0)).toString();
  expect(readFileSync(join(ROOT, 'docs/columns-file.md'), 'utf8')).toContain(`\`${reasons}\``);
});
