/** Commands of the group `train`: `run`, `init`, `evaluate`, `predict`. */
import * as z from 'zod';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import type { Scored } from '../../src/commands/evaluate/score-model.ts';
import type { Summary } from '../../src/commands/predict/summary.ts';
import type { DryRun } from '../../src/commands/run/dry-run.ts';
import { jobSchema } from '../../src/job/schema.ts';
import { count, jobName, listed, metrics, schemaOf, secondsSince1970 } from './fields.ts';

// ---- run ----

const result = z
  .strictObject({ ...jobResultSchema.shape, ...listed.shape })
  .describe('Result of the job, printed when the job ends.');

const counts = z.strictObject({ files: count, records: count, tasks: count });
const plan = z.strictObject({
  data: z.strictObject({ train: counts, test: counts.optional() }),
  work: z.strictObject({
    of: z.enum(['mini-batches', 'rounds']),
    perPass: count.describe('Units of work per pass; in sync mode, in the first pass.'),
    total: count,
    isExact: z.boolean(),
  }),
  processes: z.strictObject({ masters: z.literal(1), pservers: count, trainers: count }),
  parameters: z.array(
    z.strictObject({
      name: z.string(),
      optimizer: z.string(),
      shape: z.array(count).optional().describe('Shape of a dense parameter; absent for a table.'),
      rowBytes: count.optional().describe('Size of a row of a table, in bytes; absent for a dense parameter.'),
      rowsAtMost: count
        .optional()
        .describe('Maximum number of rows of a table; absent if the data can have any number of ids.'),
      bytes: count.optional().describe('Size with optimizer state, in bytes; for a table, the maximum size.'),
    }),
  ),
  memory: z
    .strictObject({
      denseBytes: count.describe('Dense parameters on the pserver that has the most, in bytes.'),
      tableBytesAtMost: count
        .optional()
        .describe(
          'Maximum size of the tables on an average pserver, in bytes; absent if the number of rows is unknown.',
        ),
      tableMemoryBytesAtMost: count
        .optional()
        .describe('Maximum memory that the tables on an average pserver take, with the index of ids, in bytes.'),
    })
    .describe('Memory of one pserver, including its copies of other units.'),
  checkpoints: z.strictObject({
    folder: z.string(),
    bytes: count.describe('Size of one checkpoint of all pservers, in bytes, without ledgers and headers.'),
    isAtLeast: z.boolean().describe('Whether `bytes` excludes table rows, since their number is unknown.'),
    generations: count.describe(
      'Number of checkpoints on disk at once: the newest, the older ones kept, and one being written.',
    ),
    deltaShare: z
      .number()
      .optional()
      .describe('Only with deltas: their size on each of these checkpoints, as a share of it.'),
    freeBytes: count,
  }),
});

const dryRun = schemaOf<DryRun>()(
  z
    .strictObject({
      job: jobSchema.meta({ id: 'Job', description: 'The job with all defaults filled in.' }),
      folder: z.string(),
      store: z.string(),
      would: z.enum(['begin', 'startOver', 'resume', 'continue', 'showEnd']),
      deletes: z
        .strictObject({
          pass: count.describe('Number of the pass, counted from 0.'),
          savedAt: secondsSince1970.optional(),
        })
        .optional()
        .describe('Progress of the job that `--fresh` deletes.'),
      isAgreed: z.boolean().optional().describe('Whether `--yes` is given.'),
      plan: plan.optional().describe('Sizes of the run; absent for a job that has ended.'),
    })
    .describe('What the run would do, with `--dry-run`.'),
);

export const run = z.union([result, dryRun]);

// ---- init ----

export const init = z.strictObject({
  path: z.string().describe('Path of the job file that paddlet wrote.'),
  summary: z.string(),
  next: z.array(z.string()).describe('Commands to run next.'),
});

// ---- evaluate and predict ----

const model = schemaOf<Scored<object>['from']>()(
  z.enum(['pservers', 'checkpoints', 'best']).describe('Where the parameters came from.'),
);

export const evaluate = z.strictObject({
  job: jobName,
  model,
  files: z.array(z.string()),
  ...metrics.shape,
  bad: count.describe('Number of invalid records, which have no score.'),
  ...listed.shape,
});

const summary = schemaOf<Summary>()(
  z
    .strictObject({
      job: jobName,
      model,
      records: count,
      bad: count.describe('Number of invalid records, which have no score.'),
      firstBad: z.array(z.string()).describe('The first invalid records, with their file and line.'),
      features: count.optional().describe('Number of features that the model looked up.'),
      unknownFeatures: count.optional().describe('Number of these features whose ids did not occur in training.'),
      unknownByColumn: z
        .array(z.strictObject({ column: z.string(), features: count }))
        .optional()
        .describe('Number of unknown features of each column, for formats with columns.'),
      absentColumns: z.array(z.string()).describe('Columns that have no value in any record.'),
      seconds: z.number(),
      recordsPerSecond: count,
    })
    .describe('Summary. Printed to stdout with `--output FILE`, otherwise to stderr after the logs.'),
);

const scoredRecord = (score: z.ZodRawShape): z.ZodType =>
  z
    .object({ ...score, error: z.string().optional().describe('Why the record has no score.') })
    .catchall(z.string())
    .describe('One line of `--as jsonl`, with or without `--json`. Includes the columns of `--keep`, as text.');

export const predict = z.union([
  summary,
  scoredRecord({ score: z.number().nullable() }),
  scoredRecord({ scores: z.record(z.string(), z.number()).nullable().describe('Score of each class.') }),
]);
