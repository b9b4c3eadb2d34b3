/** `data inspect --json`: a look at a file, at two files, or at one as a job reads it. */
import * as z from 'zod';
import type { ColumnFacts, NewValues } from '../../data/inspection/column-profile.ts';
import type { TableComparison } from '../../data/inspection/compare.ts';
import type { DenseLook } from '../../data/inspection/dense.ts';
import type { NumberFacts } from '../../data/inspection/histogram.ts';
import type { JobLook } from '../../data/inspection/job-columns.ts';
import type { Look } from '../../data/inspection/look.ts';
import type { SparseLook } from '../../data/inspection/sparse.ts';
import type { TableLook } from '../../data/inspection/table.ts';
import type { TypedColumn } from '../../data/inspection/types.ts';
import { numberStatistics } from './data.ts';
import { computed, count, jobName, schemaOf, tally } from './fields.ts';

const share = z.number().min(0).describe('A share, from 0 to 1.');
const msSince1970 = z.number().describe('Milliseconds since 1970, in UTC.');
const path = z.string();
const isWhole = z.boolean().describe('All records of the file were read.');
const labels = z.array(z.strictObject({ label: z.number(), count })).describe('The most frequent ones.');

const numbers = schemaOf<NumberFacts>()(
  z.strictObject({
    count,
    min: computed,
    max: computed,
    mean: computed,
    deviation: computed,
    histogram: z.array(count).describe('Records by parts of the range of equal width.'),
  }),
).meta({ id: 'Numbers' });

const newValues = schemaOf<NewValues>()(
  z
    .strictObject({ known: count, records: count, distinct: count, examples: z.array(z.string()) })
    .describe('Number of the `known` records of the second file with a value that the first file lacks.'),
);

// ---- tables ----

const typed = {
  type: z.enum(['number', 'category', 'categories', 'time', 'ignore']).describe('What it seems to be.'),
  why: z.string(),
  isCode: z.boolean().describe('Its values are names; numbers among them are not quantities.'),
  isSkewed: z.boolean(),
  missingTexts: tally.describe('Texts that stand for a missing value.'),
  missing: count.describe('Records without a value.'),
  bad: count.describe('Records whose text is not of the type.'),
  distinct: count,
  top: tally.describe('The most frequent values.'),
};

const column = schemaOf<ColumnFacts & TypedColumn>()(
  z.strictObject({
    name: z.string(),
    hasName: z.boolean().describe('The file has it.'),
    path: z.string().optional().describe('Path to the value: keys separated by dots; absent if the file has the name.'),
    stored: z.string().optional().describe('What its values are in the file: of jsonl and parquet.'),
    isList: z.boolean().optional().describe('Its values are lists: texts here have bars between the values of one.'),
    unreadable: z.string().optional().describe('Why no column of a job can have its values.'),
    isId: z.boolean().optional().describe('The format says that its values are ids.'),
    isTime: z.boolean().optional().describe('The format says that its values are times.'),
    time: z.string().optional().describe('The format of times that it could have.'),
    otherTime: z.string().optional().describe('Another one that reads them.'),
    separator: z.string().optional().describe('Between values of a list.'),
    records: count,
    empty: count,
    numberRecords: count,
    wholeRecords: count.describe('With a whole number.'),
    timeRecords: count,
    textRecords: count,
    firstText: z.string().optional(),
    isDistinctExact: z.boolean(),
    numbers: numbers.optional(),
    hasLeadingZero: z.boolean(),
    isAscending: z.boolean(),
    meanLength: z.number(),
    times: z.strictObject({ min: msSince1970, max: msSince1970, late: msSince1970 }).optional(),
    explained: share.describe('Of records whose label follows from the value.'),
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
      .describe('Texts of the label that are rare, and none of its classes.'),
    label: z.strictObject({ column: count.describe('Its number, from 0.'), why: z.string() }).optional(),
    leaks: z.array(z.string()).describe('Columns that nearly equal the label.'),
    unlisted: z
      .array(z.string())
      .describe(
        'Examples of keys that are not columns: the first JSON records lack them, or the file has too many keys.',
      ),
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
          missing: count.describe('Records without a value, where the first file has none.'),
        }),
      )
      .describe('Columns with a difference.'),
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
    perRecord: numbers.optional().describe('Features of a record.'),
    values: numbers.optional(),
    ids: count.describe('Different ones.'),
    areIdsExact: z.boolean(),
    highestId: z.string().optional(),
    fields: count.optional().describe('libffm: highest field + 1.'),
    density: share.describe('Of all ids up to the highest, that a record has.'),
    newIds: z
      .strictObject({ known: count, features: count })
      .optional()
      .describe('Number of the `known` features of a second file with ids that the first file lacks.'),
  }),
);

const dense = schemaOf<Extract<Look, DenseLook>>()(
  z.strictObject({
    kind: z.literal('idx'),
    path,
    labelsPath: z.string(),
    records: count,
    inputs: count.describe('Of a record.'),
    classes: z.array(count).describe('Records of each class.'),
  }),
);

const look = z.discriminatedUnion('kind', [table, sparse, dense]).meta({ id: 'Look' });

// ---- as a job reads it ----

const badRecord = z.strictObject({
  file: z.string(),
  line: count.describe('From 1.'),
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
      collisions: z.number().describe('Expected pairs of values with the same id.'),
      sharing: z.number().optional().describe('Expected share of values that share a bucket.'),
    })
    .optional(),
  statistics: numberStatistics.optional(),
  normalized: z.tuple([z.number(), z.number()]).optional().describe('Least and greatest number as models take it.'),
  numbers: numbers.optional(),
});

const jobLook = schemaOf<JobLook & { job: string }>()(
  z
    .strictObject({
      job: jobName,
      path,
      records: count.describe('Good ones.'),
      isWhole,
      bad: z.strictObject({ records: count, first: z.array(badRecord) }),
      labels,
      columns: z.array(readColumn),
    })
    .describe('With --job.'),
);

export const inspect = z.union([
  look,
  z
    .strictObject({
      files: z.tuple([look, look]),
      comparison: comparison.optional().describe('Of two tables.'),
    })
    .describe('Of two files.'),
  jobLook,
]);
