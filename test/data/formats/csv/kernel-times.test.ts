/** Times that `readText` makes of texts that the kernel leaves, against the plain form. */
import { expect, test } from 'vitest';
import type { FieldColumn } from '../../../../src/data/columns/column.ts';
import type { LinePlan } from '../../../../src/data/formats/text/plan.ts';
import { ALL, category, csvPlan, DIALECT, expectSame, FIRST_LINE, label, number, plan } from './both-forms.ts';

const EXPECTED = 'a time such as 2024-12-31, 2024-12-31T23:59:59.999 or 2024-12-31T23:59:59Z';

test('records without a good time, among others and alone', () => {
  const columns = plan([number('n'), { name: 't', type: 'time', format: 'iso', zone: 'UTC' }, category('c')]);
  const times = ['2024-01-01', '', '2024-01-02', '2024-02-30', '"2024-01-""03"', '"2024-01-04"', ' 1969-12-31 '];
  const lines = times.map((time, at) => `${at},${time},"a""b"`);
  for (const text of [lines.join('\n'), lines.slice(1).join('\r\n'), lines.slice(1, 4).join('\n'), lines[1]!]) {
    for (const atOnce of [ALL, 1, 2]) expectSame(Buffer.from(text), columns, ALL, atOnce);
  }
  const { records, bads } = expectSame(Buffer.from(lines.join('\n')), columns, ALL, ALL);
  const day = (date: string): unknown => expect.objectContaining({ time: Date.parse(date) });
  expect(records).toEqual(['2024-01-01', '2024-01-02', '2024-01-04', '1969-12-31'].map(day));
  expect(bads.map(({ record: { line, reason } }) => [line, reason])).toEqual([
    [FIRST_LINE + 1, 'column t: the time has no value'],
    [FIRST_LINE + 3, `column t: time "2024-02-30" is not ${EXPECTED}`],
    [FIRST_LINE + 4, `column t: time "2024-01-"03" is not ${EXPECTED}`],
  ]);
});

test('a time of the path, good and bad', () => {
  const columns: FieldColumn[] = [
    label,
    { name: 'day', type: 'time', format: 'iso', zone: 'Europe/Oslo', from: 'folder' },
  ];
  const of = (path: string): LinePlan =>
    csvPlan({ columns, dialect: DIALECT }, { fields: 1, positions: [0, -1] }, { task: 'binary' }, path);
  const { records } = expectSame(Buffer.from('1\n0\n"1"'), of('day=2024-06-01T00%3A00/f.csv'));
  expect(records).toEqual(Array(3).fill(expect.objectContaining({ time: Date.parse('2024-05-31T22:00Z') })));
  const { bads } = expectSame(Buffer.from('1\n0\n'), of('day=today/f.csv'));
  expect(bads.map(({ record }) => record.reason)).toEqual(
    Array(2).fill(`column day: time "today" is not ${EXPECTED}, in the path of the file`),
  );
  expect(expectSame(Buffer.from('1'), of('day=/f.csv')).bads[0]!.record.reason).toBe(
    'column day: the time has no value, in the path of the file',
  );
});
