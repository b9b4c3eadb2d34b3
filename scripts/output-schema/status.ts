/** `status --json`, once and with `--watch` (one line per refresh), and `status --verify --json`. */
import * as z from 'zod';
import type { UnitCopiesStatus } from '../../src/cluster/client/describe-copies.ts';
import { clusterStatusSchema } from '../../src/cluster/job/cluster-status.ts';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { startCommandSchema } from '../../src/cluster/job/start-command.ts';
import { pserverRecordSchema } from '../../src/cluster/placement/pserver-record.ts';
import type { Spread } from '../../src/cluster/placement/spread.ts';
import { TROUBLE_KINDS } from '../../src/cluster/troubles.ts';
import type { CopiesVerification } from '../../src/commands/status/verify-copies.ts';
import { copyMessages } from '../../src/protocol/messages/copies.ts';
import type { NewestCheckpoint } from '../../src/view/describe-job.ts';
import type { Waiting } from '../../src/view/health.ts';
import { JOB_PHASES, roleInfoSchema } from '../../src/view/info.ts';
import type { JobPhase } from '../../src/view/job-view.ts';
import { CAUSE_KINDS, type Cause } from '../../src/view/why/cause.ts';
import { count, errorCode, exitCode, jobName, listed, schemaOf, secondsSince1970 } from './fields.ts';

export const phase = schemaOf<JobPhase>()(
  z.enum([...JOB_PHASES, 'waiting', 'unresponsive', 'stopped', 'done', 'failed']).meta({ id: 'Phase' }),
);

export const causes = schemaOf<readonly Cause[]>()(
  z
    .array(
      z.strictObject({
        kind: z.enum(CAUSE_KINDS),
        sentence: z.string(),
        hint: z.string().optional().describe('What to do next.'),
      }),
    )
    .meta({ id: 'Causes', description: 'Why the job makes no progress; the root cause first.' }),
);

// ---- the cluster ----

const waiting = schemaOf<Waiting>()(
  z.strictObject({
    kind: z.enum(['master', 'pservers', 'trainers', 'copies', 'lease', ...TROUBLE_KINDS]),
    text: z.string().describe('What the job waits for, to be read after "waiting for".'),
    withinMs: count.optional().describe('Remaining time of the wait in milliseconds, if known.'),
  }),
);

const cluster = z
  .strictObject({
    ...clusterStatusSchema.shape,
    nodes: clusterStatusSchema.shape.nodes.describe('Indexes of the pservers that answer.'),
    waitingFor: z.array(waiting),
    run: z
      .strictObject({ pid: count.optional() })
      .optional()
      .describe('The `paddlet run` that uses the folder, while none of its processes answers.'),
    written: z
      .strictObject({ ...clusterStatusSchema.shape, believed: z.boolean() })
      .optional()
      .describe('Status that the last master wrote; outdated unless `believed` is true.'),
  })
  .meta({ id: 'Cluster' });

// ---- units ----

const told = copyMessages.unitCopies.reply.shape.units.element;
const copiesOfUnit = z.strictObject({
  unit: count,
  primary: count.optional().describe('Index of the live pserver that is primary of the unit.'),
  inSync: z.array(count).describe('Indexes of the live pservers that have all updates, including the primary.'),
  ...told.omit({ unit: true }).partial().shape,
});
schemaOf<Omit<UnitCopiesStatus, 'told'>>()(copiesOfUnit);

const lacking = schemaOf<Spread['lacking']>()(z.array(z.strictObject({ unit: count, copies: count })));

const units = z
  .strictObject({
    total: count,
    toMove: count.describe('Number of units that are to move to another live pserver.'),
    orphans: count.describe('Number of units without a live primary.'),
    lacking: lacking.optional().describe('Units with fewer live copies than `cluster.replicas`.'),
    copies: z
      .array(copiesOfUnit)
      .optional()
      .describe('Copies of each unit, while processes live and `cluster.replicas` is 2 or more.'),
  })
  .meta({ id: 'Units' });

// ---- processes ----

const registered = {
  address: z.string(),
  lease: z.string().describe("Lease of the process's key in the store, in hexadecimal."),
};
/** Facts about a pserver that are known whether it answers or not. */
export const share = {
  status: pserverRecordSchema.shape.status.optional(),
  isLeaving: z
    .boolean()
    .describe('Whether its units move to other pservers, since the pserver is being stopped or removed.'),
  units: count.describe('Number of units whose primary is this pserver.'),
  hostLabel: pserverRecordSchema.shape.hostLabel,
  zone: pserverRecordSchema.shape.zone,
};
const ofPserver = { ...z.strictObject(share).partial().shape, copies: count.optional() };

const silent = {
  ...registered,
  answers: z.literal(false),
  error: z
    .strictObject({ code: errorCode, message: z.string() })
    .optional()
    .describe('Why paddlet cannot use the answer of the process.'),
};
const answering = { ...registered, answers: z.literal(true) };

const [masterInfo, pserverInfo, trainerInfo] = roleInfoSchema.options;
const [waitingMaster, directingMaster] = masterInfo.options;
const [asyncMaster, syncMaster] = directingMaster.options;
const [waitingPserver, workingPserver] = pserverInfo.options;

const process = z
  .union([
    ...[waitingMaster, asyncMaster, syncMaster].map((info) => z.strictObject({ ...info.shape, ...answering })),
    ...[waitingPserver, ...workingPserver.options].map((info) =>
      z.strictObject({ ...ofPserver, ...info.shape, index: count, ...answering }),
    ),
    ...trainerInfo.options.map((info) => z.strictObject({ ...info.shape, ...answering })),
    z.strictObject({ role: z.literal('master'), ...silent }),
    z.strictObject({ role: z.literal('pserver'), index: count, ...silent, ...ofPserver }),
    z.strictObject({ role: z.literal('trainer'), id: z.string(), ...silent }),
  ])
  .meta({ id: 'Process' });

// ---- how far the job is ----

const savedAsync = {
  pass: count,
  tasks: z.strictObject({ total: count, done: count, discarded: count }),
  records: z.strictObject({ read: count, bad: count, duplicate: count }),
};
const savedSync = {
  pass: count,
  rounds: z.strictObject({ total: count, round: count, records: count }),
};

/** From the ledgers of the pserver that applied least; absent unless every shard was reported. */
const ofLedgers = { applied: count.optional(), discarded: count.optional() };

const directing = {
  evaluation: asyncMaster.shape.kept,
  recordsPerSecond: asyncMaster.shape.recordsPerSecond.describe(
    'Mean number of records trained per second since the master started to direct the job.',
  ),
  waitReason: z.string().describe('Why a trainer that asks for work now may not get any.'),
};
const directedAsync = {
  ...directing,
  pass: count,
  tasks: z.strictObject({ total: count, done: count, discarded: count, todo: count, pending: count }),
  records: z.strictObject({ ...asyncMaster.shape.sums.shape, ...ofLedgers, lost: z.int() }),
  attempts: asyncMaster.shape.attempts,
  recovery: asyncMaster.shape.recovery,
};
const directedSync = {
  ...directing,
  pass: count.optional(),
  rounds: syncMaster.shape.rounds.omit({ pass: true }),
  records: z.strictObject(ofLedgers),
};

const newestCheckpoint = schemaOf<NewestCheckpoint>()(
  z.union([
    z.strictObject({
      index: count,
      uuid: z.string(),
      md5: z.string(),
      bytes: count.optional(),
      timestamp: secondsSince1970,
      round: count.optional().describe('Sync mode: round of the checkpoint.'),
      buildsOn: z
        .strictObject({ files: count, bytes: count })
        .optional()
        .describe('Number and size of the files that a delta builds on.'),
    }),
    z.strictObject({ error: z.string().describe('Why paddlet cannot read a value in the store.') }),
  ]),
);

const always = {
  job: jobName,
  mode: jobResultSchema.shape.mode,
  passes: count,
  phase,
  cluster,
  wanted: z
    .strictObject({ pservers: count, trainers: count.optional() })
    .describe('Wanted sizes, which `paddlet resize` changes; `trainers` only after a resize of the trainers.'),
  units,
  processes: z.array(process),
  ...listed.shape,
};

const notEnded = {
  ...always,
  elapsedSeconds: z.number().describe('Seconds since the job was published.'),
  checkpoints: z.array(newestCheckpoint).describe('Newest checkpoint file of each pserver.'),
  error: z
    .strictObject({ code: errorCode, message: z.string(), exit: exitCode })
    .optional()
    .describe('Why the job failed.'),
  why: causes
    .optional()
    .describe('Why the job makes no progress, the root cause first; absent after the end of the job.'),
  tables: jobResultSchema.shape.tables.describe(
    'Tables with admission, eviction or a bound; absent without such tables, or while a pserver does not answer.',
  ),
  resume: startCommandSchema.optional().describe('The command that last started the job; it also resumes the job.'),
};

export const status = z
  .union([
    z.strictObject({ ...always, ...jobResultSchema.shape }).describe('A job that is done.'),
    z.strictObject({ ...notEnded, ...directedAsync }).describe('A job in async mode while a master directs it.'),
    z.strictObject({ ...notEnded, ...directedSync }).describe('A job in sync mode while a master directs it.'),
    z
      .strictObject({ ...notEnded, ...savedAsync })
      .describe('A job in async mode without a master: the saved progress.'),
    z.strictObject({ ...notEnded, ...savedSync }).describe('A job in sync mode without a master: the saved progress.'),
    z.strictObject(notEnded).describe('A job without a master and without saved progress, or a job that failed.'),
  ])
  .describe('Status of the job. With `--watch`, one line per refresh.');

export const verification = schemaOf<CopiesVerification>()(
  z
    .strictObject({
      ok: z.boolean(),
      units: count.describe('Number of units of the job.'),
      equal: count.describe('Number of units whose copies are equal.'),
      alone: z.array(count).describe('Units with only one copy, which paddlet does not compare.'),
      different: z.array(
        z.strictObject({
          unit: count,
          shard: count,
          position: count.describe('Number of updates applied to the shard.'),
          digests: z.array(z.strictObject({ pserver: count, digest: z.string() })),
        }),
      ),
      unsettled: z
        .array(z.strictObject({ unit: count, why: z.string() }))
        .describe('Units that paddlet could not compare in time.'),
    })
    .describe('Comparison of the copies of all units, with `--verify`.'),
);
