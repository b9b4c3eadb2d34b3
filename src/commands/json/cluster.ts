/** Commands of the group `cluster`, without `status` (status.ts). `pserver` and `trainer` print no result. */
import * as z from 'zod';
import { roleInfoSchema } from '../../cluster/info.ts';
import { jobResultSchema } from '../../cluster/job/job-result.ts';
import type { EvaluationLine, HistoryLine } from '../base/history-lines.ts';
import type { JobRow } from '../jobs/rows.ts';
import type { Sizes } from '../resize/request-sizes.ts';
import type { ProcessRow } from '../top/rows.ts';
import type { Answer } from '../why/answer.ts';
import { count, errorCode, jobName, metrics, schemaOf, secondsSince1970 } from './fields.ts';
import { causes, share } from './status.ts';

export const master = jobResultSchema.describe('When the job has ended.');

export const why = schemaOf<Answer>()(
  z.strictObject({
    job: jobName.optional().describe('Absent while the store does not answer.'),
    phase: z.string().describe('As that of `status`; unknown while the store does not answer.'),
    recordsPerSecond: count.optional().describe('Mean since the master began to direct the job.'),
    quietSeconds: z.number().optional().describe('For how long no trainer has reported more records.'),
    causes,
  }),
);

const roles = roleInfoSchema.options.map(({ options: [waiting] }) => waiting.shape.role.value);

const processRow = schemaOf<ProcessRow>()(
  z.strictObject({
    role: z.enum(roles),
    id: z.string().describe('Index of a pserver, id of a trainer, empty of the master.'),
    rate: z.number().optional().describe('Of its unit, in a second. Absent when it was not seen before.'),
    unit: z.enum(['records', 'pushes', 'rounds']).optional(),
    megabytes: z.number().optional(),
    time: z
      .array(z.strictObject({ phase: z.string(), percent: count }))
      .optional()
      .describe('What its time went to since the line before, the most first.'),
    note: z.string().optional(),
  }),
);

export const top = z.strictObject({ job: jobName, processes: z.array(processRow) }).describe('One line per refresh.');

export const logs = z
  .strictObject({ log: z.string().describe('Such as pserver-0.'), text: z.string() })
  .describe('A line each entry of a log.');

const at = { time: secondsSince1970, ...metrics.shape };
const evaluationPoint = schemaOf<EvaluationLine>()(
  z.strictObject({
    kind: z.literal('evaluation'),
    name: z.string().describe('Of what was evaluated: test are the test files.'),
    passes: count.describe('Passes that had ended.'),
    trained: count.describe('Records trained until then.'),
    ...at,
    records: count.optional(),
  }),
);
const point = schemaOf<HistoryLine>()(
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('train'),
      pass: count.describe('From 0.'),
      trained: count.describe('Records trained until then; `records` are those since the point before.'),
      round: count.optional().describe('Sync mode.'),
      ...at,
      records: count.optional(),
    }),
    z.strictObject({ kind: z.literal('pass'), pass: count.describe('From 0.'), ...at, records: count.optional() }),
    evaluationPoint,
  ]),
).describe('With --as jsonl one a line, whether --json is given or not.');

export const history = z.union([
  z.strictObject({ job: jobName, points: z.array(point) }),
  z
    .strictObject({ job: jobName, path: z.string(), scalars: count.describe('Written to the event file.') })
    .describe('With --as tensorboard.'),
  point,
]);

const sizes = schemaOf<Sizes>()(z.strictObject({ pservers: count, trainers: count }));

export const resize = z.strictObject({
  job: jobName,
  ...sizes.shape,
  before: sizes,
  outcome: z.enum(['settled', 'requested', 'ended', 'stopped']).describe('Why it was waited for no longer.'),
  settled: z.boolean(),
  seconds: z.number(),
  units: z.strictObject({ total: count, toMove: count, orphans: count }).optional().describe('Absent with --no-wait.'),
  processes: z
    .array(z.strictObject({ role: z.literal('pserver'), index: count, ...share, bytes: count }))
    .optional()
    .describe('Absent with --no-wait.'),
});

export const ui = z.strictObject({ link: z.string() }).describe('As soon as the page is served.');

export const viewToken = z.strictObject({ job: jobName, link: z.string() });

export const rotateToken = z.strictObject({ job: jobName, rotated: z.literal(true) });

const ofAllPasses = z.strictObject({ total: count, done: count });
const jobRow = schemaOf<JobRow>()(
  z.strictObject({
    name: jobName,
    folder: z.string().optional().describe("The job's folder; absent with --store."),
    state: z.enum(['not started', 'running', 'stopped', 'done', 'failed']).optional().describe('Absent if there is an error.'),
    progress: z
      .strictObject({
        pass: count.describe('Number of passes that have ended.'),
        passes: count,
        tasks: ofAllPasses.optional().describe('Tasks of all passes, in async mode.'),
        rounds: ofAllPasses.optional().describe('Rounds of all passes, in sync mode.'),
      })
      .optional()
      .describe('Absent before the first task is handed out.'),
    lastAlive: secondsSince1970
      .optional()
      .describe(
        'When the job ended, or last wrote a log or a checkpoint, in seconds since 1970; now if it is running.',
      ),
    bytes: count.optional().describe('Size of the folder and of all checkpoints; with --store, of the checkpoints.'),
    error: z
      .strictObject({ code: errorCode, message: z.string(), hint: z.string().optional() })
      .optional()
      .describe('Why the job cannot be read.'),
  }),
);

export const jobs = z.strictObject({ jobs: z.array(jobRow) });

export const deleteJob = z.strictObject({
  job: jobName,
  deleted: z.literal(true),
  kept: z.array(z.string()).describe('What paddlet did not delete, as sentences.'),
});

export const stop = z.union([
  z.strictObject({ stopped: z.literal(true) }),
  z.strictObject({ stopped: z.literal(false), requested: z.literal(true) }).describe('With --no-wait.'),
]);
