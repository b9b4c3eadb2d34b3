/** `status --json`, once and with `--watch` (a line each look), and `status --verify --json`. */
import * as z from 'zod';
import type { UnitCopiesStatus } from '../../cluster/client/describe-copies.ts';
import { JOB_PHASES, roleInfoSchema } from '../../cluster/info.ts';
import { clusterStatusSchema } from '../../cluster/job/cluster-status.ts';
import type { NewestCheckpoint } from '../../cluster/job/describe-job.ts';
import type { Waiting } from '../../cluster/job/health.ts';
import { jobResultSchema } from '../../cluster/job/job-result.ts';
import { startCommandSchema } from '../../cluster/job/start-command.ts';
import { pserverRecordSchema } from '../../cluster/placement/pserver-record.ts';
import type { Spread } from '../../cluster/placement/spread.ts';
import { TROUBLE_KINDS } from '../../cluster/troubles.ts';
import { CAUSE_KINDS, type Cause } from '../../cluster/why/cause.ts';
import { copyMessages } from '../../protocol/messages/copies.ts';
import type { JobPhase } from '../status/shown-status.ts';
import type { CopiesVerification } from '../status/verify-copies.ts';
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
        hint: z.string().optional().describe('What to do.'),
      }),
    )
    .meta({ id: 'Causes', description: 'What holds the job up, the cause first.' }),
);

// ---- the cluster ----

const waiting = schemaOf<Waiting>()(
  z.strictObject({
    kind: z.enum(['master', 'pservers', 'trainers', 'copies', 'lease', ...TROUBLE_KINDS]),
    text: z.string().describe('Follows "waiting for".'),
    withinMs: count.optional().describe('Of a lease: it ends within this time.'),
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
      .describe('The `paddlet run` that works in the folder, while no process answers.'),
    written: z
      .strictObject({ ...clusterStatusSchema.shape, believed: z.boolean() })
      .optional()
      .describe('What the last master wrote; of the past unless it is believed.'),
  })
  .meta({ id: 'Cluster' });

// ---- units ----

const told = copyMessages.unitCopies.reply.shape.units.element;
const copiesOfUnit = z.strictObject({
  unit: count,
  primary: count.optional().describe('Index of the live pserver that leads it.'),
  inSync: z.array(count).describe('Indexes of the live pservers that have all updates, that of its primary included.'),
  ...told.omit({ unit: true }).partial().shape,
});
schemaOf<Omit<UnitCopiesStatus, 'told'>>()(copiesOfUnit);

const lacking = schemaOf<Spread['lacking']>()(z.array(z.strictObject({ unit: count, copies: count })));

const units = z
  .strictObject({
    total: count,
    toMove: count.describe('Units whose place is with another live pserver.'),
    orphans: count.describe('Units without a live primary.'),
    lacking: lacking.optional().describe('Units with fewer live copies than cluster.replicas.'),
    copies: z.array(copiesOfUnit).optional().describe('While processes live, where cluster.replicas is 2 or more.'),
  })
  .meta({ id: 'Units' });

// ---- processes ----

const registered = {
  address: z.string(),
  lease: z.string().describe('Lease of its key in the store, in hex.'),
};
/** Of a pserver, whether it answers or not. */
export const share = {
  status: pserverRecordSchema.shape.status.optional(),
  isLeaving: z.boolean(),
  units: count.describe('Units that it leads.'),
  hostLabel: pserverRecordSchema.shape.hostLabel,
  zone: pserverRecordSchema.shape.zone,
};
const ofPserver = { ...z.strictObject(share).partial().shape, copies: count.optional() };

const silent = {
  ...registered,
  answers: z.literal(false),
  error: z.strictObject({ code: errorCode, message: z.string() }).optional().describe('Why its answer cannot be used.'),
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

/** From the ledgers of the pserver that applied least; absent unless all shards are told of. */
const ofLedgers = { applied: count.optional(), discarded: count.optional() };

const directing = {
  evaluation: asyncMaster.shape.kept,
  recordsPerSecond: asyncMaster.shape.recordsPerSecond.describe('Mean since the master began to direct the job.'),
  waitReason: z.string().describe('Why a trainer that asks now may get nothing to do.'),
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
      round: count.optional().describe('Sync mode.'),
    }),
    z.strictObject({ error: z.string().describe('Why a value in the store cannot be read.') }),
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
    .describe('What `paddlet resize` changes; trainers only if it did.'),
  units,
  processes: z.array(process),
  ...listed.shape,
};

const notEnded = {
  ...always,
  elapsedSeconds: z.number().describe('Since the job was published.'),
  checkpoints: z.array(newestCheckpoint).describe('The newest files of the pservers.'),
  error: z
    .strictObject({ code: errorCode, message: z.string(), exit: exitCode })
    .optional()
    .describe('Why the job has failed.'),
  why: causes.optional().describe('Absent once the job has ended.'),
  resume: startCommandSchema.optional().describe('What started the job last, and resumes it.'),
};

export const status = z
  .union([
    z.strictObject({ ...always, ...jobResultSchema.shape }).describe('Of a job that is done.'),
    z.strictObject({ ...notEnded, ...directedAsync }).describe('While a master directs it, in async mode.'),
    z.strictObject({ ...notEnded, ...directedSync }).describe('While a master directs it, in sync mode.'),
    z.strictObject({ ...notEnded, ...savedAsync }).describe('Without a master, in async mode: what is saved.'),
    z.strictObject({ ...notEnded, ...savedSync }).describe('Without a master, in sync mode: what is saved.'),
    z.strictObject(notEnded).describe('Without a master, before anything is saved; or of a job that has failed.'),
  ])
  .describe('With --watch one a line.');

export const verification = schemaOf<CopiesVerification>()(
  z
    .strictObject({
      ok: z.boolean(),
      units: count.describe('Units of the job.'),
      equal: count.describe('Units whose copies are equal.'),
      alone: z.array(count).describe('Units with one copy.'),
      different: z.array(
        z.strictObject({
          unit: count,
          shard: count,
          position: count.describe('Updates applied to the shard.'),
          digests: z.array(z.strictObject({ pserver: count, digest: z.string() })),
        }),
      ),
      unsettled: z.array(z.strictObject({ unit: count, why: z.string() })).describe('Not compared in time.'),
    })
    .describe('With --verify.'),
);
