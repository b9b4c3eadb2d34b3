/**
 * What a process reports about itself: the answer to an `info` request. One schema per role, with parts for async and
 * sync mode. The roles build these objects; the processes that ask check them with `parseRoleInfo` (`ask-info.ts`).
 * Passes, tasks and rounds count from 0.
 */
import * as z from 'zod';
import { PaddletError } from '../base/errors.ts';
import type { Frozen } from '../base/frozen.ts';
import { LIMITS } from '../base/limits.ts';
import { keptModelsSchema } from '../cluster/job/job-result.ts';
import { PSERVER_SHARES, TRAINER_TIMES } from '../cluster/role-times.ts';
import { troubleSchema } from '../cluster/troubles.ts';
import { discardSchema } from '../core/tasks/state.ts';
import { PHASES } from '../protocol/messages/all-messages.ts';
import { taskAddress } from '../protocol/messages/fields.ts';
import { tableReport } from '../protocol/messages/table-report.ts';

const count = z.int().min(0);

/** A warning or an error in its log; `time` in seconds since 1970. */
const errorSchema = z.strictObject({
  time: z.number(),
  level: z.enum(['warn', 'error']),
  text: z.string().max(LIMITS.toldErrorCharacters),
});

const processFields = {
  pid: count,
  host: z.string(),
  version: z.string(),
  /** What it waits for outside of paddlet: its store, its disk. */
  troubles: z.array(troubleSchema),
  /** The last ones, the oldest first. */
  errors: z.array(errorSchema).max(LIMITS.toldErrors),
};
/** The process has nothing to work on yet: the object it needs, as in "waiting for …". */
const waitingFields = { state: z.literal('waiting'), waitingFor: z.string(), ...processFields };

/** `position`: the push that comes next. */
const executingSchema = z.strictObject({ ...taskAddress, position: count });

// ---- trainer ----

/** What a trainer does now, also as it reports it to the master. */
const activitySchema = z.strictObject({
  phase: z.enum(PHASES),
  /** Records trained on since the process started. */
  records: count,
  /** Mean loss of the latest records. */
  loss: z.number().optional(),
  executing: executingSchema.optional(),
});
export type ActivityInfo = Frozen<z.infer<typeof activitySchema>>;

const trainerInfoSchema = z.discriminatedUnion('state', [
  z.strictObject({ role: z.literal('trainer'), id: z.uuid(), ...waitingFields }),
  z.strictObject({
    role: z.literal('trainer'),
    id: z.uuid(),
    state: z.literal('working'),
    ...processFields,
    ...activitySchema.shape,
    /** Time since it entered this phase, in milliseconds. */
    phaseMs: count.optional(),
    /** How long it waits for answers of pservers: on average, and for the oldest request that has none. */
    pserverAnswers: z.array(z.strictObject({ index: count, meanMs: count, waitedMs: count })).optional(),
    /** Milliseconds since the process started, by what they were spent on. */
    spentMs: z.record(z.enum(TRAINER_TIMES), z.number()),
    /** Those between two tasks, whatever they were spent on. */
    changeoverMs: z.number(),
  }),
]);

// ---- pserver ----

/** Records that the ledgers account for, of the shard that applied least. */
const recordAccountSchema = z.strictObject({
  applied: count,
  discarded: count,
  passes: z.array(z.strictObject({ pass: count, applied: count, closed: count })),
});
export type RecordAccount = Frozen<z.infer<typeof recordAccountSchema>>;

const servingFields = {
  role: z.literal('pserver'),
  state: z.literal('working'),
  ...processFields,
  index: count,
  units: count,
  shards: count,
  rows: count,
  /** In use by rows, blocks and indexes; and reserved by the kernels. */
  bytes: count,
  reservedBytes: count,
  /** Digest of the units that it leads, and the number of their shards. */
  placement: z.strictObject({ revision: z.string(), shards: count }),
  /** False while the store has not renewed the lease in time: then nothing is served. */
  held: z.boolean(),
  account: recordAccountSchema,
  duplicatePushes: count,
  /** Tables with admission, eviction or a bound, in the shards that it leads; absent if the job has none. */
  tables: z.array(tableReport).optional(),
  /** What the schedule of the job makes of the learning rate now; 1 without one. */
  rateShare: z.number(),
  /** Milliseconds of its thread since the process started. */
  spentMs: z.record(z.enum(PSERVER_SHARES), z.number()),
};

/** `silentMs`: since it pulled or pushed. */
const heldUpSchema = z.strictObject({
  pulls: count,
  longestMs: count,
  holders: z.array(z.strictObject({ trainer: z.string(), silentMs: count })),
});
export type HeldUpPulls = Frozen<z.infer<typeof heldUpSchema>>;

const pserverInfoSchema = z.discriminatedUnion('state', [
  /** `index` once it has one. */
  z.strictObject({ role: z.literal('pserver'), index: count.optional(), ...waitingFields }),
  z.discriminatedUnion('mode', [
    z.strictObject({
      ...servingFields,
      mode: z.literal('async'),
      /** Pushes applied to the shards. */
      updates: count,
      /** The recovery number known here, and whether shards have different ledgers because of a repair. */
      recovery: count,
      repairing: z.boolean(),
      staleness: z.strictObject({
        mean: z.number(),
        max: count,
        refused: count,
        /** Policy `wait`: pulls that wait for the bound, and the trainers that they wait for. */
        heldUp: heldUpSchema.optional(),
      }),
      /** What was taken over from another job's checkpoint. */
      warmStart: z.array(z.strictObject({ name: z.string(), rows: count, bytes: count })).optional(),
    }),
    z.strictObject({
      ...servingFields,
      mode: z.literal('sync'),
      timeline: count,
      /** The round in work, and the lanes that it waits for. */
      round: count,
      missing: z.array(count),
    }),
  ]),
]);

// ---- master ----

const taskCountsSchema = z.strictObject({
  phase: z.enum(['train', 'ended']),
  pass: count,
  total: count,
  todo: count,
  pending: count,
  done: count,
  discarded: count,
  /** Trainers that wait for a task. */
  waiting: count,
  /** Trainers that must join before a task is dealt. */
  missingTrainers: count,
  speculations: count,
});

const attemptSchema = z.strictObject({
  trainer: z.string(),
  ...executingSchema.shape,
  /** File and records of the task. */
  where: z.string(),
  phase: z.enum(PHASES),
  /** The trainer works on it now, and does not only hold it. */
  executing: z.boolean(),
  ranMs: count,
  ageMs: count,
  /** Far older than tasks take. */
  slow: z.boolean(),
});
export type AttemptInfo = Frozen<z.infer<typeof attemptSchema>>;

const asyncFields = {
  tasks: taskCountsSchema,
  /** `reconciled` below `number`: a pserver was restored, and `repairing` tasks are replayed. */
  recovery: z.strictObject({ number: count, reconciled: count, repairing: count }),
  attempts: z.array(attemptSchema),
  discarded: z.array(discardSchema),
  /** Records of the passes that have ended which no trainer reported: anything but 0 is a defect. */
  lost: z.int(),
  /** Records that trainers reported, over all passes. */
  sums: z.strictObject({ read: count, good: count, bad: count, duplicate: count }),
};

const roundsSchema = z.strictObject({
  /** Rounds of the job. */
  total: count,
  /** The position: present while all pservers answer. `records` are those of the finished rounds, to within a round. */
  round: count.optional(),
  pass: count.optional(),
  ofPass: z.strictObject({ round: count, rounds: count }).optional(),
  records: count.optional(),
  /** The trainers of each lane, its own first. */
  lanes: z.array(z.array(z.string())),
  /** Lanes that a second trainer was asked to compute too. */
  helped: count,
  pservers: z.array(
    z.strictObject({
      index: count,
      timeline: count,
      version: count,
      /** Lanes that its round waits for, and for how long. */
      missing: z.array(count),
      waitedMs: count,
    }),
  ),
  /** The first lanes that the round waits for: their trainers, and what they are. */
  missing: z.array(z.strictObject({ lane: count, trainers: z.array(z.string()), what: z.string() })),
  timeline: count.optional(),
  /** The last complete cut. */
  cut: z.strictObject({ round: count, files: count }).optional(),
  cuts: z.strictObject({ complete: count, givenUp: count }),
  /** The round that is being saved. */
  cutting: count.optional(),
});
export type RoundsInfo = Frozen<z.infer<typeof roundsSchema>>;

/** The latest failure of a trainer that has not succeeded since. `what`: the task or lane, its file and records. */
const failureSchema = z.strictObject({
  trainer: z.string(),
  what: z.string(),
  code: z.string(),
  error: z.string(),
  /** Number of failures in a row. */
  times: count,
  agoMs: count,
});
export type FailureInfo = Frozen<z.infer<typeof failureSchema>>;

/** A command of the job that the master runs. */
const hookSchema = z.strictObject({ name: z.string(), command: z.string(), forMs: count });
export type HookInfo = Frozen<z.infer<typeof hookSchema>>;

export const JOB_PHASES = ['training', 'evaluating', 'concluding'] as const;

const directingFields = {
  role: z.literal('master'),
  state: z.literal('working'),
  ...processFields,
  job: z.string(),
  phase: z.enum(JOB_PHASES),
  hook: hookSchema.optional(),
  passes: count,
  /** Records of a pass. */
  records: count,
  ended: z.array(z.strictObject({ pass: count, records: count.optional(), loss: z.number().optional() })),
  /** Trained on by the trainers, since this master began to direct the job; absent while that is not known. */
  recordsPerSecond: count.optional(),
  /** Since when no trainer has reported that it has trained on more records. */
  quietMs: count,
  failures: z.array(failureSchema),
  /** Why a trainer that asks now may get nothing to do. */
  waitReason: z.string(),
  /** Tasks of the test files, while they are evaluated. */
  evaluation: taskCountsSchema.optional(),
  /** What evaluations while the job trains came to so far. */
  kept: keptModelsSchema.optional(),
  /** By id; what a trainer does is missing until it has reported. */
  trainers: z.record(z.string(), z.strictObject({ address: z.string(), ...activitySchema.partial().shape })),
};

const masterInfoSchema = z.discriminatedUnion('state', [
  z.strictObject({ role: z.literal('master'), job: z.string(), ...waitingFields, hook: hookSchema.optional() }),
  z.discriminatedUnion('mode', [
    z.strictObject({ ...directingFields, mode: z.literal('async'), ...asyncFields }),
    z.strictObject({ ...directingFields, mode: z.literal('sync'), rounds: roundsSchema }),
  ]),
]);

export type MasterInfo = Frozen<z.infer<typeof masterInfoSchema>>;
/** What a master that directs a job reports. */
export type DirectingInfo = Extract<MasterInfo, { state: 'working' }>;
/** The part of it that depends on the mode. */
export type TrainingInfo =
  | Pick<Extract<DirectingInfo, { mode: 'async' }>, 'mode' | keyof typeof asyncFields>
  | Pick<Extract<DirectingInfo, { mode: 'sync' }>, 'mode' | 'rounds'>;
export type PserverInfo = Frozen<z.infer<typeof pserverInfoSchema>>;
export type TrainerInfo = Frozen<z.infer<typeof trainerInfoSchema>>;

type WithoutProcess<T> = T extends unknown ? Omit<T, 'role' | keyof typeof processFields> : never;
/** What the shards of a pserver add to what is known of its process. */
export type ShardsInfo = WithoutProcess<PserverInfo>;

export const roleInfoSchema = z.discriminatedUnion('role', [masterInfoSchema, pserverInfoSchema, trainerInfoSchema]);
export type RoleInfo = Frozen<z.infer<typeof roleInfoSchema>>;

/** Throws `BadMessage` that names the first field which is missing, unknown or wrong. */
export function parseRoleInfo(info: unknown): RoleInfo {
  const parsed = roleInfoSchema.safeParse(info);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = [...(issue?.path ?? []), ...unknown].join('.');
  throw new PaddletError('BadMessage', `field ${field}: ${unknown.length > 0 ? 'unknown' : issue?.message}`);
}
