/** `data inspect --json`: a look at a file, at two files, or at one as a job reads it. */
import * as z from 'zod';
import type { ColumnFacts, NewValues } from '../../src/data/inspection/column-profile.ts';
import type { TableComparison } from '../../src/data/inspection/compare.ts';
import type { DenseLook } from '../../src/data/inspection/dense.ts';
import type { NumberFacts } from '../../src/data/inspection/histogram.ts';
import type { JobLook } from '../../src/data/inspection/job-columns.ts';
import type { Look } from '../../src/data/inspection/look.ts';
import type { SparseLook } from '../../src/data/inspection/sparse.ts';
import type { TableLook } from '../../src/data/inspection/table.ts';
import type { TypedColumn } from '../../src/data/inspection/types.ts';
import { numberStatistics } from './data.ts';
import { computed, count, jobName, schemaOf, tally } from './fields.ts';

const share = z.number().min(0).describe('A fraction, from 0 to 1.');
const msSince1970 = z.number().describe('Milliseconds since 1970, in UTC.');
const path = z.string();
const isWhole = z.boolean().describe('Whether paddlet read all records of the file.');
const labels = z
  .array(z.strictObject({ label: z.number(), count }))
  .describe('The most frequent labels with their numbers of records.');

const numbers = schemaOf<NumberFacts>()(
  z.strictObject({
    count,
    min: computed,
    max: computed,
    mean: computed,
    deviation: computed,
    histogram: z.array(count).describe('Number of records in each bin; all bins have the same width.'),
  }),
).meta({ id: 'Numbers' });

const newValues = schemaOf<NewValues>()(
  z
    .strictObject({ known: count, records: count, distinct: count, examples: z.array(z.string()) })
    .describe('Values of the second file that the first file lacks: `records` of the `known` records have them.'),
);

// ---- tables ----

const typed = {
  type: z.enum(['number', 'category', 'categories', 'time', 'ignore']).describe('Guessed type of the column.'),
  why: z.string().describe('Reason for the guessed type.'),
  isCode: z.boolean().describe('Whether the values are names; numbers among them are not quantities.'),
  isSkewed: z.boolean().describe('Whether the distribution is so skewed that quantile bins suit the column better.'),
  isOtherNumber: z.boolean().describe('Whether all texts are numbers in a form that paddlet does not read.'),
  missingTexts: tally.describe('Texts that mean a missing value.'),
  missing: count.describe('Number of records without a value.'),
  bad: count.describe('Number of records whose text is not a value of the type.'),
  distinct: count.describe('Number of distinct values.'),
  top: tally.describe('The most frequent values.'),
};

const column = schemaOf<ColumnFacts & TypedColumn>()(
  z.strictObject({
    name: z.string(),
    hasName: z.boolean().describe('Whether the name comes from the file.'),
    path: z
      .string()
      .optional()
      .describe('Path of the value: keys separated by dots; absent if the key in the file is the name.'),
    stored: z.string().optional().describe('Type of the values in the file, for jsonl and parquet.'),
    isList: z
      .boolean()
      .optional()
      .describe('Whether each value is a list; texts in this output separate the elements of a list by bars.'),
    unreadable: z.string().optional().describe('Why a job cannot read the column.'),
    isId: z.boolean().optional().describe('Whether the format says that the values are ids.'),
    isTime: z.boolean().optional().describe('Whether the format says that the values are times.'),
    time: z.string().optional().describe('Guessed format, if the values may be times.'),
    otherTime: z.string().optional().describe('Another time format that reads the same values.'),
    separator: z.string().optional().describe('Guessed separator, if the values may be lists.'),
    records: count,
    empty: count.describe('Number of records whose text is empty.'),
    numberRecords: count.describe('Number of records whose text is a number.'),
    wholeRecords: count.describe('Number of records whose text is a whole number.'),
    timeRecords: count.describe('Number of records whose text is a time in the guessed format.'),
    textRecords: count.describe('Number of records whose text is neither a number nor a missing value.'),
    firstText: z.string().optional(),
    isDistinctExact: z.boolean(),
    numbers: numbers.optional(),
    hasLeadingZero: z.boolean(),
    isAscending: z.boolean(),
    meanLength: z.number(),
    times: z.strictObject({ min: msSince1970, max: msSince1970, late: msSince1970 }).optional(),
    explained: share.describe('Fraction of the records whose label follows from the value.'),
    newValues: newValues.optional(),
    ...typed,
  }),
);

type ShownTable = Omit<Extract<Look, TableLook>, 'columns' | 'distinct'> & {
  readonly columns: readonly (ColumnFacts & TypedColumn)[];
};
const table = schemaOf<ShownTable>()(
  z.strictObject({
    kind: z.literal('table'),
    path,
    form: z.discriminatedUnion('format', [
      z.strictObject({
        format: z.enum(['csv', 'tsv', 'interactions']),
        delimiter: z.string(),
        quote: z.string().nullable(),
        comment: z.string().optional(),
        header: z.boolean(),
        decimal: z.enum(['.', ',']),
      }),
      z.strictObject({ format: z.literal('jsonl') }),
      z.strictObject({ format: z.literal('parquet'), rowGroups: count }),
    ]),
    columns: z.array(column),
    records: count,
    isWhole,
    bad: z.strictObject({ records: count, first: z.array(z.strictObject({ line: count, reason: z.string() })) }),
    strayLabels: z
      .array(z.strictObject({ text: z.string(), count }))
      .describe('Rare texts of the label column that are probably not classes.'),
    label: z
      .strictObject({ column: count.describe('Position of the label column, counted from 0.'), why: z.string() })
      .optional(),
    leaks: z.array(z.string()).describe('Columns that nearly equal the label.'),
    unlisted: z
      .array(z.string())
      .describe('Examples of keys that are not columns: the first records lack them, or the file has too many keys.'),
  }),
);

const comparison = schemaOf<TableComparison>()(
  z.strictObject({
    columns: z
      .array(
        z.strictObject({
          name: z.string(),
          newValues: newValues.optional(),
          ranges: z
            .strictObject({
              of: z.enum(['number', 'time']),
              first: z.tuple([computed, computed]),
              second: z.tuple([computed, computed]),
            })
            .optional(),
          missing: count.describe(
            'Records of the second file without a value, if no record of the first file lacks one.',
          ),
        }),
      )
      .describe('Columns that differ.'),
    compared: count,
    onlyFirst: z.array(z.string()),
    onlySecond: z.array(z.string()),
  }),
);

// ---- other formats ----

const sparse = schemaOf<Omit<Extract<Look, SparseLook>, 'distinct'>>()(
  z.strictObject({
    kind: z.enum(['libsvm', 'libffm']),
    path,
    hasWeights: z.boolean(),
    records: count,
    isWhole,
    bad: z.strictObject({ records: count, first: z.array(z.strictObject({ line: count, reason: z.string() })) }),
    labels,
    distinctLabels: count,
    hasGroups: z.boolean(),
    perRecord: numbers.optional().describe('Number of features per record.'),
    values: numbers.optional().describe('Values of the features.'),
    ids: count.describe('Number of distinct feature ids.'),
    areIdsExact: z.boolean(),
    highestId: z.string().optional(),
    fields: count.optional().describe('Highest field + 1, for libffm.'),
    density: share.describe('Mean fraction of all ids up to the highest that a record has.'),
    newIds: z
      .strictObject({ known: count, features: count })
      .optional()
      .describe('Features of the second file whose ids the first file lacks: `features` of the `known` features.'),
  }),
);

const dense = schemaOf<Extract<Look, DenseLook>>()(
  z.strictObject({
    kind: z.literal('idx'),
    path,
    labelsPath: z.string(),
    records: count,
    inputs: count.describe('Number of inputs per record.'),
    classes: z.array(count).describe('Number of records of each class.'),
  }),
);

const look = z.discriminatedUnion('kind', [table, sparse, dense]).meta({ id: 'Look' });

// ---- as a job reads it ----

const badRecord = z.strictObject({
  file: z.string(),
  line: count.describe('Line of the record, counted from 1.'),
  byteOffset: count,
  reason: z.string(),
  text: z.string().optional(),
});

const readColumn = z.strictObject({
  name: z.string(),
  type: z.string(),
  missing: count,
  ids: z
    .strictObject({
      distinct: count,
      isExact: z.boolean(),
      collisions: z.number().describe('Expected number of pairs of values with the same id.'),
      sharing: z
        .number()
        .optional()
        .describe('Expected fraction of the values that share a bucket with another value.'),
    })
    .optional(),
  statistics: numberStatistics.optional(),
  normalized: z
    .tuple([z.number(), z.number()])
    .optional()
    .describe('Minimum and maximum after normalization, as models read the column.'),
  numbers: numbers.optional(),
});

const jobLook = schemaOf<JobLook & { job: string }>()(
  z
    .strictObject({
      job: jobName,
      path,
      records: count.describe('Number of records that are not bad.'),
      isWhole,
      bad: z.strictObject({ records: count, first: z.array(badRecord) }),
      labels,
      columns: z.array(readColumn),
    })
    .describe('The file as a job reads it, with `--job`.'),
);

export const inspect = z.union([
  look,
  z
    .strictObject({
      files: z.tuple([look, look]),
      comparison: comparison.optional().describe('Differences between two tables.'),
    })
    .describe('Two files and their differences.'),
  jobLook,
]);
