/** Commands of the group `train`: `run`, `init`, `evaluate`, `predict`. */
import * as z from 'zod';
import { jobResultSchema } from '../../cluster/job/job-result.ts';
import { jobSchema } from '../../job/schema.ts';
import type { Scored } from '../evaluate/score-model.ts';
import type { Summary } from '../predict/summary.ts';
import type { DryRun } from '../run/dry-run.ts';
import { count, jobName, listed, metrics, schemaOf, secondsSince1970 } from './fields.ts';

// ---- run ----

const result = z.strictObject({ ...jobResultSchema.shape, ...listed.shape }).describe('When the job has ended.');

const counts = z.strictObject({ files: count, records: count, tasks: count });
const plan = z.strictObject({
  data: z.strictObject({ train: counts, test: counts.optional() }),
  work: z.strictObject({
    of: z.enum(['mini-batches', 'rounds']),
    perPass: count.describe('In sync mode of the first pass.'),
    total: count,
    isExact: z.boolean(),
  }),
  processes: z.strictObject({ masters: z.literal(1), pservers: count, trainers: count }),
  parameters: z.array(
    z.strictObject({
      name: z.string(),
      optimizer: z.string(),
      shape: z.array(count).optional().describe('Of a dense parameter.'),
      rowBytes: count.optional().describe('Of a table.'),
      rowsAtMost: count.optional().describe('Absent where the data can have any number of ids.'),
      bytes: count.optional().describe('With the state of the optimizer; of a table at most.'),
    }),
  ),
  memory: z
    .strictObject({
      denseBytes: count.describe('Of the pserver with the most.'),
      tableBytesAtMost: count.optional().describe('On the average; absent where the number of rows is not known.'),
    })
    .describe('Of one pserver, with copies of what others lead, without the index of the ids.'),
  checkpoints: z.strictObject({
    folder: z.string(),
    bytes: count.describe('Of one of all pservers, without ledgers and headers.'),
    isAtLeast: z.boolean().describe('The number of rows is not known: without rows.'),
    generations: count.describe('The newest, those that are kept, and one that is being written.'),
    freeBytes: count,
  }),
});

const dryRun = schemaOf<DryRun>()(
  z
    .strictObject({
      job: jobSchema.meta({ id: 'Job', description: 'With all defaults.' }),
      folder: z.string(),
      store: z.string(),
      would: z.enum(['begin', 'startOver', 'resume', 'continue', 'showEnd']),
      deletes: z
        .strictObject({ pass: count.describe('From 0.'), savedAt: secondsSince1970.optional() })
        .optional()
        .describe('How far the job is that --fresh deletes.'),
      isAgreed: z.boolean().optional().describe('Whether --yes is given.'),
      plan: plan.optional().describe('Absent of a job that has ended.'),
    })
    .describe('With --dry-run.'),
);

export const run = z.union([result, dryRun]);

// ---- init ----

export const init = z.strictObject({
  path: z.string().describe('The job file that was written.'),
  summary: z.string(),
  next: z.array(z.string()).describe('Command lines.'),
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
  bad: count.describe('Records that have no score, since they are invalid.'),
  ...listed.shape,
});

const summary = schemaOf<Summary>()(
  z
    .strictObject({
      job: jobName,
      model,
      records: count,
      bad: count.describe('Without a score.'),
      firstBad: z.array(z.string()).describe('The first of these, with their places.'),
      features: count.optional().describe('That the model was asked for.'),
      unknownFeatures: count.optional().describe('Those of them that training has not met.'),
      unknownByColumn: z
        .array(z.strictObject({ column: z.string(), features: count }))
        .optional()
        .describe('The same by column, of formats with columns.'),
      absentColumns: z.array(z.string()).describe('Columns that no record has a value of.'),
      seconds: z.number(),
      recordsPerSecond: count,
    })
    .describe('With --output FILE; without it on the standard error, after the logs.'),
);

const scoredRecord = (score: z.ZodRawShape): z.ZodType =>
  z
    .object({ ...score, error: z.string().optional().describe('Why the record does not have a score.') })
    .catchall(z.string())
    .describe('A line of --as jsonl, whether --json is given or not; with the columns of --keep, as text.');

export const predict = z.union([
  summary,
  scoredRecord({ score: z.number().nullable() }),
  scoredRecord({ scores: z.record(z.string(), z.number()).nullable().describe('By class.') }),
]);
