/** What processes report about the tables that have admission, eviction or a bound. */
import * as z from 'zod';
import { count, name } from './fields.ts';

const ids = z.strictObject({ rows: count, candidates: count });

/** Counts from `updated` on are since the process started, and are not part of the state. */
export const tableReport = z
  .strictObject({
    name,
    ...ids.shape,
    bytes: count.describe('Logical bytes: rows × bytes of a row + candidates × 16.'),
    boundBytes: count.optional().describe('Maximum of `bytes`; absent if the table has no `maxBytes`.'),
    updated: count.describe('Number of ids that had a row; an id counts in each update that names it.'),
    admitted: count.describe('Number of ids that got a row.'),
    notAdmitted: count.describe(
      'Number of ids that got no row, because of their count or their draw; an id counts in each update that names it.',
    ),
    refused: count.describe(
      'Number of ids for which the bound had no room; an id counts in each update that names it.',
    ),
    evicted: z
      .strictObject({ bound: ids, unseen: ids })
      .describe('Rows and candidates that the bound pushed out, and that were removed because they were unseen.'),
  })
  .meta({ id: 'LimitedTable', description: 'A table with `admission`, `eviction` or `maxBytes`.' });
export type TableReport = z.infer<typeof tableReport>;

/** The tables of several processes as one list, which is in the order of the first process. */
export function summedTables(reports: readonly (readonly TableReport[])[]): TableReport[] {
  const [first = [], ...others] = reports;
  return first.map((table) => {
    const same = others.flatMap((tables) => tables.find((one) => one.name === table.name) ?? []);
    return same.reduce(sumOf, table);
  });
}

const sumOf = (a: TableReport, b: TableReport): TableReport => ({
  name: a.name,
  ...idsOf(a, b),
  bytes: a.bytes + b.bytes,
  ...(a.boundBytes === undefined ? {} : { boundBytes: a.boundBytes + (b.boundBytes ?? 0) }),
  updated: a.updated + b.updated,
  admitted: a.admitted + b.admitted,
  notAdmitted: a.notAdmitted + b.notAdmitted,
  refused: a.refused + b.refused,
  evicted: { bound: idsOf(a.evicted.bound, b.evicted.bound), unseen: idsOf(a.evicted.unseen, b.evicted.unseen) },
});

const idsOf = (a: z.infer<typeof ids>, b: z.infer<typeof ids>): z.infer<typeof ids> => ({
  rows: a.rows + b.rows,
  candidates: a.candidates + b.candidates,
});
