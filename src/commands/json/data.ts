/** Commands of the group `data`, without `data inspect` (looks.ts). */
import * as z from 'zod';
import type { NumberStatistics } from '../../data/columns/statistics.ts';
import type { Converted } from '../../data/formats/columns/write-file.ts';
import { DATA_FORMATS, type DataFormat } from '../../data/formats/registry.ts';
import type { ListedChunk } from '../../data/packings/recordio/chunks.ts';
import type { PackedText } from '../../data/packings/recordio/pack.ts';
import type { DataIndex } from '../../data/source.ts';
import { SYNTH_FORMATS } from '../../data/synth/record-text.ts';
import type { PlantedReport, SynthResult } from '../../data/synth/synth.ts';
import { count, metrics, schemaOf } from './fields.ts';

export const numberStatistics = schemaOf<NumberStatistics>()(
  z.strictObject({
    name: z.string(),
    present: count.describe('Records with a value.'),
    missing: count,
    mean: z.number(),
    deviation: z.number().describe('Root of the mean squared distance from the mean.'),
    min: z.number(),
    max: z.number(),
    bounds: z.array(z.number()).optional().describe('Between the parts of a column with quantiles.'),
  }),
).meta({ id: 'NumberStatistics' });

const indexedFile = schemaOf<DataIndex['files'][number]>()(
  z.strictObject({
    path: z.string().describe('Relative to the data folder.'),
    bytes: count.describe('Inflated.'),
    records: count,
    labels: z.strictObject({ path: z.string(), bytes: count }).optional().describe('The file of its labels.'),
    layout: z
      .strictObject({ fields: count.describe('Of a line.'), positions: z.array(z.int().min(-1)) })
      .optional()
      .describe('The field of each column that has separate values, or -1.'),
  }),
);

type ShownIndex = Omit<DataIndex, 'format' | 'chunks'> & {
  readonly format: DataFormat;
  readonly chunks: number;
  readonly tasks: number;
  readonly recordsPerTask: number;
};
export const index = schemaOf<ShownIndex>()(
  z.strictObject({
    format: z.enum(DATA_FORMATS),
    files: z.array(indexedFile),
    records: count,
    featureBound: z.string().describe('Highest feature id + 1, or the width of dense inputs: up to 2^64.'),
    fieldBound: count.describe('Highest field of a feature + 1; 0 where features have no fields.'),
    labelBound: count.describe('Highest whole label + 1.'),
    traits: z.strictObject({
      skippedChunks: z
        .array(z.strictObject({ path: z.string(), chunks: count, records: count.describe('As their headers say.') }))
        .describe('Files that are read without their corrupt chunks.'),
      withoutFeatures: z.array(z.string()).describe('Files with records, but without any feature.'),
      absentColumns: z.array(z.string()).describe('Columns without a value in any record.'),
      completeColumns: z.array(z.string()).describe('Columns with a value in every record.'),
      absentIn: z
        .array(z.strictObject({ path: z.string(), columns: z.array(z.string()) }))
        .describe('Files in which no record has a value of a column that other files have; the first of them.'),
      hasZero: z.boolean().describe('A label is 0.'),
      hasOne: z.boolean(),
      hasMinusOne: z.boolean(),
      hasOther: z.boolean().describe('A label is not one of these.'),
      lowest: z.number().optional().describe('Smallest label; absent where no record has one.'),
      highest: z.number().optional().describe('Largest label.'),
    }),
    statistics: z.array(numberStatistics).optional().describe('Of number columns.'),
    digest: z.string(),
    chunks: count,
    tasks: count,
    recordsPerTask: count,
  }),
);

const converted = schemaOf<Converted & { from: string; to: string }>()(
  z.strictObject({
    from: z.string(),
    to: z.string(),
    records: count.describe('Bad ones included.'),
    bad: count,
    bytes: count,
  }),
);

export const convert = z.strictObject({ files: z.array(converted) });

export const packRecordio = schemaOf<PackedText & { to: string }>()(
  z.strictObject({ to: z.string(), records: count, chunks: count, bytes: count }),
);

const listedChunk = schemaOf<ListedChunk>()(
  z.strictObject({
    chunk: count.describe('From 1 on.'),
    offset: count,
    bytes: count.describe('Up to the next chunk.'),
    records: count.optional().describe('As its header says; missing when that is damaged.'),
    compressor: z.string().optional().describe('The same; a number when it is unknown.'),
    fault: z.string().optional().describe('What is wrong with a corrupt chunk.'),
  }),
);
export const listRecordio = z.strictObject({
  path: z.string(),
  records: count.describe('Of chunks that are not corrupt.'),
  corrupt: count.describe('Chunks.'),
  chunks: z.array(listedChunk),
});
export const recordOfRecordio = z
  .strictObject({ record: count.describe('From 1 on.'), text: z.string() })
  .describe('A line each record.');

export const synth = schemaOf<PlantedReport & { files: Omit<SynthResult, 'report'> }>()(
  z.strictObject({
    files: z.strictObject({
      train: z.string(),
      test: z.string(),
      planted: z.string(),
      job: z.string().optional().describe('Of formats with columns: a job that trains on the files.'),
    }),
    options: z.strictObject({
      records: count,
      testRecords: count,
      features: count,
      perRecord: count,
      numbers: count,
      missing: z.number(),
      factors: count,
      noise: z.number(),
      seed: count,
      format: z.enum(SYNTH_FORMATS),
    }),
    trainPositives: count,
    test: metrics.describe('Of the planted model on the test file.'),
  }),
);
