/** Bytes of any kind: they are read, or refused with an error of paddlet, whatever they are. */
import { describe, expect, test } from 'vitest';
import type { Column, ColumnSpec } from '../../../../src/data/columns/column.ts';
import * as fc from '../../../properties.ts';
import { CSV, category, cross, list, number } from '../../columns/samples.ts';
import { dice, orRefused, randomBytes, readInAllWays } from '../garbage.ts';
import { indexOf, placeWith, readAll } from './read-files.ts';

const BYTES = 250_000;

const COLUMNS: Column[] = [
  { name: 'y', type: 'label', position: 1 },
  number('x', { position: 2 }),
  category('c', { position: 3 }),
  list('l', { position: 4, maxLength: 20 }),
  category('i', { position: 5, ids: 'integer' }),
  number('q', { quantiles: 5, position: 6 }),
  { name: 'w', type: 'weight', position: 7 },
  { name: 'g', type: 'group', ids: 'hash', position: 8 },
  cross('ci', ['c', 'i', 'q'], 100),
];
const SPEC: ColumnSpec = { columns: COLUMNS, dialect: { ...CSV, header: false, comment: '#', missing: ['', '?'] } };

const PIECES = [
  '1',
  '0',
  '-2.5',
  'a',
  'é',
  '""',
  ' ',
  '\t',
  '\r',
  '|',
  '#',
  '?',
  '1e9',
  '"',
  '"a"',
  '"\n"',
  '"",',
  'nan',
];

const USUAL = ['1', '0.50000000000000000000', '12.5', '2.500000000000000000000000000001'];

/** `evenly`: mostly records of eight fields; quotes are odd at times. */
function csvLike(seed: number, evenly: boolean): Buffer {
  const next = dice(seed);
  const parts: string[] = [];
  for (let bytes = 0, field = 0; bytes < BYTES; field++) {
    const piece =
      evenly && next(50) > 0 ? (USUAL[next(USUAL.length)] as string) : (PIECES[next(PIECES.length)] as string);
    const isEnd = evenly && next(200) > 0 ? field % 8 === 7 : next(8) === 0;
    parts.push(piece, isEnd ? '\n' : ',');
    bytes += piece.length + 1;
  }
  return Buffer.from(parts.join('')).subarray(0, BYTES);
}

const KINDS: [string, (seed: number) => Buffer][] = [
  ['random bytes', (seed) => randomBytes(seed, BYTES)],
  ['random fields', (seed) => csvLike(seed, false)],
  ['mostly records', (seed) => csvLike(seed, true)],
  [
    'records with quotes in place',
    (seed) =>
      Buffer.from(
        csvLike(seed, true)
          .toString()
          .replaceAll(/"(?!a|")/g, ''),
      ),
  ],
];

describe('a million bytes', () => {
  test.each(KINDS)('of %s', async (_, bytesOf) => {
    const [one, other] = [bytesOf(1), bytesOf(2)];
    expect(Math.min(one.length, other.length)).toBeGreaterThan(BYTES / 2);
    await readInAllWays(one, SPEC);
    await readInAllWays(other, { ...SPEC, dialect: { ...SPEC.dialect, quote: null } });
    await readInAllWays(other, { ...SPEC, dialect: { ...SPEC.dialect, header: true } });
  });

  test('of records whose quotes are in place has good ones', async () => {
    const [, bytesOf] = KINDS[3]!;
    expect(await readInAllWays(bytesOf(1), { ...SPEC, columns: COLUMNS.slice(0, 3) })).toBeGreaterThan(1000);
  });
});

test('small texts are read the same in tasks of any size', async () => {
  const text = fc.array(
    fc.constantFrom('1', 'a', ',', ',', '\n', '\n', '"', '""', '\r\n', ' ', '#', '?', '\ufeff', '\0'),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  const spec = { ...SPEC, columns: [COLUMNS[0]!, COLUMNS[1]!] };
  await fc.assert(
    fc.asyncProperty(text, async (parts) => {
      const place = placeWith({ 'a.csv': parts.join('') });
      const whole = await orRefused(indexOf(place, { spec }));
      if (whole === undefined) return;
      const single = await indexOf(place, { spec, recordsPerTask: 1 });
      const all = await readAll(place, whole, { spec });
      const apart = await readAll(place, single, { spec, recordsPerTask: 1 });
      expect(apart.flatMap((task) => task.bad)).toEqual(all.flatMap((task) => task.bad));
      expect(apart.map((task) => task.describe(0, 1))).toEqual(apart.map((_, at) => all[0]!.describe(at, at + 1)));
    }),
  );
});
