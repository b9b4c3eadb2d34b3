/** What people see of tables with admission, eviction or a bound. */
import { expect, it } from 'vitest';
import { limitedTableText } from '../../../src/commands/base/limited-table-text.ts';
import { renderTable } from '../../../src/commands/base/table.ts';
import { limitedTablesTable } from '../../../src/commands/status/limited-tables.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { limitedTables, tableNotes } from '../../../src/view/limited-tables.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';

const job = parseJobFile(
  'small.yaml',
  'name: small\ndata: {format: libsvm, train: a}\nmodel: {type: fm}\ncluster: {pservers: 2, shards: 8}\n',
);
const record = recordOf(job);
const processOf = (info: RoleInfo): LiveProcess => {
  return { role: info.role, id: '0', address: 'here:1', lease: 'a', answer: { kind: 'info', info } };
};
const pserver = (index: number): LiveProcess =>
  processOf({ ...infos.asyncPserver(index, 0), tables: infos.TABLES } as RoleInfo);

it('a table that is too small is noted', () => {
  const [full, other] = infos.TABLES;
  const noted = (change: Partial<typeof full> = {}): string[] => {
    const tables = [{ ...full, ...change }, other];
    const processes = [0, 1].map((index) => processOf({ ...infos.asyncPserver(index, 0), tables } as RoleInfo));
    return tableNotes({ record, processes }).flatMap(({ sentence, hint }) => [sentence, hint]);
  };
  expect(noted()).toEqual([]);
  expect(noted({ rows: 600 })).toEqual([
    'Table v is at its bound: it has evicted 1400 rows, and 57 % of the rows that updates needed were new or evicted.',
    'raise tables.v.maxBytes, or add tables.v.admission',
  ]);
  expect(noted({ rows: 600, updated: 6_100 })).toEqual([]);
  expect(noted({ rows: 600, bytes: 60_000 })).toEqual([]);
  expect(noted({ rows: 600, boundBytes: undefined })).toEqual([]);
});

it.each([
  ['count', { type: 'count', min: 2 }, 'raise tables.v.maxBytes or tables.v.admission.min'],
  ['probability', { type: 'probability', p: 0.5 }, 'raise tables.v.maxBytes, or lower tables.v.admission.p'],
] as const)('the hint fits a table with %s', (_, admission, hint) => {
  const [full, other] = infos.TABLES;
  const tables = [{ ...full, rows: 600 }, other];
  const processes = [0, 1].map((index) => processOf({ ...infos.asyncPserver(index, 0), tables } as RoleInfo));
  const withRule = { ...record, job: { ...record.job, tables: { v: { admission } } } };
  expect(tableNotes({ record: withRule, processes }).map((note) => note.hint)).toEqual([hint]);
});

const TABLES = limitedTables({ record, processes: [pserver(0), pserver(1)] })!;
const textOf = (columns: number): string[] => {
  const makeTable = (...[heads, rows]: Parameters<Parameters<typeof limitedTablesTable>[1]>): string =>
    renderTable(heads, rows, { isTTY: false } as NodeJS.WriteStream);
  return limitedTablesTable(TABLES, makeTable, columns).split('\n');
};

it('tables are summed over all pservers, and unknown while one of them does not answer', () => {
  expect(TABLES.map(({ name, rows, boundBytes }) => ({ name, rows, boundBytes }))).toEqual([
    { name: 'v', rows: 2_400, boundBytes: 160_000 },
    { name: 'w', rows: 10_000, boundBytes: undefined },
  ]);
  expect(limitedTables({ record, processes: [pserver(0)] })).toBeUndefined();
  const plain = [infos.asyncPserver(0, 0), infos.asyncPserver(1, 0)].map(processOf);
  expect(limitedTables({ record, processes: plain })).toBeUndefined();
});

it('a wide terminal shows all columns, a narrow one those that matter', () => {
  expect(textOf(150)).toEqual([
    'table   rows  candidates                        size  admitted  not admitted  refused            evicted rows       evicted candidates',
    'v       2400         600  144.0 kB, 90 % of 160.0 kB      4000         18000        8  1400 bound, 200 unseen  10000 bound, 100 unseen',
    'w      10000           0                    280.0 kB     10200             0        0              200 unseen                        0',
  ]);
  expect(textOf(70)).toEqual([
    'table   rows                        size            evicted rows',
    'v       2400  144.0 kB, 90 % of 160.0 kB  1400 bound, 200 unseen',
    'w      10000                    280.0 kB              200 unseen',
  ]);
  expect(textOf(20)[0]).toBe('table   rows                        size');
});

it('the result has a sentence for each table', () => {
  expect(TABLES.map(limitedTableText)).toEqual([
    'v: 2400 rows, 600 candidates, 144.0 kB, 90 % of 160.0 kB; 4000 admitted, 18000 not admitted, 8 refused, ' +
      '1400 rows and 10000 candidates evicted at the bound, 200 rows and 100 candidates evicted as unseen',
    'w: 10000 rows, 280.0 kB; 10200 admitted, 200 rows evicted as unseen',
  ]);
});
