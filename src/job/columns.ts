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
const character = z.string().regex(/^[\t -/:-@[-`{-~]$/, 'expected one ASCII character that is no letter and no digit');

const delimiter = z
  .string()
  .regex(
    /^([\t -/:-@[-`{-~])\1?$/,
    'expected one ASCII character that is no letter and no digit; for format interactions, also one that is there twice',
  );

const position = countOf(1, LIMITS.columns)
  .optional()
  .describe('1-based place of its field in a line; by default where the header has its name.');
const from = z.literal('folder').optional().describe('Its value is in the path: `name=value` is a folder.');
const path = z
  .string()
  .min(1)
  .max(LIMITS.columnNameCharacters)
  .optional()
  .describe('Keys with dots between them that lead to its value in nested records. Default: its name, as one key.');
const placed = { position, path, from };

const ids = z
  .enum(['hash', 'integer'])
  .default('hash')
  .describe('How values become ids: by their text, or as the whole numbers that they are.');
const vocabulary = name.optional().describe('Columns with the same one share rows. Default: the name of the column.');
const buckets = countOf(1, 2 ** 40)
  .optional()
  .describe('Most different ids: values share rows by their hash.');

const number = z.strictObject({
  type: z.literal('number').describe('A number: one input, normalized.'),
  normalize: z
    .enum(NORMALIZATIONS)
    .optional()
    .describe(
      '`standard` (the default): distance from the mean in deviations; `minmax`: 0 to 1; `log`: log(1 + x), with its sign; `none`.',
    ),
  quantiles: countOf(2, LIMITS.quantiles)
    .optional()
    .describe('Make it a category of so many parts of equal count instead.'),
  missing: z
    .enum(['mean', 'zero', 'error'])
    .default('mean')
    .describe('What a missing one counts as: the `mean`, with an indicator; 0; or the record is bad.'),
  ...placed,
});
const category = z.strictObject({
  type: z.literal('category').describe('One value of some.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const categories = z.strictObject({
  type: z.literal('categories').describe('Any number of values.'),
  separator: character.default('|').describe('What separates its values.'),
  maxLength: countOf(1, LIMITS.listValues).default(1024).describe('A record with more values is bad.'),
  ids,
  vocabulary,
  buckets,
  ...placed,
});
const label = z.strictObject({
  type: z.literal('label').describe('What the model predicts.'),
  positive: texts.optional().describe('Texts that count as 1; others count as 0, unless `negative` is there.'),
  negative: texts.optional().describe('Texts that count as 0; a record with another text is bad.'),
  classes: texts.optional().describe('Texts of the classes 0, 1, and so on.'),
  value: z.literal(1).optional().describe('The label of each record, where no field has one: all are positive.'),
  position,
  path,
});
const weight = z.strictObject({
  type: z.literal('weight').describe('How much the record counts.'),
  position,
  path,
});
const group = z.strictObject({ type: z.literal('group').describe('Whose record it is.'), ids, position, path });
const time = z.strictObject({
  type: z.literal('time').describe('When the record was.'),
  format: text
    .min(1)
    .default('iso')
    .describe(
      '`iso`: 2024-12-31, 2024-12-31T23:59:59.999, 2024-12-31 23:59:59Z; `unix`: seconds since 1970; `unixMs`; or a pattern such as `dd/MM/yyyy HH:mm`.',
    ),
  zone: text
    .min(1)
    .optional()
    .describe('Of texts without an offset: an IANA name such as `Europe/Oslo`, or `±hh:mm`. Default: UTC.'),
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
      .describe('Names of the columns that are combined: categories, and numbers with `quantiles`.'),
    buckets,
  })
  .describe('A category for each combination of values.');

export const columnsSchema = z
  .record(name, z.union([z.enum(SHORT_TYPES), typedColumn, cross]))
  .describe('The columns that are read, by name: a type, or a type with settings.');

export const missingSchema = z.array(text).max(LIMITS.missingTexts);

export const dialectSchema = z.strictObject({
  header: z
    .boolean()
    .optional()
    .describe('Whether each file begins with the names of its columns. Default: true, of interactions false.'),
  delimiter: delimiter
    .optional()
    .describe('What separates the fields. Default: a comma for csv, a tab for tsv and interactions.'),
  quote: z
    .union([z.literal('none'), character])
    .optional()
    .describe(
      'What encloses a field that has delimiters or line breaks; `none`: it is an ordinary character. Default: `"`.',
    ),
  comment: character.optional().describe('A line that begins with it is no record.'),
  missing: missingSchema
    .optional()
    .describe(
      'Texts that mean that there is no value: the same as `data.missing`, which all formats with columns have.',
    ),
  decimal: z.enum(['.', ',']).default('.').describe('What is before the decimals of a number.'),
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
        .refine(({ format }) => isTimeFormat(format), 'expected a format of times'),
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
