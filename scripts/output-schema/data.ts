/** Commands of the group `data`, without `data inspect` (looks.ts). */
import * as z from 'zod';
import type { ListedChunk } from '../../src/data/bytes/packings/recordio/chunks.ts';
import type { PackedText } from '../../src/data/bytes/packings/recordio/pack.ts';
import type { NumberStatistics } from '../../src/data/columns/statistics.ts';
import type { Converted } from '../../src/data/formats/columns/write-file.ts';
import { DATA_FORMATS, type DataFormat } from '../../src/data/formats/registry.ts';
import type { DataIndex } from '../../src/data/source.ts';
import { SYNTH_FORMATS } from '../../src/data/synth/record-text.ts';
import type { PlantedReport, SynthResult } from '../../src/data/synth/synth.ts';
import { count, metrics, schemaOf } from './fields.ts';

export const numberStatistics = schemaOf<NumberStatistics>()(
  z.strictObject({
    name: z.string(),
    present: count.describe('Number of records with a value.'),
    missing: count.describe('Number of records without a value.'),
    mean: z.number(),
    deviation: z.number().describe('Standard deviation.'),
    min: z.number(),
    max: z.number(),
    bounds: z.array(z.number()).optional().describe('Bounds between the quantile bins of a column with `quantiles`.'),
  }),
).meta({ id: 'NumberStatistics' });

const indexedFile = schemaOf<DataIndex['files'][number]>()(
  z.strictObject({
    path: z.string().describe('Path of the file, relative to the data folder.'),
    bytes: count.describe('Size of the decompressed content, in bytes.'),
    records: count,
    labels: z
      .strictObject({ path: z.string(), bytes: count })
      .optional()
      .describe('The label file that belongs to this file.'),
    layout: z
      .strictObject({ fields: count.describe('Number of fields per line.'), positions: z.array(z.int().min(-1)) })
      .optional()
      .describe('Field of each column, counted from 0; -1 for a column that the file lacks.'),
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
    featureBound: z
      .string()
      .describe('Highest feature id + 1, or the width of dense inputs; at most 2^64, as decimal text.'),
    fieldBound: count.describe('Highest field of a feature + 1; 0 if features do not have fields.'),
    labelBound: count.describe('Highest whole label + 1.'),
    traits: z.strictObject({
      skippedChunks: z
        .array(
          z.strictObject({
            path: z.string(),
            chunks: count,
            records: count.describe('Number of records in these chunks, according to their headers.'),
          }),
        )
        .describe('Files with corrupt chunks, which paddlet skips.'),
      withoutFeatures: z.array(z.string()).describe('Files that have records, but no features.'),
      absentColumns: z.array(z.string()).describe('Columns that have no value in any record.'),
      completeColumns: z.array(z.string()).describe('Columns that have a value in every record.'),
      absentIn: z
        .array(z.strictObject({ path: z.string(), columns: z.array(z.string()) }))
        .describe('The first files that have no value in a column that has values in other files.'),
      hasZero: z.boolean().describe('Whether a label is 0.'),
      hasOne: z.boolean().describe('Whether a label is 1.'),
      hasMinusOne: z.boolean().describe('Whether a label is -1.'),
      hasOther: z.boolean().describe('Whether a label is any other number.'),
      lowest: z.number().optional().describe('Smallest label; absent if no record has a label.'),
      highest: z.number().optional().describe('Largest label; absent if no record has a label.'),
    }),
    statistics: z.array(numberStatistics).optional().describe('Statistics of the columns of type number.'),
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
    records: count.describe('Number of records, including bad records.'),
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
    chunk: count.describe('Number of the chunk, counted from 1.'),
    offset: count,
    bytes: count.describe('Bytes from the start of the chunk to the next chunk.'),
    records: count
      .optional()
      .describe('Number of records according to the header of the chunk; absent if the header is damaged.'),
    compressor: z
      .string()
      .optional()
      .describe('Compressor according to the header, a number if unknown; absent if the header is damaged.'),
    fault: z.string().optional().describe('Why the chunk is corrupt.'),
  }),
);
export const listRecordio = z.strictObject({
  path: z.string(),
  records: count.describe('Number of records in the chunks that are not corrupt.'),
  corrupt: count.describe('Number of corrupt chunks.'),
  chunks: z.array(listedChunk),
});
export const recordOfRecordio = z
  .strictObject({ record: count.describe('Number of the record, counted from 1.'), text: z.string() })
  .describe('A record of the file; one line per record.');

export const synth = schemaOf<PlantedReport & { files: Omit<SynthResult, 'report'> }>()(
  z.strictObject({
    files: z.strictObject({
      train: z.string(),
      test: z.string(),
      planted: z.string(),
      job: z.string().optional().describe('Job file that trains on the files, for formats with columns.'),
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
    test: metrics.describe('Metrics of the planted model on the test file.'),
  }),
);
