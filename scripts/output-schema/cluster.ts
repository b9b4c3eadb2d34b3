/** Commands of the group `cluster`, without `status` (status.ts). `pserver` and `trainer` print no result. */
import * as z from 'zod';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import type { EvaluationLine, HistoryLine, TableLine } from '../../src/commands/base/history-lines.ts';
import type { JobRow } from '../../src/commands/jobs/rows.ts';
import type { Sizes } from '../../src/commands/resize/request-sizes.ts';
import type { ProcessRow } from '../../src/commands/top/rows.ts';
import type { Answer } from '../../src/commands/why/answer.ts';
import { tableReport } from '../../src/protocol/messages/table-report.ts';
import { roleInfoSchema } from '../../src/view/info.ts';
import { count, errorCode, jobName, metrics, schemaOf, secondsSince1970 } from './fields.ts';
import { causes, share } from './status.ts';

export const master = jobResultSchema.describe('Result of the job, printed when the job ends.');

export const why = schemaOf<Answer>()(
  z.strictObject({
    job: jobName.optional().describe('Name of the job; absent while the store does not answer.'),
    phase: z.string().describe('Phase of the job, as in `status`; `unknown` while the store does not answer.'),
    recordsPerSecond: count
      .optional()
      .describe('Mean number of records trained per second since the master started to direct the job.'),
    quietSeconds: z.number().optional().describe('Seconds since a trainer last reported more records.'),
    causes,
    notes: z
      .array(z.strictObject({ table: z.string(), sentence: z.string(), hint: z.string() }))
      .optional()
      .describe('What holds nothing up, but should be known: tables that are too small.'),
  }),
);

const roles = roleInfoSchema.options.map(({ options: [waiting] }) => waiting.shape.role.value);

const processRow = schemaOf<ProcessRow>()(
  z.strictObject({
    role: z.enum(roles),
    id: z.string().describe('Index of a pserver or id of a trainer; empty for the master.'),
    rate: z
      .number()
      .optional()
      .describe('Rate in `unit` per second; absent in the first refresh that shows the process.'),
    unit: z.enum(['records', 'pushes', 'rounds']).optional(),
    megabytes: z.number().optional(),
    time: z
      .array(z.strictObject({ phase: z.string(), percent: count }))
      .optional()
      .describe('Where the time of the process went since the previous refresh, in percent; the largest share first.'),
    note: z.string().optional(),
  }),
);

export const top = z
  .strictObject({ job: jobName, processes: z.array(processRow) })
  .describe('Processes of the job; one line per refresh.');

export const logs = z
  .strictObject({ log: z.string().describe('Name of the log, such as `pserver-0`.'), text: z.string() })
  .describe('An entry of a log; one line per entry.');

const at = { time: secondsSince1970, ...metrics.shape };
const evaluationPoint = schemaOf<EvaluationLine>()(
  z.strictObject({
    kind: z.literal('evaluation'),
    name: z.string().describe('Name of the evaluated data; `test` means the test files.'),
    passes: count.describe('Number of passes that had ended.'),
    trained: count.describe('Number of records trained until then.'),
    ...at,
    records: count.optional(),
  }),
);
const { boundBytes: _, ...tableFigures } = tableReport.shape;
const tablePoint = schemaOf<TableLine>()(
  z.strictObject({
    kind: z.literal('table'),
    time: secondsSince1970,
    passes: count.describe('Number of passes that had ended.'),
    ...tableFigures,
  }),
);
const point = schemaOf<HistoryLine | TableLine>()(
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('train'),
      pass: count.describe('Number of the pass, counted from 0.'),
      trained: count.describe('Number of records trained until then; `records` counts those since the previous point.'),
      round: count.optional().describe('Sync mode: number of the round.'),
      ...at,
      records: count.optional(),
    }),
    z.strictObject({
      kind: z.literal('pass'),
      pass: count.describe('Number of the pass, counted from 0.'),
      ...at,
      records: count.optional(),
    }),
    evaluationPoint,
    tablePoint,
  ]),
).describe('A point of the history. With `--as jsonl`, one line per point, with or without `--json`.');

export const history = z.union([
  z.strictObject({ job: jobName, points: z.array(point) }),
  z
    .strictObject({
      job: jobName,
      path: z.string(),
      scalars: count.describe('Number of scalars written to the event file.'),
    })
    .describe('The event file, with `--as tensorboard`.'),
  point,
]);

const sizes = schemaOf<Sizes>()(z.strictObject({ pservers: count, trainers: count }));

export const resize = z.strictObject({
  job: jobName,
  ...sizes.shape,
  before: sizes,
  outcome: z.enum(['settled', 'requested', 'ended', 'stopped']).describe('Why paddlet stopped waiting.'),
  settled: z.boolean(),
  seconds: z.number(),
  units: z
    .strictObject({ total: count, toMove: count, orphans: count })
    .optional()
    .describe('Units of the job at the end of the wait; absent with `--no-wait`.'),
  processes: z
    .array(z.strictObject({ role: z.literal('pserver'), index: count, ...share, bytes: count }))
    .optional()
    .describe('Pservers of the job at the end of the wait; absent with `--no-wait`.'),
});

export const ui = z
  .strictObject({ link: z.string() })
  .describe('Link to the page, printed as soon as the page is served.');

export const viewToken = z.strictObject({ job: jobName, link: z.string() });

export const rotateToken = z.strictObject({ job: jobName, rotated: z.literal(true) });

const ofAllPasses = z.strictObject({ total: count, done: count });
const jobRow = schemaOf<JobRow>()(
  z.strictObject({
    name: jobName,
    folder: z.string().optional().describe("The job's folder; absent with --store."),
    store: z.string().optional().describe('The store that --store names; absent without --store.'),
    state: z
      .enum(['not started', 'running', 'stopped', 'done', 'failed'])
      .optional()
      .describe('State of the job; absent if there is an error.'),
    progress: z
      .strictObject({
        pass: count.describe('Number of passes that have ended.'),
        passes: count,
        tasks: ofAllPasses.optional().describe('Tasks of all passes, in async mode.'),
        rounds: ofAllPasses.optional().describe('Rounds of all passes, in sync mode.'),
      })
      .optional()
      .describe('Progress of the job; absent before the first task is handed out.'),
    created: secondsSince1970.optional().describe('When the job was published, in seconds since 1970.'),
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
  freedBytes: count.describe('Size of the files that paddlet deleted.'),
  kept: z.array(z.string()).describe('What paddlet did not delete, as sentences.'),
});

export const stop = z.union([
  z.strictObject({ stopped: z.literal(true) }),
  z
    .strictObject({ stopped: z.literal(false), requested: z.literal(true) })
    .describe('The request alone, with `--no-wait`.'),
]);
