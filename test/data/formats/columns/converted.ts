/** A file of CSV text with all kinds of columns and some bad records, and the columns that are made of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import { convertFile } from '../../../../src/data/convert.ts';
import { createRandomStream } from '../../../../src/data/synth/random-stream.ts';
import { CSV, category, cross, list, number } from '../../columns/samples.ts';
import type { TestPlace } from '../../place.ts';

export const COLUMNS: Column[] = [
  { name: 'y', type: 'label', positive: ['yes', 'ja'], negative: ['no'] },
  number('x', { normalize: 'standard' }),
  category('c'),
  list('l', { maxLength: 20 }),
  category('i', { ids: 'integer' }),
  number('q', { quantiles: 5 }),
  { name: 'w', type: 'weight' },
  { name: 'g', type: 'group', ids: 'hash' },
  { name: 't', type: 'time', format: 'iso', zone: 'UTC' },
  list('n', { ids: 'integer', separator: ' ' }),
  cross('ci', ['c', 'i', 'q'], 100),
];
export const SPEC: ColumnSpec = { columns: COLUMNS, dialect: CSV };

/** Of some records a field is one that a job may not take, or that no job takes. */
export function textOf(records: number, odd = 0.1): string {
  const random = createRandomStream(1);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(of.length * random.uniform())]!;
  const line = (): string => {
    const isOdd = random.uniform() < odd;
    const fields = [
      pick(['yes', 'no', 'no', 'ja']),
      pick(['', '1.5', `${Math.floor(1000 * random.uniform())}`]),
      pick(['', 'Oslo', 'Roma', '"São, Paulo"']),
      pick(['', 'a', 'a|b', 'c|a|b|d']),
      pick(['', '7', '-1', '18446744073709551615']),
      pick(['', '0', '0.25', `${100 * random.uniform()}`]),
      pick(['1', '0.5', '2']),
      pick(['', 'ann', 'bob']),
      pick(['2024-01-01', '2024-06-01T12:30']),
      pick(['', '1 2 3', '4']),
    ];
    if (isOdd) fields[Math.floor(10 * random.uniform())] = pick(['x', '"open" text', '1e999', '-5']);
    return fields.join(',');
  };
  return `y,x,c,l,i,q,w,g,t,n\n${Array.from({ length: records }, line).join('\n')}\n`;
}

/** Of the file `from` of the place, into `to`. */
export const convert = (place: TestPlace, from: string, to: string, columns = SPEC) =>
  convertFile(place, from, join(place.folder, to), { format: 'csv', columns, onBytes: () => {} });

/** The bytes of such a file. */
export async function columnsOf(place: TestPlace, from: string, columns = SPEC): Promise<Buffer> {
  await convert(place, from, 'made.columns', columns);
  return readFileSync(join(place.folder, 'made.columns'));
}
