/** Predictions as a Parquet file: read back by paddlet and by hyparquet, they are those of the other outputs. */
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { lineWriter } from '../../../src/commands/predict/lines.ts';
import { parquetOutput } from '../../../src/commands/predict/parquet-output.ts';
import type { ScoredGroup } from '../../../src/roles/evaluator/score-groups.ts';
import { columnOf, footerOf } from '../../data/formats/parquet/shown.ts';

const NAMES = { kept: ['na.me', 'ø'], scores: ['error', 'cat'], hasErrors: true };
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** Of these records, by their numbers. */
function groupOf(from: number, to: number): ScoredGroup {
  const count = to - from;
  const scores = Float32Array.from({ length: 2 * count }, (_, at) => ((2 * from + at) * 0.1) ** 9);
  const bad = Array.from({ length: count }, (_, at) => at).filter((at) => (from + at) % 7 === 3);
  const kept = Array.from({ length: count }, (_, at) => [at % 3 === 1 ? '' : latin1(`Zürich, ${from + at}`), 'same']);
  return { records: count, scores, outputs: 2, errors: new Map(bad.map((at) => [at, `no "${from + at}"`])), kept };
}

/** `parts`: where each ends. */
function written(parts: readonly (readonly number[])[], groupRows: number): Buffer {
  const output = parquetOutput(NAMES, groupRows);
  const bytes = [output.head];
  let from = 0;
  for (const ends of parts) {
    const groups = ends.map((end) => {
      const group = groupOf(from, end);
      from = end;
      return group;
    });
    bytes.push(output.bytesOf(output.make(groups)));
  }
  return Buffer.concat([...bytes, output.end()]);
}

test('row groups are of so many records, however these come', async () => {
  const bytes = written([[3, 6, 21], [], [23], [24]], 10);
  expect(written([[3, 24]], 10).equals(written([[3], [24]], 10))).toBe(true);
  expect((await footerOf(bytes)).groups.map(({ rows }) => rows)).toEqual([10, 10, 4]);
  const { created_by, row_groups } = parquetMetadata(new Uint8Array(bytes).buffer);
  expect(created_by).toBe('paddlet');
  const codecs = row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data!.codec));
  expect(new Set(codecs)).toEqual(new Set(['SNAPPY']));
});

test('a row is what a line of CSV is, with null for what is empty', async () => {
  const bytes = written([[24]], 10);
  const lines = String(lineWriter('csv', NAMES).lines(groupOf(0, 24)))
    .trimEnd()
    .split('\n');
  const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
  const all = [...NAMES.kept, ...NAMES.scores, 'error_'];
  expect(rows.map((row) => Object.keys(row))).toEqual(rows.map(() => all));
  const text = (value: unknown): string =>
    /[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? '');
  const decoded = lines.map((line) => Buffer.from(line).toString());
  const { scores } = groupOf(0, 24);
  rows.forEach((row, at) => {
    const isBad = at % 7 === 3;
    expect([row.error, row.cat]).toEqual(isBad ? [null, null] : [...scores.subarray(2 * at, 2 * at + 2)]);
    const fields = decoded[at]!.split(/,(?! )/);
    expect([text(row['na.me']), text(row.ø), text(row.error_)]).toEqual([fields[0], fields[1], fields.at(-1)]);
    expect(Math.fround(Number(fields[2]))).toBe(row.error ?? 0);
  });
  for (const name of all) {
    const own = (await columnOf(bytes, name)).map((value) =>
      typeof value === 'string' ? Buffer.from(value, 'latin1').toString() : value,
    );
    expect(own).toEqual(rows.map((row) => row[name]));
  }
});

test('scores are exact to the bit: −0, the smallest ones and the largest', async () => {
  const scores = Float32Array.of(0, -0, 1e-45, -0, 0, 3.4028234663852886e38, 0, -0);
  const group = { records: 8, scores, outputs: 1, errors: new Map(), kept: undefined };
  const output = parquetOutput({ kept: [], scores: ['score'], hasErrors: true });
  const bytes = Buffer.concat([output.head, output.bytesOf(output.make([group])), output.end()]);
  const read = (await columnOf(bytes, 'score')) as number[];
  expect(read.map((score) => Object.is(score, -0))).toEqual([...scores].map((score) => Object.is(score, -0)));
  expect(read).toEqual([...scores]);
});

test('of many classes a row group has fewer records', async () => {
  const outputs = 4_000;
  const names = { kept: [], scores: Array.from({ length: outputs }, (_, at) => `c${at}`), hasErrors: true };
  const output = parquetOutput(names);
  const group = { records: 270, scores: new Float32Array(270 * outputs), outputs, errors: new Map(), kept: undefined };
  const bytes = Buffer.concat([output.head, output.bytesOf(output.make([group])), output.end()]);
  expect((await footerOf(bytes)).groups.map(({ rows }) => rows)).toEqual([262, 8]);
});

test('a file of which any byte changed is refused, or reads the same', async () => {
  const scores = Float32Array.of(1, -2.5);
  const group = { records: 2, scores, outputs: 1, errors: new Map(), kept: [[latin1('ø')], ['']] };
  const output = parquetOutput({ kept: ['key'], scores: ['score'], hasErrors: true });
  const bytes = Buffer.concat([output.head, output.bytesOf(output.make([group])), output.end()]);
  const shown = async (): Promise<unknown[]> => {
    const { leaves } = await footerOf(bytes);
    const columns = leaves.map(async ({ name, meaning }) => [name, meaning, await columnOf(bytes, name)]);
    return Promise.all(columns);
  };
  const right = await shown();
  let refused = 0;
  for (const at of bytes.keys()) {
    for (const bit of [0x01, 0x10, 0x80]) {
      bytes[at]! ^= bit;
      try {
        expect(await shown(), `byte ${at}`).toEqual(right);
      } catch (error) {
        if (!isPaddletError(error, 'DataInvalid')) throw error;
        refused += 1;
      }
      bytes[at]! ^= bit;
    }
  }
  expect(refused).toBeGreaterThan(2.5 * bytes.length);
});

test('without records it has the columns all the same', async () => {
  const { rows, leaves } = await footerOf(written([], 10));
  expect([rows, leaves.map(({ name }) => name)]).toEqual([0, ['na.me', 'ø', 'error', 'cat', 'error_']]);
});

test('two columns of one name are refused', () => {
  expect(() => parquetOutput({ kept: ['score'], scores: ['score'], hasErrors: true })).toThrow('would be called score');
});
