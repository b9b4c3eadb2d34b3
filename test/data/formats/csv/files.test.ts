/** Which records are in files of CSV text, and where: each is indexed once and read once. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { cutTasks } from '../../../../src/data/tasks.ts';
import { CSV, category, LABEL, list, number } from '../../columns/samples.ts';
import {
  count,
  expectTooLong,
  indexOf,
  placeWith,
  readAll,
  readerOf,
  recordsOf,
  rows,
  SPEC,
  write,
} from './read-files.ts';

const MiB = 1 << 20;
const HEAD = 'label,x\n';
const line = (at: number): string => `${at},${at / 2}\n`;
const TEXT: ColumnSpec = { columns: [LABEL, category('text')], dialect: CSV };

describe('records', () => {
  test('are there once and in order, from plain and gzip files', async () => {
    const place = placeWith({
      'a.csv': HEAD + rows(0, 45, line),
      'b.csv': gzipSync(HEAD + rows(45, 60, line)),
      'c.csv': Buffer.concat([
        gzipSync(`${HEAD}60,`),
        gzipSync(`1\n${rows(61, 80, line)}`),
        gzipSync(rows(80, 99, line)),
      ]),
    });
    const { labels, bad, index } = await recordsOf(place, { recordsPerTask: 8 });
    expect(labels).toEqual(count(99));
    expect(bad).toEqual([]);
    expect(index).toMatchObject({ records: 99, labelBound: 99, statistics: [{ name: 'x', present: 99 }] });
  });

  test('with a NUL byte are bad, and those beside them are the same', async () => {
    const [nul, without] = ['0,a\0\n', ''].map((odd) =>
      placeWith({
        'a.csv': `label,text\n${rows(0, 9, (at) => `${at},"a\n${at}"\n`)}${odd}${rows(9, 20, (at) => `${at},b\n`)}`,
      }),
    );
    const [read, expected] = [await recordsOf(nul!, { spec: TEXT }), await recordsOf(without!, { spec: TEXT })];
    expect(read.labels).toEqual(expected.labels);
    expect(read.bad).toEqual(['a.csv:20: a NUL byte, which no text has, at character 4']);
  });

  test('of files with other orders of columns are the same', async () => {
    const columns = [LABEL, number('x', { normalize: 'standard' }), category('c'), list('l')];
    const spec = { columns, dialect: CSV };
    const one = placeWith({
      'a.csv': rows(0, 50, (at) => (at === 0 ? 'label,x,c,l\n' : `${at},${at},c${at},a|b${at}\n`)),
    });
    const other = placeWith({
      'a.csv': rows(0, 50, (at) => (at === 0 ? 'l,unused,c,label,x\n' : `a|b${at},,c${at},${at},${at}\n`)),
    });
    const both = await recordsOf(one, { spec });
    expect((await recordsOf(other, { spec })).bits).toEqual(both.bits);
    expect(both.labels).toEqual(count(49, 1));
  });

  test('are the same with CRLF, a byte order mark, and without the last line break', async () => {
    const { bits } = await recordsOf(placeWith({ 'a.csv': HEAD + rows(0, 9, line) }));
    const others = [
      (HEAD + rows(0, 9, line)).replaceAll('\n', '\r\n'),
      `\ufeff${HEAD}${rows(0, 9, line)}`,
      (HEAD + rows(0, 9, line)).trimEnd(),
      (HEAD + rows(0, 9, line)).replaceAll(',', ' ,\t').replaceAll('\n', ' \n'),
      (HEAD + rows(0, 9, line)).replaceAll(/[^,\n]+/g, '"$&"'),
    ];
    for (const text of others) expect((await recordsOf(placeWith({ 'a.csv': text }))).bits).toEqual(bits);
  });

  test('are the same in TSV', async () => {
    const text = HEAD + rows(0, 20, (at) => (at % 5 === 0 ? `${at},\n` : line(at)));
    const { bits } = await recordsOf(placeWith({ 'a.csv': text }));
    const spec = { ...SPEC, dialect: { ...CSV, delimiter: '\t' } };
    const place = placeWith({ 'a.csv': text.replaceAll(',', '\t') });
    expect((await recordsOf(place, { spec, format: 'tsv' })).bits).toEqual(bits);
  });

  test('are no empty lines and no comments', async () => {
    const dialect = { ...CSV, comment: '#' };
    const text = `#a\n\n${HEAD}\n1,1\n  \r\n#2,"2\n \t#x\n3,3\n#\n`;
    const { labels, bad, index } = await recordsOf(placeWith({ 'a.csv': text }), { spec: { ...SPEC, dialect } });
    expect([labels, bad, index.records]).toEqual([[1, 3], [], 2]);
  });

  test('have their lines and places', async () => {
    const place = placeWith({ 'a.csv': `\n${HEAD}1,1\n\n"2",\n3,3\n`, 'b.csv': `${HEAD}4,4\n` });
    const [task] = await readAll(place, await indexOf(place));
    expect(task!.describe(0, 3)).toBe('a.csv, lines 3 to 6');
    expect(task!.describe(1, 4)).toBe('a.csv, lines 5 to 6; b.csv, line 2');
  });

  test('have their bytes counted once', async () => {
    for (const text of [HEAD + rows(0, 9, line), `${HEAD}1,${'1'.repeat(17 * MiB)}\n2,2\n`]) {
      let bytes = 0;
      await indexOf(placeWith({ 'a.csv': text }), {
        onBytes: (more) => {
          bytes += more;
        },
      });
      expect(bytes).toBe(text.length);
    }
  });
});

describe('quoted line breaks', () => {
  test('belong to their record', async () => {
    const place = placeWith({ 'a.csv': 'label,text\n1,"a\nb"\n2,"\n\n""\n"\n3,c\nx,d\n' });
    const { labels, bad } = await recordsOf(place, { spec: TEXT });
    expect(labels).toEqual([1, 2, 3]);
    expect(bad).toEqual(['a.csv:9: column label: label "x" is not a finite number']);
  });

  test('may lie at any place around the border of what is read at once', async () => {
    const tail = `1,"${'a\n'.repeat(20)}"\n2,b\n`;
    for (let shift = -2; shift <= tail.length + 2; shift += 3) {
      const filler = `0,${'x'.repeat(MiB - 3 - shift)}\n`;
      const place = placeWith({ 'a.csv': `label,text\n${filler}${tail}x,\n` });
      const { labels, bad } = await recordsOf(place, { spec: TEXT });
      expect(labels).toEqual([0, 1, 2]);
      expect(bad).toEqual(['a.csv:25: column label: label "x" is not a finite number']);
    }
  });

  test('of a record over several slices', async () => {
    const long = `${'many words\n'.repeat(300_000)}`;
    const place = placeWith({ 'a.csv': `label,text\n0,"${long}"\n1,"${long}"\n2,c\n` });
    const { labels, index } = await recordsOf(place, { spec: TEXT, recordsPerTask: 1 });
    expect(labels).toEqual([0, 1, 2]);
    expect(index.chunks.map(({ firstLine }) => firstLine)).toEqual([2, 300_003, 600_004]);
  });
});

describe('bad records', () => {
  test('have reasons and places, and batches are without them', async () => {
    const text = `${HEAD}1,1\n2,"2"x\n3\n4,4,4\n5,y\n\n"6\n",1,"\n"\n,7\n8,8\n9,1e39\n`;
    const { labels, bad, offsets, records } = await recordsOf(placeWith({ 'a.csv': text }), { recordsPerTask: 4 });
    expect([labels, records]).toEqual([[1, 8], 9]);
    expect(bad).toEqual([
      'a.csv:3: text follows a closing quote, at character 6: "x"',
      'a.csv:4: 1 fields, expected 2',
      'a.csv:5: 3 fields, expected 2',
      'a.csv:6: column x: "y" is not a finite 32-bit number',
      'a.csv:8: 3 fields, expected 2; a quoted text extends over 3 lines: a quote may be missing',
      'a.csv:11: column label: the label has no value',
      'a.csv:13: column x: "1e39" is not a finite 32-bit number',
    ]);
    expect(offsets.map((at) => text.slice(at, at + 2))).toEqual(['2,', '3\n', '4,', '5,', '"6', ',7', '9,']);
  });

  test('are those without a time that can be read, at their places', async () => {
    const spec: ColumnSpec = {
      columns: [LABEL, { name: 'when', type: 'time', format: 'iso', zone: 'UTC' }, number('x')],
      dialect: CSV,
    };
    const text = `label,when,x
0,2024-01-01,0
1,2024-13-01,1
2,"2024-01-01
",2
3,,3
4,"2024-01-01 10:00",4
5,"2024-""01""-01",5
6,2024-01-01T24:00,y
7,2024-02-29,
8,2023-02-29,8`;
    for (const content of [text, text.replaceAll('\n', '\r\n')]) {
      const place = placeWith({ 'a.csv': content });
      const { labels, bad, offsets, records, index } = await recordsOf(place, { spec, recordsPerTask: 4 });
      expect([labels, records]).toEqual([[0, 4, 7], 9]);
      expect(bad.map((reason) => reason.replace(/ such as .*/, ''))).toEqual([
        'a.csv:3: column when: time "2024-13-01" is not a time',
        `a.csv:4: column when: time "2024-01-01${content === text ? '' : '\\x0d'}\\x0a" is not a time`,
        'a.csv:6: column when: the time has no value',
        'a.csv:8: column when: time "2024-"01"-01" is not a time',
        'a.csv:9: column x: "y" is not a finite 32-bit number',
        'a.csv:11: column when: time "2023-02-29" is not a time',
      ]);
      expect(offsets.map((at) => content.slice(at, at + 2))).toEqual(['1,', '2,', '3,', '5,', '6,', '8,']);
      expect(index.statistics).toMatchObject([{ present: 2, missing: 1, max: 4 }]);
    }
  });

  test('without a time are as those with another fault, in batches and tasks of any size', async () => {
    const when = { name: 'when', type: 'time', format: 'unix', zone: 'UTC' } as const;
    const columns = [LABEL, number('x'), category('c'), list('l')];
    const textOf = (time: (at: number) => string): string =>
      `label,x,c,l,when\n${rows(0, 9000, (at) => `${at},${at % 3 === 0 ? '' : at},c${at % 7},a|b${at},${time(at)}\n`)}`;
    // Runs of bad and of good records, and both one by one.
    const isBad = (at: number): boolean => at % 1000 < 40 || (at % 5 === 0 && at > 4000 && at < 5500) || at === 8999;
    const timed = placeWith({ 'a.csv': textOf((at) => (isBad(at) ? 'x' : String(at))) });
    const other = placeWith({ 'a.csv': textOf((at) => (isBad(at) ? '5,6' : String(at))) });
    for (const [input, used] of [
      ['sparse', columns],
      ['dense', columns.slice(0, 2)],
    ] as const) {
      for (const batchSize of [7, 5000]) {
        const how = { recordsPerTask: 2500, input, batchSize };
        const got = await recordsOf(timed, { ...how, spec: { columns: [...used, when], dialect: CSV } });
        const expected = await recordsOf(other, { ...how, spec: { columns: used, dialect: CSV } });
        expect(got.labels).toEqual(count(9000).filter((at) => !isBad(at)));
        expect(got.bits).toEqual(expected.bits);
        expect(got.bad.map((text) => text.split(' ')[0])).toEqual(expected.bad.map((text) => text.split(' ')[0]));
        expect(got.index.statistics).toEqual(expected.index.statistics);
      }
    }
  });

  test('with a quote that opens behind another fault take the lines that it holds, wherever slices end', async () => {
    const filler = rows(0, 60_000, () => '7,abcdefghijklmnop\n');
    const fault = `1,"a"b,"${filler.replaceAll('\n', '\n')}"\n`;
    const place = placeWith({ 'a.csv': `label,text\n${filler.slice(0, 19 * 5000)}${fault}2,c\n` });
    const { labels, bad } = await recordsOf(place, { spec: TEXT, recordsPerTask: 5000 });
    expect(labels).toHaveLength(5001);
    expect(labels.at(-1)).toBe(2);
    expect(bad).toEqual(['a.csv:5002: text follows a closing quote, at character 6: "b,"7,abcdefghijklmno"']);
  });

  test.each([['quoted', `1,"${'x'.repeat(LIMITS.recordBytes)}"`, 0]])(
    'are lines longer than a record may be: %s',
    (_, long, breaks) => expectTooLong(long, breaks),
  );

  test('are none just below that length', async () => {
    const long = `1,"${'x'.repeat(LIMITS.recordBytes - 5)}"\n`;
    expect(long).toHaveLength(LIMITS.recordBytes);
    const { labels, bad } = await recordsOf(placeWith({ 'a.csv': `label,text\n${long}2,b\n` }), { spec: TEXT });
    expect([labels, bad]).toEqual([[1, 2], []]);
  });
});

describe('a quote that is not closed', () => {
  test.each([
    ['label,text\n1,a\n2,"b\n3,c\n', 'a.csv:3:3'],
    ['label,text\n1,"a\n\nb","c\nd\n', 'a.csv:4:4'],
    ['label,text\n"', 'a.csv:2:1'],
    [`label,text\n${'1,a\n'.repeat(MiB / 3)}2,  "b`, `a.csv:${Math.floor(MiB / 3) + 2}:5`],
  ])('is an error with its place', async (text, at) => {
    await expect(indexOf(placeWith({ 'a.csv': text }), { spec: TEXT })).rejects.toMatchObject({
      code: 'DataInvalid',
      message: `${at}: this quote is not closed`,
      hint: expect.stringContaining('data.csv.quote'),
    });
  });

  test('behind more than a record may have is one too', async () => {
    const place = placeWith({ 'a.csv': `label,text\n1,"a${'1,a\n'.repeat(5 * MiB)}` });
    await expect(indexOf(place, { spec: TEXT })).rejects.toMatchObject({
      code: 'DataInvalid',
      message: 'a.csv:2:3: this quote is not closed',
    });
  });
});

describe('files that changed', () => {
  test('since they were indexed are refused', async () => {
    const place = placeWith({ 'a.csv': HEAD + rows(0, 30, (at) => `${10 + at},1\n`) });
    const index = await indexOf(place, { recordsPerTask: 10 });
    const tasks = cutTasks(index, 10);
    const changes = ['1,111', '1\n1,1', '"1",1', '1x,"1', '1,\n\n1', '\n\n\n\n\n'];
    for (const change of changes) {
      write(
        place,
        'a.csv',
        `${HEAD}${rows(0, 15, (at) => `${10 + at},1\n`)}${change}${rows(16, 30, (at) => `${10 + at},1\n`)}`,
      );
      const reader = readerOf(place, index);
      const reading = reader.read(tasks[1]!);
      await expect(reading, change).rejects.toMatchObject({ code: 'DataChanged' });
      await reader.close();
    }
    write(place, 'a.csv', HEAD);
    await expect(readAll(place, index)).rejects.toMatchObject({ code: 'DataChanged' });
  });

  test('gzip files that are cut short are refused', async () => {
    const zipped = gzipSync(HEAD + rows(0, 5000, line));
    const place = placeWith({ 'a.csv': zipped.subarray(0, zipped.length - 20) });
    await expect(indexOf(place)).rejects.toMatchObject({ code: 'DataInvalid' });
  });
});

describe('files without records', () => {
  test('among others have none', async () => {
    const place = placeWith({
      'a.csv': '',
      'b.csv': HEAD,
      'c.csv': `${HEAD}1,1\n`,
      'd.csv': '\ufeff',
      'e.csv': 'label,x',
    });
    const { labels, index } = await recordsOf(place);
    expect(labels).toEqual([1]);
    expect(index.files.map(({ records }) => records)).toEqual([0, 0, 1, 0, 0]);
  });

  test('alone are refused', async () => {
    for (const text of ['', HEAD, '\n']) {
      const refused = { code: 'DataInvalid', message: 'no records in a.csv' };
      await expect(indexOf(placeWith({ 'a.csv': text }))).rejects.toMatchObject(refused);
    }
  });
});

describe('files without headers', () => {
  const dialect = { ...CSV, header: false };
  const spec = { columns: [{ ...LABEL, position: 1 }, number('x', { position: 2 })], dialect };

  test('have their columns by position', async () => {
    const { labels } = await recordsOf(placeWith({ 'a.csv': '1,1,z\n', 'b.csv': '2,1,z\n' }), { spec });
    expect(labels).toEqual([1, 2]);
  });

  test('are refused when they have other widths, also after an empty one', async () => {
    for (const files of [
      { 'b.csv': '1,1\n', 'c.csv': '1,1,1\n' },
      { 'a.csv': '', 'b.csv': '1,1\n', 'c.csv': '1,1,1\n' },
    ]) {
      await expect(indexOf(placeWith(files), { spec })).rejects.toMatchObject({
        code: 'DataInvalid',
        message: 'c.csv has 3 fields per line, but b.csv has 2',
      });
    }
  });
});
