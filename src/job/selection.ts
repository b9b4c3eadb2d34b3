/** Splits and sampling: as users write them, as the roles use them, and the rules between them and other fields. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { TimeColumn } from '../data/columns/column.ts';
import { timeReader } from '../data/columns/time.ts';
import { isZone } from '../data/columns/time-zone.ts';
import { formatOf } from '../data/formats/registry.ts';
import type { Split } from '../data/selection.ts';
import { outlineOf } from '../model/registry.ts';
import type { RuleBroken } from './rules.ts';
import type { JobFile } from './schema.ts';

const testShare = z.number().gt(0).lt(1);
const columnName = z.string().min(1).max(LIMITS.columnNameCharacters);

export const splitSchema = z.strictObject({
  test: testShare.optional().describe('So many of the records become test records, by their hash: above 0, below 1.'),
  by: columnName
    .optional()
    .describe('With `test`: a category, or the group. All records with the same value are on one side.'),
  from: z
    .string()
    .min(1)
    .max(LIMITS.columnNameCharacters)
    .optional()
    .describe('Records from that time on become test records, such as `2024-06-01`; needs a column of type time.'),
});

export const negativeSamplingSchema = z.strictObject({
  rate: z.number().gt(0).max(1).describe('So many of the training records with label 0 stay.'),
  correction: z
    .enum(['weight', 'none'])
    .default('weight')
    .describe('`weight`: each that stays counts 1 / `rate`, so that predictions stay probabilities; `none`.'),
});

/** The resolved form, as the store carries it. */
export const resolvedSplitSchema = z.union([
  z.strictObject({ test: testShare, by: columnName.optional() }),
  z.strictObject({ fromMs: z.number() }),
]);

type Data = JobFile['data'];

/** Of a valid file. */
export function resolveSplit(data: Data): Split | undefined {
  const { split } = data;
  if (split?.test !== undefined) return { test: split.test, by: split.by };
  return split === undefined ? undefined : { fromMs: fromOf(data) };
}

/** NaN when it is no time; in the zone of the time column. */
function fromOf({ split, columns = {} }: Data): number {
  const written = Object.values(columns).find((column) => typeOf(column) === 'time');
  const named = typeof written === 'object' && 'zone' in written ? written.zone : 'UTC';
  // That of the column is judged by a rule of its own.
  const zone = isZone(named) ? named : 'UTC';
  const text = Buffer.from(split?.from ?? '');
  const column: Pick<TimeColumn, 'format' | 'zone'> = { format: 'iso', zone };
  return timeReader(column, { decimal: '.' })(text, 0, text.length);
}

const typeOf = (column: NonNullable<Data['columns']>[string] | undefined): string | undefined =>
  typeof column === 'string' ? column : column !== undefined && 'type' in column ? column.type : undefined;

export function selectionRules({ data, model }: JobFile): RuleBroken[] {
  const broken: RuleBroken[] = [];
  const refuse = (field: string[], message: string): void => void broken.push({ path: ['data', ...field], message });
  for (const field of ['split', 'negativeSampling'] as const) {
    const isHere = data[field] !== undefined;
    if (isHere && formatOf(data.format).input === 'dense') refuse([field], `not for format ${data.format}`);
  }
  const { task } = outlineOf(model);
  if (data.negativeSampling !== undefined && task !== 'binary') {
    refuse(['negativeSampling'], `only for binary models: ${model.type} has task ${task}`);
  }
  return [...broken, ...splitRules(data)];
}

function splitRules(data: Data): RuleBroken[] {
  const { split, columns = {}, test } = data;
  if (split === undefined) return [];
  const broken: RuleBroken[] = [];
  const refuse = (field: string[], message: string): void => void broken.push({ path: ['data', ...field], message });
  if (test !== undefined)
    refuse(['test'], 'not with data.split, which takes the test records out of the training files');
  if ((split.test === undefined) === (split.from === undefined)) refuse(['split'], 'expected either test or from');
  if (split.by !== undefined) {
    const type = typeOf(columns[split.by]);
    if (type !== 'category' && type !== 'group') {
      refuse(['split', 'by'], `${split.by} is no column of type category or group`);
    }
    if (split.test === undefined) refuse(['split', 'by'], 'only with test');
  }
  if (split.from === undefined) return broken;
  if (!Object.values(columns).some((column) => typeOf(column) === 'time')) {
    refuse(['split', 'from'], 'needs a column of type time');
  }
  if (Number.isNaN(fromOf(data))) refuse(['split', 'from'], 'expected a time such as 2024-06-01 or 2024-06-01T12:00');
  return broken;
}
