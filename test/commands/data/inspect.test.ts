/** `paddlet data inspect` as a user meets it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { renderTable } from '../../../src/commands/base/table.ts';
import { barsOf, cut, fitted, left, right } from '../../../src/commands/data/inspection-text.ts';
import { isRealDataMissing, REAL_DATA } from '../../data/place.ts';
import { sampleIn } from '../../samples.ts';
import { type Ran, runCommand } from '../run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-inspect-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const paddlet = (...args: string[]): Promise<Ran> => runCommand(args, { cwd });

const rows = (towns: readonly string[], from: number): string =>
  [
    'town,amount,status,clicked',
    ...Array.from({ length: 400 }, (_, at) => {
      const clicked = at % 4 === 0 ? 'yes' : 'no';
      return `${towns[at % towns.length]},${from + at / 4},${clicked === 'yes' ? 'paid' : 'open'},${clicked}`;
    }),
  ].join('\n');
writeFileSync(join(cwd, 'a.csv'), rows(['Oslo', 'Rome', 'Rome', 'NA', 'Bern'], 0));
writeFileSync(join(cwd, 'b.csv'), rows(['Oslo', 'Paris', 'Rome', 'NA', 'Bern'], 5));
writeFileSync(join(cwd, 'd.libffm'), '1 0:3:1 7:7:0.5\n0 0:3:1\n');
writeFileSync(join(cwd, 'made.columns'), `PDLTCOLS${'\0'.repeat(99)}`);
writeFileSync(join(cwd, 'c.libsvm'), '1 3:1 7:0.5\n0 3:1\n0 9:2\n');
writeFileSync(
  join(cwd, 'job.yaml'),
  `name: t
model: { type: lr }
data:
  format: csv
  train: a.csv
  csv: { missing: ["", NA] }
  columns:
    town: { type: category, buckets: 8 }
    amount: number
    clicked: { type: label, positive: ["yes"] }
`,
);

describe('paddlet data inspect', () => {
  test('a table', async () => {
    const { code, out, err } = await paddlet('data', 'inspect', 'a.csv');
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(`a.csv: 400 records, 4 columns; separated by commas, with a header

column   type      missing  distinct  values
town     category     20 %         3  Rome 40 %, Bern 20 %, Oslo 20 %
amount   number                  400  ████████████████ 0 to 99.75, mean 49.875
status   category                  2  open 75 %, paid 25 %
clicked  label                     2  no 75 %, yes 25 %

The label seems to be clicked: by its name.
status nearly equals the label: it may be known only afterwards.
No value: "NA", and the empty text.
\`paddlet init --data a.csv\` writes a job file for it.
`);
  });

  test('a second one', async () => {
    const { code, out } = await paddlet('data', 'inspect', 'a.csv', 'b.csv');
    expect(code).toBe(0);
    expect(out).toContain(`What b.csv has and a.csv lacks: in 2 of 4 columns

column  new
town    20 % of its records: Paris
amount  5 to 104.75, not within 0 to 99.75
`);
  });

  test('as a job reads it', async () => {
    const { code, out } = await paddlet('data', 'inspect', 'a.csv', '--job', 'job.yaml', '--rows', '200');
    expect(code).toBe(0);
    expect(out).toBe(`a.csv as t reads it: the first 200 records, 0 of them bad

column   type      missing  distinct  what it has
town     category     20 %         3  23 % share a bucket
amount   number                       ████████████████ 0 to 49.75, mean 24.875;…
clicked  label                        0 75 %, 1 25 %
`);
  });

  test('as JSON, with types and without what only comparisons need', async () => {
    const { out } = await paddlet('data', 'inspect', 'a.csv', 'b.csv', '--json');
    const { files, comparison } = JSON.parse(out);
    expect(files[0].columns[0]).toMatchObject({ name: 'town', type: 'category', missing: 80, distinct: 3 });
    expect(files[0].leaks).toEqual(['status']);
    expect(files[0]).not.toHaveProperty('distinct');
    expect(comparison.columns.map(({ name }: { name: string }) => name)).toEqual(['town', 'amount']);
    const asJob = JSON.parse((await paddlet('data', 'inspect', 'a.csv', '--job', 'job.yaml', '--json')).out);
    expect(asJob.columns[0].ids).toMatchObject({ distinct: 3, isExact: true });
  });

  test('libffm', async () => {
    const { out } = await paddlet('data', 'inspect', 'd.libffm');
    expect(out).toContain('d.libffm: 2 records of libffm');
    expect(out).toMatch(/^fields +8$/m);
  });

  test('the first file of a folder or a glob', async () => {
    mkdirSync(join(cwd, 'days'));
    for (const day of ['1', '2']) writeFileSync(join(cwd, 'days', `${day}.csv`), 'x,label\n1.5,0\n2.5,1\n');
    for (const what of ['days', 'days/*.csv']) {
      const { out } = await paddlet('data', 'inspect', what);
      expect(out).toContain('days/1.csv: 2 records, 2 columns');
      expect(out).toMatch(/\nIt is the first of 2 files that has records\.\n$/);
    }
    expect((await paddlet('data', 'inspect', 'days/1.csv')).out).not.toContain('the first of');
  });

  test('libsvm', async () => {
    const { out } = await paddlet('data', 'inspect', 'c.libsvm');
    expect(out).toContain('c.libsvm: 3 records of libsvm');
    expect(out).toMatch(/^highest id +9$/m);
  });

  test.each([
    [['a.csv', 'b.csv', '--job', 'job.yaml'], 2, 'expected one file, got b.csv as well'],
    [['a.csv', 'c.libsvm'], 3, 'expected two files of the same kind, got table (a.csv) and libsvm (c.libsvm)'],
    [['a.csv', '--label', 'x'], 2, 'a.csv does not have a column x'],
    [['none.csv'], 3, 'no such data file'],
    [['made.columns'], 3, 'made.columns is a columns file, which `paddlet data convert` wrote'],
    [[''], 2, 'the argument FILE is empty'],
  ])('%j is an error', async (args, code, message) => {
    const ran = await paddlet('data', 'inspect', ...args);
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toContain(message);
  });
});

test.skipIf(isRealDataMissing)('docs/inspect-data.md shows what inspect and init print of Adult', async () => {
  const real = (...args: string[]): Promise<Ran> => runCommand(args, { cwd: REAL_DATA });
  const looked = await real('data', 'inspect', 'adult/adult.data.gz', '--rows', '3000');
  expect(looked.out).toBe(sampleIn('docs/inspect-data.md', 'adult/adult.data.gz: '));
  const written = await real('init', '--data', 'adult/adult.data.gz', '--rows', '3000', '--output', '-');
  expect(written.out).toBe(sampleIn('docs/inspect-data.md', '# Written by'));
});

test('docs/inspect-data.md shows what inspect prints of JSON lines', async () => {
  const [making] = sampleIn('docs/inspect-data.md', 'awk ').split('paddlet data');
  execFileSync('bash', ['-c', making!], { cwd });
  expect((await paddlet('data', 'inspect', 'log.jsonl')).out).toBe(sampleIn('docs/inspect-data.md', 'log.jsonl: '));
});

test('bad records of JSON lines, and keys of later records', async () => {
  const records = Array.from({ length: 1000 }, (_, at) => JSON.stringify({ x: at / 2, label: at % 2 }));
  writeFileSync(join(cwd, 'late.jsonl'), [...records, '{"x": [1]}', 'nope', '{"u": {"y": 1}, "z": 1}'].join('\n'));
  const { out } = await paddlet('data', 'inspect', 'late.jsonl');
  expect(out).toContain(
    '2 bad records: line 1001: a value of another type than the other records have; line 1002: not a JSON object.',
  );
  expect(out).toContain('Not shown: u, z: the first records lack them, or there are more than 4096 columns.');
});

describe('its text', () => {
  test('bars: the highest is full, and what is there is seen', () => {
    expect(barsOf([0, 1, 50, 100])).toBe(' ▁▄█');
    expect(barsOf([5])).toBe('█');
  });

  test('a table has the width of the terminal, down to what its cells need', () => {
    const lines = (width: number): string[] =>
      fitted(
        { width, table: (columns, cells) => renderTable(columns, cells, process.stdout) },
        [...left('column'), ...right('distinct'), ...left('values')],
        [['a-column-with-a-very-long-name', 7, 'x'.repeat(200)]],
      ).split('\n');
    expect(Math.max(...lines(80).map(({ length }) => length))).toBe(80);
    expect(Math.max(...lines(20).map(({ length }) => length))).toBe(24 + 2 + 8 + 2 + 16);
    expect(lines(80)[1]).toMatch(/^a-column-with-a-very-lo… +7 +x+…$/);
  });

  test('texts are cut between characters', () => {
    expect(cut('😀😀😀', 3)).toBe('😀😀😀');
    expect(cut('😀😀😀😀', 3)).toBe('😀😀…');
  });
});
