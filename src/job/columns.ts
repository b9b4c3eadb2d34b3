/**
 * The columns of a job file: as users write them (`columnsSchema`, `dialectSchema`), as the roles use them, and how the
 * one becomes the other.
 */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { type Column, type Dialect, isConstant, NORMALIZATIONS } from '../data/columns/column.ts';
import { isTimeFormat } from '../data/columns/time.ts';
import { isZone } from '../data/columns/time-zone.ts';

const SHORT_TYPES = ['number', 'category', 'categories', 'label', 'weight', 'group', 'time', 'ignore'] as const;

export const columnName = z.string().min(1).max(LIMITS.columnNameCharacters);
const name = columnName;
const text = z.string().max(LIMITS.columnNameCharacters);
const texts = z.array(text).min(1).max(LIMITS.columnTexts);
const countOf = (min: number, max: number) => z.int().min(min).max(max);
/** A separator: one ASCII character that no number, name or line break contains. */
const character = z
  .string()
  .regex(/^[\t -/:-@[-`{-~]$/, 'expected one ASCII character that is neither a letter nor a digit');

const delimiter = z
  .string()
  .regex(
    /^([\t -/:-@[-`{-~])\1?$/,
    'expected one ASCII character that is neither a letter nor a digit; for format interactions, it may be doubled',
  );

const position = countOf(1, LIMITS.columns)
  .optional()
  .describe('Position of the field in a line, counted from 1. Default: where the header has the name of the column.');
const from = z.literal('folder').optional().describe('The value is in the path of the file, as a folder `name=value`.');
const path = z
  .string()
  .min(1)
  .max(LIMITS.columnNameCharacters)
  .optional()
  .describe(
    'Path of the value in nested records: keys separated by dots. Default: the name of the column, as one key.',
  );
const placed = { position, path, from };

const ids = z
  .enum(['hash', 'integer'])
  .default('hash')
  .describe('How values become ids: `hash` hashes the text; `integer` uses the whole number itself.');
const vocabulary = name
  .optional()
  .describe('Name of a set of ids. Columns with the same vocabulary share rows. Default: the name of the column.');
const buckets = countOf(1, 2 ** 40)
  .optional()
  .describe(
    'Maximum number of distinct ids. Values whose hashes fall into the same bucket share a row. Default: no limit.',
  );

const number = z.strictObject({
  type: z.literal('number').describe('A number: one normalized input.'),
  normalize: z
    .enum(NORMALIZATIONS)
    .optional()
    .describe(
      '`standard` (default): (x − mean) / standard deviation; `minmax`: 0 to 1; `log`: sign(x) · log(1 + |x|); `none`.',
    ),
  quantiles: countOf(2, LIMITS.quantiles)
    .optional()
    .describe('Number of quantile bins: makes the column a category of these bins.'),
  missing: z
    .enum(['mean', 'zero', 'error'])
    .default('mean')
    .describe(
      'What a missing value counts as: `mean`, with an indicator input; `zero`; or `error`, which makes the record bad.',
    ),
  ...placed,
});
const category = z.strictObject({
  type: z.literal('category').describe('One category per record.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const categories = z.strictObject({
  type: z.literal('categories').describe('A list of categories per record.'),
  separator: character.default('|').describe('Character that separates the values of the list.'),
  maxLength: countOf(1, LIMITS.listValues)
    .default(1024)
    .describe('Maximum number of values. A record with more is bad.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const label = z.strictObject({
  type: z.literal('label').describe('The label, which the model predicts.'),
  positive: texts.optional().describe('Texts that mean label 1. Without `negative`, any other text means 0.'),
  negative: texts
    .optional()
    .describe('Texts that mean label 0. A record with any other text than these and `positive` is bad.'),
  classes: texts.optional().describe('Texts of the classes, in the order of their numbers 0, 1, and so on.'),
  value: z
    .literal(1)
    .optional()
    .describe('Label of every record, for data without a label field: each record is a positive example.'),
  position,
  path,
});
const weight = z.strictObject({
  type: z.literal('weight').describe('Weight of the record in gradients and metrics.'),
  position,
  path,
});
const group = z.strictObject({
  type: z.literal('group').describe('Group of the record, such as a user or a query, for metrics by group.'),
  ids,
  position,
  path,
});
const time = z.strictObject({
  type: z.literal('time').describe('Time of the record, for `data.split.from`.'),
  format: text
    .min(1)
    .default('iso')
    .describe(
      '`iso`: 2024-12-31, 2024-12-31T23:59:59.999, 2024-12-31 23:59:59Z; `unix`: seconds since 1970; `unixMs`; or a pattern such as `dd/MM/yyyy HH:mm`.',
    ),
  zone: text
    .min(1)
    .optional()
    .describe('Time zone of texts without an offset: an IANA name such as `Europe/Oslo`, or `±hh:mm`. Default: UTC.'),
  ...placed,
});
const ignore = z.strictObject({ type: z.literal('ignore').describe('Not read.'), position });
const typedColumn = z.discriminatedUnion('type', [number, category, categories, label, weight, group, time, ignore]);

const cross = z
  .strictObject({
    cross: z
      .array(name)
      .min(2)
      .max(LIMITS.crossColumns)
      .describe('Names of the columns to combine: categories, and numbers with `quantiles`.'),
    buckets,
  })
  .describe('A category for each combination of the values of other columns.');

export const columnsSchema = z
  .record(name, z.union([z.enum(SHORT_TYPES), typedColumn, cross]))
  .describe('Formats with columns only: the columns to read, by name. Each is a type, or a type with settings.');

export const missingSchema = z.array(text).max(LIMITS.missingTexts);

export const dialectSchema = z.strictObject({
  header: z
    .boolean()
    .optional()
    .describe('Whether each file starts with a line of column names. Default: true; for interactions false.'),
  delimiter: delimiter
    .optional()
    .describe('Separator of fields. Default: a comma for csv, a tab for tsv and interactions.'),
  quote: z
    .union([z.literal('none'), character])
    .optional()
    .describe(
      'Character that encloses a field with delimiters or line breaks. `none`: no field is quoted. Default: `"`.',
    ),
  comment: character.optional().describe('Character that starts a comment line.'),
  missing: missingSchema
    .optional()
    .describe('Texts that mean a missing value. Same as `data.missing`; set only one of them.'),
  decimal: z.enum(['.', ',']).default('.').describe('Decimal separator of numbers.'),
});

export type ColumnsFile = z.output<typeof columnsSchema>;
export type DialectFile = z.output<typeof dialectSchema>;

/** The resolved forms, as the store carries them. */
export const resolvedColumnsSchema = z
  .array(
    z.discriminatedUnion('type', [
      number.extend({ name, normalize: z.enum(NORMALIZATIONS) }),
      category.extend({ name }),
      categories.extend({ name }),
      label.extend({ name }),
      weight.extend({ name }),
      group.extend({ name }),
      time
        .extend({ name, zone: text })
        .refine(({ zone }) => isZone(zone), 'expected a time zone')
        .refine(({ format }) => isTimeFormat(format), 'expected a time format'),
      ignore.extend({ name }),
      z.strictObject({ name, type: z.literal('cross'), of: z.array(name), buckets }),
    ]),
  )
  .max(LIMITS.columns);

export const resolvedDialectSchema = z.strictObject({
  header: z.boolean(),
  delimiter,
  runs: z.literal(true).optional(),
  quote: z.union([character, z.null()]),
  comment: character.optional(),
  missing: z.array(text),
  decimal: z.enum(['.', ',']),
});

const DELIMITERS: Readonly<Record<string, string>> = { csv: ',', tsv: '\t', interactions: '\t' };

/** Where the job does not say it. */
export const delimiterOf = (format: string): string => DELIMITERS[format] ?? ',';

/** `missing`: of the job, for all formats with columns. */
export function resolveDialect(
  format: string,
  file: DialectFile | undefined,
  missing: readonly string[] | undefined,
): Dialect {
  const { header, delimiter: written, quote, comment, decimal = '.', missing: ofFile } = file ?? {};
  const isInteractions = format === 'interactions';
  const divides = written ?? delimiterOf(format);
  return {
    header: header ?? !isInteractions,
    delimiter: divides,
    // Blanks are often as many as make columns.
    ...(isInteractions && divides === ' ' ? { runs: true } : {}),
    quote: quote === 'none' || isInteractions ? null : (quote ?? '"'),
    ...(comment === undefined ? {} : { comment }),
    missing: ofFile ?? missing ?? [''],
    decimal,
  };
}

/** Without a header each column has a position: its own, its name if that is a number, or its place in the list. */
export function resolveColumns(columns: ColumnsFile, { header }: Pick<Dialect, 'header'>): Column[] {
  const resolved = Object.entries(columns).map(([column, settings]): Column => resolveColumn(column, settings));
  if (header) return resolved;
  let place = 0;
  return resolved.map((column) => {
    if (column.type === 'cross' || isConstant(column)) return column;
    place += 1;
    return { ...column, position: column.position ?? (WHOLE.test(column.name) ? Number(column.name) : place) };
  });
}

/** Name of a column that is named by its position. */
export const WHOLE = /^[1-9]\d{0,3}$/;

function resolveColumn(name: string, settings: ColumnsFile[string]): Column {
  if (typeof settings === 'string') return resolveColumn(name, typedColumn.parse({ type: settings }));
  if ('cross' in settings) return { name, type: 'cross', of: settings.cross, buckets: settings.buckets };
  if (settings.type === 'time') return { ...settings, name, zone: settings.zone ?? 'UTC' };
  if (settings.type !== 'number') return { ...settings, name };
  const { normalize = settings.quantiles === undefined ? 'standard' : 'none' } = settings;
  return { ...settings, name, normalize };
}
