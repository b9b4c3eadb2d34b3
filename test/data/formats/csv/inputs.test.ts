/** Batches of a model that says which columns each of its inputs has. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { columnRecords } from '../../../../src/data/columns/column-records.ts';
import { categoryId, crossId, missingId, numberedId, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { checkReads } from '../../../../src/data/columns/inputs.ts';
import { ParsedCache } from '../../../../src/data/parsed/cache.ts';
import { reordered } from '../../../../src/data/reordered.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import type { Batch, ColumnInputs } from '../../../../src/model/model.ts';
import { CSV, category, cross, idsOf, LABEL, list, number } from '../../columns/samples.ts';
import { bitsOf, shown } from '../../parsed/compare.ts';
import { contentOf, readForward } from '../forward-records.ts';
import { count, type How, indexOf, placeWith, readAll, rows } from './read-files.ts';

const COLUMNS = [
  number('x', { normalize: 'minmax', missing: 'zero' }),
  category('a'),
  LABEL,
  number('y'),
  list('b'),
  number('q', { quantiles: 2 }),
  cross('aq', ['a', 'q']),
];
const SPEC: ColumnSpec = { columns: COLUMNS, dialect: CSV };

/** Neither in the order of the job nor in that of the file. */
const READS: ColumnInputs = {
  sparse: [
    ['b', 'a'],
    ['y', 'aq', 'a'],
  ],
  numbers: ['y', 'x'],
};

const TEXT = `b,q,label,a,x,y
s|t,1,0,u,0,5
s,1,1
,2,2,v,4,
t,2,3,u,2,7
s,1,none,u,2,7
t|s,1,4,,,1
`;

const seed = vocabularySeed;
const of = (column: string, text: string): bigint => categoryId(Buffer.from(text), seed(column));
const none = (column: string): bigint => missingId(seed(column));
/** Of `a` with one of the two parts of `q`. */
const crossed = (a: bigint, part: bigint): bigint => crossId([a, numberedId(part, seed('q'))], seed('aq'));

type Feature = readonly [id: bigint, field: number, value?: number];

/** Of the good records: features for each sparse input, and floats. */
const RECORDS: readonly { label: number; sparse: readonly Feature[][]; dense: readonly number[] }[] = [
  {
    label: 0,
    sparse: [
      [
        [of('b', 's'), 0],
        [of('b', 't'), 0],
        [of('a', 'u'), 1],
      ],
      [
        [of('y', ''), 0, 5],
        [crossed(of('a', 'u'), 0n), 1],
        [of('a', 'u'), 2],
      ],
    ],
    dense: [5, 0, 0],
  },
  {
    label: 2,
    sparse: [
      [[of('a', 'v'), 1]],
      [
        [of('y', ''), 0, 13 / 3],
        [none('y'), 0],
        [crossed(of('a', 'v'), 1n), 1],
        [of('a', 'v'), 2],
      ],
    ],
    dense: [13 / 3, 1, 1],
  },
  {
    label: 3,
    sparse: [
      [
        [of('b', 't'), 0],
        [of('a', 'u'), 1],
      ],
      [
        [of('y', ''), 0, 7],
        [crossed(of('a', 'u'), 1n), 1],
        [of('a', 'u'), 2],
      ],
    ],
    dense: [7, 0, 0.5],
  },
  {
    label: 4,
    sparse: [
      [
        [of('b', 't'), 0],
        [of('b', 's'), 0],
        [none('a'), 1],
      ],
      [
        [of('y', ''), 0, 1],
        [crossed(none('a'), 0n), 1],
        [none('a'), 2],
      ],
    ],
    dense: [1, 0, 0],
  },
];

/** A batch as it should be, of these good records. */
function expected(goods: readonly number[]): unknown {
  const records = goods.map((good) => RECORDS[good]!);
  return {
    labels: records.map(({ label }) => label),
    sparse: READS.sparse.map((_, input) => {
      const features = records.flatMap(({ sparse }) => sparse[input]!);
      const ids = [...new Set(features.map(([id]) => id))];
      return {
        lengths: records.map(({ sparse }) => sparse[input]!.length),
        ids,
        rows: features.map(([id]) => ids.indexOf(id)),
        fields: features.map(([, field]) => field),
        values: features.map(([, , value = 1]) => Math.fround(value)),
      };
    }),
    dense: records.flatMap(({ dense }) => dense.map(Math.fround)),
  };
}

function contents({ records, labels, sparse, dense }: Batch): unknown {
  expect(dense.map(({ width }) => width)).toEqual([3]);
  expect(records).toBe(labels.length);
  return {
    labels: [...labels],
    sparse: sparse.map(({ offsets, ids, count: distinct, rows: places, fields, values }) => {
      expect(offsets[0]).toBe(0);
      expect(ids.length).toBe(8 * distinct);
      return {
        lengths: [...offsets.subarray(1)].map((end, at) => end - offsets[at]!),
        ids: idsOf(new Uint32Array(ids.slice().buffer)),
        rows: [...places],
        fields: [...fields!],
        values: [...(values ?? places.map(() => 1))],
      };
    }),
    dense: [...dense[0]!.values],
  };
}

const HOW: How = { spec: SPEC, reads: READS, batchSize: 3 };

async function taskOf(how: How = HOW, text = TEXT): Promise<TaskRecords> {
  const place = placeWith({ 'a.csv': text });
  const [task] = await readAll(place, await indexOf(place, how), how);
  return task!;
}

/** Of the batches of three records: positions 1 and 4 are bad. */
const PLANNED = [expected([0, 1]), expected([2, 3])];

describe('batches of columns', () => {
  test('have an input for each set, in the order of the set, and rows of numbers', async () => {
    const task = await taskOf();
    expect(task.bad.map(({ line }) => line)).toEqual([3, 6]);
    expect([contents(task.batch(0, 3)), contents(task.batch(3, 6))]).toEqual(PLANNED);
  });

  test('begin anywhere, and have records in any order', async () => {
    const task = await taskOf();
    expect(contents(task.batch(1, 6))).toEqual(expected([1, 2, 3]));
    expect(contents(task.pick(Uint32Array.of(5, 4, 0, 2)))).toEqual(expected([3, 0, 1]));
    const other = reordered(task, Uint32Array.of(3, 1, 5, 4, 2, 0));
    expect([contents(other.batch(0, 3)), contents(other.batch(3, 6))]).toEqual([expected([2, 3]), expected([1, 0])]);
    expect(contents(task.batch(1, 2))).toEqual(expected([]));
  });

  test('are the same from the cache, in memory and from its file', async () => {
    const place = placeWith({ 'a.csv': TEXT });
    const index = await indexOf(place, HOW);
    const plain = shown((await readAll(place, index, HOW))[0]!, 3);
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    for (const kept of [cache, cache, new ParsedCache(place, { bytes: 2 ** 30 })]) {
      const [task] = await readAll(place, index, { ...HOW, cache: kept });
      expect(shown(task!, 3)).toEqual(plain);
      expect([contents(task!.batch(0, 3)), contents(task!.pick(Uint32Array.of(3, 5)))]).toEqual(PLANNED);
    }
    expect(place.warnings).toEqual([]);
  });

  test('of other inputs are others in the cache', async () => {
    const place = placeWith({ 'a.csv': TEXT });
    const index = await indexOf(place, HOW);
    const cache = new ParsedCache(place, { bytes: 2 ** 30 });
    const [first, second] = READS.sparse as [string[], string[]];
    const all: ColumnInputs[] = [
      READS,
      { ...READS, sparse: [second, first] },
      { ...READS, sparse: [first.toReversed(), second] },
      { ...READS, numbers: ['x', 'y'] },
      { ...READS, numbers: [] },
    ];
    for (const reads of [...all, ...all]) {
      const [[kept], [plain]] = [
        await readAll(place, index, { ...HOW, reads, cache }),
        await readAll(place, index, { ...HOW, reads }),
      ];
      expect(shown(kept!, 3)).toEqual(shown(plain!, 3));
    }
    expect(readdirSync(join(place.cacheFolder, 'parsed')).length).toBe(all.length);
  });

  test('for predictions have the same inputs, without a label', async () => {
    const place = placeWith({ 'a.csv': TEXT });
    const index = await indexOf(place, HOW);
    const [task] = await readAll(place, index, HOW);
    const columns = { ...SPEC, statistics: index.statistics!, input: 'columns' as const, reads: READS };
    const [header, ...lines] = TEXT.trimEnd()
      .split('\n')
      .map((line) => line.split(','));
    const unlabeled = [header!, ...lines].map((fields) => fields.filter((_, at) => at !== 2).join(',')).join('\n');
    for (const sliceBytes of [8, 1000]) {
      const { records } = await readForward('csv', unlabeled, { columns, sliceBytes });
      const good = [0, 2, 3, 5];
      const trained = contentOf(task!);
      expect(good.map((at) => records[at])).toEqual(good.map((at) => trained[at]));
      expect(records[1]).toMatchObject({ line: 3 });
      // Its label was what made it bad.
      expect(records[4]).toEqual([expect.any(Array), expect.any(Array), [7, 0, 0.5]]);
    }
  });
});

describe('sets of all columns', () => {
  const text = `b,q,label,a,x,y\n${rows(0, 50, (at) =>
    at % 9 === 4 ? 'bad\n' : `s${at % 3}|t,${at % 7},${at},c${at % 4},${at % 5 === 0 ? '' : at / 4},${at % 6 || ''}\n`,
  )}`;
  const each = (task: TaskRecords): Batch[] => count(8).map((at) => task.batch(7 * at, Math.min(50, 7 * at + 7)));

  test('make the inputs that models without sets have, bit by bit', async () => {
    const names = ['x', 'a', 'y', 'b', 'q', 'aq'];
    const numbers = SPEC.columns.filter(({ type, name }) => type !== 'cross' && !['a', 'b', 'q'].includes(name));
    const onlyNumbers = { columns: numbers, dialect: CSV };
    const sparse = await taskOf({ spec: SPEC, input: 'sparse', readsFields: true }, text);
    const dense = await taskOf({ spec: onlyNumbers, input: 'dense' }, text);
    const both = await taskOf({ spec: SPEC, reads: { sparse: [names], numbers: ['x', 'y'] } }, text);
    expect(dense.bad.length).toBe(sparse.bad.length);
    each(both).forEach((batch, at) => {
      expect(bitsOf({ ...batch, dense: [] })).toEqual(bitsOf(each(sparse)[at]!));
      expect(bitsOf({ ...batch, sparse: [] })).toEqual(bitsOf(each(dense)[at]!));
    });
  });
});

describe('a model that reads', () => {
  test.each<[string, Partial<ColumnInputs>, string, string]>([
    [
      'what there is not',
      { sparse: [['a'], ['a', 'z']] },
      'reads.sparse[1][1]: the job does not have a column z',
      'x, a, y, b, q, aq',
    ],
    [
      'the label',
      { sparse: [['label']] },
      'reads.sparse[0][0]: the column label is of type label',
      'x, a, y, b, q, aq',
    ],
    [
      'a column twice',
      { sparse: [['b', 'b']] },
      'reads.sparse[0][1]: the column b is named twice',
      'x, a, y, b, q, aq',
    ],
    ['a category as a number', { numbers: ['a'] }, 'reads.numbers[0]: the column a is of type category', 'x, y'],
    [
      'parts as a number',
      { numbers: ['x', 'q'] },
      'reads.numbers[1]: the column q is of type number with quantiles',
      'x, y',
    ],
  ])('%s is refused', (_, reads, message, names) => {
    const hint = `expected columns of data.columns, each once: ${names}`;
    expect(() => checkReads({ sparse: [], numbers: [], ...reads }, COLUMNS)).toThrow(
      expect.objectContaining({ code: 'DataInvalid', message, hint }),
    );
  });

  test('columns of each kind in several inputs is taken', () => {
    expect(() =>
      checkReads(
        {
          sparse: [
            ['a', 'x'],
            ['x', 'q', 'aq', 'b', 'a'],
          ],
          numbers: ['x'],
        },
        COLUMNS,
      ),
    ).not.toThrow();
  });

  test('so many inputs that a task of them is too large is told so', () => {
    const used = { columns: [LABEL, category('a')], statistics: [], input: 'columns' as const };
    const records = LIMITS.taskInputs / 2;
    const reads = { sparse: [['a'], ['a'], ['a']], numbers: [] };
    expect(() => columnRecords({ ...used, reads }, { records, bytes: 1, batchSize: 1 })).toThrow(
      `a task has too many inputs: ${records} records of up to 3 inputs`,
    );
  });
});
