/** Splits and sampling: as users write them, and as the roles use them. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { TimeColumn } from '../data/columns/column.ts';
import { timeReader } from '../data/columns/time.ts';
import { isZone } from '../data/columns/time-zone.ts';
import type { Split } from '../data/selection.ts';
import type { ColumnsFile } from './columns.ts';

const share = z.number().gt(0).lt(1);
const columnName = z.string().min(1).max(LIMITS.columnNameCharacters);

export const splitSchema = z.strictObject({
  test: share
    .optional()
    .describe(
      'Fraction of the training records to hold out as test records, chosen by hash; above 0, below 1. Cannot be combined with `data.test`.',
    ),
  by: columnName
    .optional()
    .describe(
      'Column of type category or group: records with the same value stay on the same side of the split. Requires `test`.',
    ),
  from: z
    .string()
    .min(1)
    .max(LIMITS.columnNameCharacters)
    .optional()
    .describe(
      'Instead of `test`: records at or after this time, such as `2024-06-01`, are the test records. Requires a column of type time.',
    ),
});

export const negativeSamplingSchema = z.strictObject({
  rate: share.describe('Fraction of the training records with label 0 to keep; above 0, below 1.'),
  correction: z
    .enum(['weight', 'none'])
    .default('weight')
    .describe(
      'Weight of each kept record with label 0. `weight`: 1 / `rate`, so that predictions stay calibrated. `none`: 1.',
    ),
});

/** The resolved form, as the store carries it. */
export const resolvedSplitSchema = z.union([
  z.strictObject({ test: share, by: columnName.optional() }),
  z.strictObject({ fromMs: z.number() }),
]);

/** What splits go by. */
export interface SplitData {
  readonly split?: z.output<typeof splitSchema> | undefined;
  readonly columns?: ColumnsFile | undefined;
}

/** The split of a valid job file. */
export function resolveSplit(data: SplitData): Split | undefined {
  const { split } = data;
  if (split?.test !== undefined) return { test: split.test, by: split.by };
  return split === undefined ? undefined : { fromMs: fromOf(data) };
}

/** NaN when it is not a time; in the zone of the time column. */
export function fromOf({ split, columns = {} }: SplitData): number {
  const written = Object.values(columns).find((column) => typeOf(column) === 'time');
  const named = (typeof written === 'object' && 'zone' in written ? written.zone : undefined) ?? 'UTC';
  // Another rule checks the zone of the column.
  const zone = isZone(named) ? named : 'UTC';
  const text = Buffer.from(split?.from ?? '');
  const column: Pick<TimeColumn, 'format' | 'zone'> = { format: 'iso', zone };
  return timeReader(column, { decimal: '.' })(text, 0, text.length);
}

export const typeOf = (column: ColumnsFile[string] | undefined): string | undefined =>
  typeof column === 'string' ? column : column !== undefined && 'type' in column ? column.type : undefined;
