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
/** Of what separates: one ASCII character that no number, name or line break has. */
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
  .describe('Position of the field in a line, from 1. Default: found by its name in the header.');
const from = z
  .literal('folder')
  .optional()
  .describe('Where the value comes from: `folder` reads it from a folder `name=value` in the path.');
const path = z
  .string()
  .min(1)
  .max(LIMITS.columnNameCharacters)
  .optional()
  .describe('Path to the value in nested records: keys separated by dots. Default: the column name, as one key.');
const placed = { position, path, from };

const ids = z
  .enum(['hash', 'integer'])
  .default('hash')
  .describe('How values become ids: by hashing their text, or directly as whole numbers.');
const vocabulary = name
  .optional()
  .describe('Name of the vocabulary; columns with the same vocabulary share rows. Default: the name of the column.');
const buckets = countOf(1, 2 ** 40)
  .optional()
  .describe('Maximum number of different ids; values are hashed to them and may share rows.');

const number = z.strictObject({
  type: z.literal('number').describe('A number: one normalized input.'),
  normalize: z
    .enum(NORMALIZATIONS)
    .optional()
    .describe(
      '`standard` (the default): distance from the mean in standard deviations; `minmax`: 0 to 1; `log`: log(1 + x) with the sign of x; `none`.',
    ),
  quantiles: countOf(2, LIMITS.quantiles)
    .optional()
    .describe('Number of quantiles to split the values into; the column becomes a category.'),
  missing: z
    .enum(['mean', 'zero', 'error'])
    .default('mean')
    .describe('How a missing number is treated: as the `mean`, with an indicator; as 0; or the record is bad.'),
  ...placed,
});
const category = z.strictObject({
  type: z.literal('category').describe('A category: one value per record.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const categories = z.strictObject({
  type: z.literal('categories').describe('Categories: any number of values per record.'),
  separator: character.default('|').describe('Separator between the values.'),
  maxLength: countOf(1, LIMITS.listValues)
    .default(1024)
    .describe('Maximum number of values; a record with more is bad.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const label = z.strictObject({
  type: z.literal('label').describe('The label: what the model predicts.'),
  positive: texts.optional().describe('Texts that count as 1. Other texts count as 0, unless `negative` is set.'),
  negative: texts.optional().describe('Texts that count as 0; a record with any other text is bad.'),
  classes: texts.optional().describe('Texts of the classes 0, 1, and so on, in this order.'),
  value: z
    .literal(1)
    .optional()
    .describe('The label of every record, if the data has no label field: every record is a positive example.'),
  position,
  path,
});
const weight = z.strictObject({
  type: z.literal('weight').describe('The weight of the record.'),
  position,
  path,
});
const group = z.strictObject({
  type: z.literal('group').describe('The group of the record, such as a user, for metrics by group.'),
  ids,
  position,
  path,
});
const time = z.strictObject({
  type: z.literal('time').describe('The time of the record.'),
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
  .describe('A cross: a category for each combination of values.');

export const columnsSchema = z
  .record(name, z.union([z.enum(SHORT_TYPES), typedColumn, cross]))
  .describe('The columns to read, by name: each has a type, or a type with settings.');

export const missingSchema = z.array(text).max(LIMITS.missingTexts);

export const dialectSchema = z.strictObject({
  header: z
    .boolean()
    .optional()
    .describe('Whether each file begins with a line of column names. Default: true; false for interactions.'),
  delimiter: delimiter
    .optional()
    .describe('Separator between the fields. Default: a comma for csv, a tab for tsv and interactions.'),
  quote: z
    .union([z.literal('none'), character])
    .optional()
    .describe(
      'Character that encloses fields with delimiters or line breaks; `none`: fields are not quoted. Default: `"`.',
    ),
  comment: character.optional().describe('Character that begins a comment line.'),
  missing: missingSchema
    .optional()
    .describe(
      'Texts that stand for a missing value; the same as `data.missing`, which works for all formats with columns.',
    ),
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

/** Of a column that is named by its position. */
export const WHOLE = /^[1-9]\d{0,3}$/;

function resolveColumn(name: string, settings: ColumnsFile[string]): Column {
  if (typeof settings === 'string') return resolveColumn(name, typedColumn.parse({ type: settings }));
  if ('cross' in settings) return { name, type: 'cross', of: settings.cross, buckets: settings.buckets };
  if (settings.type === 'time') return { ...settings, name, zone: settings.zone ?? 'UTC' };
  if (settings.type !== 'number') return { ...settings, name };
  const { normalize = settings.quantiles === undefined ? 'standard' : 'none' } = settings;
  return { ...settings, name, normalize };
}
