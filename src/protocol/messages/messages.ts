/**
 * The closed union of all messages. Every header that arrives is validated against these schemas before anything acts on
 * it; what the segments of each message are stands beside it. docs/protocol.md says the same for other languages.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { dealtTask, taskChunks, taskRef } from './dealt-task.ts';
import { isPlainPullOrPush, isPlainReply } from './plain-messages.ts';

const count = z.int().min(0);
const name = z.string().min(1).max(256);
const uuid = z.uuid();

/**
 * Which shards a trainer believes a pserver to hold: the highest `modRevision` among their head keys, and how many.
 * Revisions only grow, so any change of the set changes the pair; a pserver refuses another pair with `StalePlacement`.
 */
const decimal = z.string().regex(/^\d{1,20}$/);
export const placementSchema = z.strictObject({ revision: decimal, shards: count });
export type PlacementStamp = z.infer<typeof placementSchema>;

/**
 * In every request but `info`: the id of the job in `/job`, and its batch plan id (how records are cut into pushes, DESIGN §5).
 * Others are refused with `WrongJob` and `WrongBatchPlan`.
 */
const ofJob = { job: name, batchPlanId: name };

/** What a gradient was computed from: a version as a pull reply named it, and `placement.revision` of that pull. */
const pulledVersion = z.strictObject({ revision: decimal, version: count });
/** To write the merged model: passes count from 1. Each choice has a number of its own. */
const chosenPass = { pass: z.int().min(1), choice: z.int().min(1) };
const attemptRef = { trainer: name, ...taskRef, attempt: z.int().min(1) };

const metricSums = z.strictObject({
  records: count,
  loss: z.number(),
  correct: count,
  squaredError: z.number(),
});

const savedFile = { uuid: name, md5: name, bytes: count };
const filesOfCut = z.array(z.strictObject({ index: count, ...savedFile })).max(LIMITS.pservers);

const maxWaitMs = z.int().min(0).max(60_000);

const densePart = z.strictObject({ parameter: z.int().min(0).max(LIMITS.parameters) });
const sparsePart = z.strictObject({ table: z.int().min(0).max(LIMITS.parameters) });

export const PHASES = ['start', 'read', 'pull', 'compute', 'push', 'wait', 'idle'] as const;

export const requestSchema = z.discriminatedUnion('type', [
  /** What this role is and does, for `status` and `doctor`. */
  z.strictObject({ type: z.literal('info') }),

  // ---- to a pserver ----
  /** Segments: for each dense part its blocks (u32), then for each sparse part its ids (u64). */
  z.strictObject({
    type: z.literal('pull'),
    ...ofJob,
    placement: placementSchema,
    /**
     * Under a staleness bound of policy `wait`, to the first pserver: so many pushes will carry gradients of this pull (0:
     * none, nothing is held any more); `since` is the oldest version that the trainer holds from before and has not pushed.
     */
    hold: z.strictObject({ trainer: name, pushes: count, since: count.optional() }).optional(),
    dense: z.array(densePart).max(LIMITS.parameters),
    sparse: z.array(sparsePart).max(LIMITS.parameters),
  }),
  /**
   * Push number `push` of (pass, task), to every pserver. `good` counts the task's good records up to and including this
   * push. Segments: for each dense part blocks (u32) and gradients (f32), then for each sparse part ids and gradients.
   */
  z.strictObject({
    type: z.literal('push'),
    ...ofJob,
    ...taskRef,
    push: count,
    last: z.boolean(),
    good: count,
    placement: placementSchema,
    /** The oldest values of this pserver that the gradients come from; absent when none do. */
    used: pulledVersion.optional(),
    dense: z.array(densePart).max(LIMITS.parameters),
    sparse: z.array(sparsePart).max(LIMITS.parameters),
  }),
  /**
   * Sync mode: exactly that version, waited for so long. An answer, also to a pull of nothing, says that every shard here has
   * reached it. Segments as of `pull`.
   */
  z.strictObject({
    type: z.literal('pullVersion'),
    ...ofJob,
    timeline: count,
    version: count,
    maxWaitMs,
    placement: placementSchema,
    dense: z.array(densePart).max(LIMITS.parameters),
    sparse: z.array(sparsePart).max(LIMITS.parameters),
  }),
  /**
   * Sync mode: what one lane adds to a round, to every pserver; also a lane that is empty, without segments. The gradients
   * are of the mean over its `records` good records. Segments as of `push`.
   */
  z.strictObject({
    type: z.literal('pushLane'),
    ...ofJob,
    timeline: count,
    round: count,
    lane: count.max(LIMITS.lanes - 1),
    /** The mini-batch, as the ledger counts it; absent when the lane has none in this round. */
    batch: z.strictObject({ ...taskRef, push: count, last: z.boolean(), good: count }).optional(),
    records: count,
    metrics: metricSums,
    placement: placementSchema,
    dense: z.array(densePart).max(LIMITS.parameters),
    sparse: z.array(sparsePart).max(LIMITS.parameters),
  }),
  /** Sync mode: which version this pserver has; answered when it is above that one, or after so long. */
  z.strictObject({ type: z.literal('rounds'), ...ofJob, above: count.optional(), maxWaitMs }),
  /** Sync mode: save all shards as they are at that round. Answered when the file is published. */
  z.strictObject({ type: z.literal('cut'), ...ofJob, timeline: count, round: count }),
  /** Where the ledger stands: the next push wanted of each task. */
  z.strictObject({ type: z.literal('position'), ...ofJob, tasks: z.array(z.strictObject(taskRef)).max(1024) }),
  /** The closed tasks of a pass, by each distinct ledger: to find out what a restored shard lacks. */
  z.strictObject({ type: z.literal('closed'), ...ofJob, pass: count }),
  /** Closes discarded tasks, of so many records, where they stand: later pushes of them are dropped. */
  z.strictObject({
    type: z.literal('closeTasks'),
    ...ofJob,
    tasks: z.array(z.strictObject({ ...taskRef, records: count })).max(10_000),
  }),
  /**
   * Writes and publishes a checkpoint of all shards; a final one ends all pushes. `recovery`: the number under which all
   * tasks were found to be done; a final one under an older number is refused with `StaleRecovery`, as a pserver that was
   * restored since has something to apply.
   */
  z.strictObject({ type: z.literal('checkpoint'), ...ofJob, final: z.boolean(), recovery: count.optional() }),
  /** The account of this pserver's shards. */
  z.strictObject({ type: z.literal('account'), ...ofJob }),
  /** Reads a table in id order, or a dense parameter's blocks, for digests. `after` is the last id seen, in decimal. */
  z.strictObject({
    type: z.literal('scanRows'),
    ...ofJob,
    table: count,
    after: decimal.optional(),
    maxRows: z.int().min(1).max(1_000_000),
    state: z.boolean(),
  }),
  z.strictObject({ type: z.literal('scanBlock'), ...ofJob, parameter: count, block: count, state: z.boolean() }),

  // ---- to the master ----
  /** Waits until there is a task for this trainer, or nothing more to do. */
  z.strictObject({
    type: z.literal('getTask'),
    ...ofJob,
    trainer: name,
    /** Attempts that the trainer holds; others of its own were lost on the way to it and go back. */
    held: z.array(z.strictObject({ ...taskRef, attempt: z.int().min(1) })).max(64),
    maxWaitMs,
  }),
  /** Sync mode: which lanes this trainer computes; answered when it is another assignment than the one known, or after so long. */
  z.strictObject({ type: z.literal('getLanes'), ...ofJob, trainer: name, known: count, maxWaitMs }),
  /** Sync mode: what the plan of the rounds is made of. */
  z.strictObject({ type: z.literal('getPlan'), ...ofJob }),
  /** Sync mode: where the records of a task are. */
  z.strictObject({ type: z.literal('getChunks'), ...ofJob, task: count }),
  /** Sync mode: the records of a lane cannot be computed. */
  z.strictObject({
    type: z.literal('failLane'),
    ...ofJob,
    trainer: name,
    timeline: count,
    round: count,
    lane: count,
    code: name,
    error: z.string().max(4096),
    data: z.boolean(),
  }),
  /** Sync mode: the trainer leaves; others are to compute its lanes. */
  z.strictObject({ type: z.literal('returnLanes'), ...ofJob, trainer: name }),
  /** Sync mode: a lane of that round is wanted, but a pserver cannot give the version any more that it is computed from. */
  z.strictObject({ type: z.literal('roundStuck'), ...ofJob, trainer: name, timeline: count, round: count }),
  /** A task was pushed to its end and every pserver acknowledged it. */
  z.strictObject({
    type: z.literal('finishTask'),
    ...ofJob,
    ...attemptRef,
    /** The lowest recovery number among the acknowledgements of the last push; an old one is refused. */
    recovery: count,
    records: count,
    good: count,
    bad: count,
    read: count,
    duplicate: count,
    metrics: metricSums,
  }),
  z.strictObject({
    type: z.literal('failTask'),
    ...ofJob,
    ...attemptRef,
    code: name,
    error: z.string().max(4096),
    /** True when records, not the cluster, are at fault; then the error names file and line. */
    data: z.boolean(),
    read: count,
  }),
  /** Hands a task back untried (drain). */
  z.strictObject({ type: z.literal('returnTask'), ...ofJob, ...attemptRef, read: count }),
  /** Segments: the scores (f32) and labels (f32) of the chunk's good records. */
  z.strictObject({ type: z.literal('finishEvaluation'), ...ofJob, ...attemptRef, bad: count, metrics: metricSums }),
  /** May this trainer write the merged model? With `choice`: may it still, as it was told; asked within the block time it may. */
  z.strictObject({
    type: z.literal('requestSaveModel'),
    ...ofJob,
    trainer: name,
    blockMs: z.int().min(1).max(86_400_000),
    choice: z.int().min(1).optional(),
  }),
  /** The model after that pass is written by that choice, or could not be. */
  z.strictObject({
    type: z.literal('savedModel'),
    ...ofJob,
    trainer: name,
    ...chosenPass,
    path: z.string().max(8192).optional(),
    error: z.string().max(4096).optional(),
  }),
  /** A sign of life of the task being executed, with its position; also for `status`. */
  z.strictObject({
    type: z.literal('progress'),
    ...ofJob,
    trainer: name,
    executing: z.strictObject({ ...taskRef, attempt: z.int().min(1), position: count }).optional(),
    phase: z.enum(PHASES),
    records: count,
    loss: z.number().optional(),
  }),
]);
export type RequestHeader = z.infer<typeof requestSchema>;

export const replySchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('info'), info: z.record(z.string(), z.unknown()) }),
  /** Segments: values of each dense part, then of each sparse part, in the order asked. */
  z.strictObject({ type: z.literal('pull'), version: count }),
  z.strictObject({ type: z.literal('pullVersion') }),
  z.strictObject({ type: z.literal('push'), outcome: z.enum(['applied', 'duplicate']), recovery: count }),
  /** `duplicate`: the round has that lane, or is past. `version` is that of the shards after it. */
  z.strictObject({ type: z.literal('pushLane'), outcome: z.enum(['taken', 'duplicate']), version: count }),
  /** `oldest`: the lowest version that can be pulled. `missing`: lanes that round `version` wants yet. */
  z.strictObject({
    type: z.literal('rounds'),
    timeline: count,
    version: count,
    oldest: count,
    missing: z.array(count).max(LIMITS.lanes),
  }),
  /** `declined`: this pserver is past that round, or on another timeline. */
  z.strictObject({
    type: z.literal('cut'),
    outcome: z.enum(['saved', 'declined']),
    version: count,
    saved: z.strictObject(savedFile).optional(),
  }),
  /** The next push wanted, or -1 for a closed task. */
  z.strictObject({ type: z.literal('position'), next: z.array(z.int().min(-1)), recovery: count }),
  /**
   * `watermark`: passes below it are complete in every shard. `ledgers`: for each distinct ledger the closed tasks of the
   * pass as hex, lowest task in the lowest bit of the first byte; those that have the pass complete are left out.
   */
  z.strictObject({
    type: z.literal('closed'),
    recovery: count,
    watermark: count,
    ledgers: z.array(z.string().regex(/^[0-9a-f]*$/)).max(LIMITS.shards),
  }),
  z.strictObject({ type: z.literal('closeTasks') }),
  /** `running`: a save was under way already and this request is ignored. */
  z.strictObject({
    type: z.literal('checkpoint'),
    outcome: z.enum(['saved', 'running']),
    saved: z.strictObject(savedFile).optional(),
    /** From the master of a job in sync mode. */
    cut: z.strictObject({ timeline: count, round: count, files: filesOfCut }).optional(),
  }),
  z.strictObject({
    type: z.literal('account'),
    /** Good records below the ledger positions. */
    applied: count,
    discarded: count,
    duplicatePushes: count,
    /** Of applied pushes whose staleness is known: how many, its sum and maximum; and pushes refused for it. */
    staleness: z.strictObject({ counted: count, sum: count, max: count, refused: count }),
    passes: z.array(z.strictObject({ pass: count, applied: count, closed: count })),
    /** Sync mode: records of the lanes received and of those that were duplicates; sums of the newest passes. */
    rounds: z
      .strictObject({
        received: count,
        duplicate: count,
        metrics: z.array(z.strictObject({ pass: count, ...metricSums.shape })).max(2),
      })
      .optional(),
  }),
  /** Segments: ids (u64), values (f32), then with `state` the slots in name order and the steps (u32). */
  z.strictObject({ type: z.literal('scanRows'), rows: count, done: z.boolean(), slots: z.array(name) }),
  /** Segments: values (f32), then with `state` the slots in name order. */
  z.strictObject({ type: z.literal('scanBlock'), slots: z.array(name), step: count.optional() }),
  z.strictObject({
    type: z.literal('getTask'),
    state: z.enum(['task', 'wait', 'finished']),
    task: dealtTask.optional(),
    /** Why there is none, for people. */
    reason: z.string().optional(),
    /** There is a model to save, and nobody chosen to do it: ask with `requestSaveModel`. */
    saveModel: z.literal(true).optional(),
  }),
  /** `owners`: the trainers of each lane, the first of them its own. `over`: all rounds are done. */
  z.strictObject({
    type: z.literal('getLanes'),
    number: count,
    over: z.boolean(),
    owners: z.array(z.array(name).max(LIMITS.trainers)).max(LIMITS.lanes),
    saveModel: z.literal(true).optional(),
  }),
  /** Segment: the indexed records of each task (u32). */
  z.strictObject({ type: z.literal('getPlan') }),
  z.strictObject({ type: z.literal('getChunks'), ...taskChunks }),
  z.strictObject({ type: z.literal('failLane') }),
  z.strictObject({ type: z.literal('returnLanes') }),
  z.strictObject({ type: z.literal('roundStuck') }),
  z.strictObject({ type: z.literal('finishTask') }),
  z.strictObject({ type: z.literal('failTask') }),
  z.strictObject({ type: z.literal('returnTask') }),
  z.strictObject({ type: z.literal('finishEvaluation') }),
  /** `chosen`: write the model after that pass; absent: another trainer does, or there is nothing to write. */
  z.strictObject({ type: z.literal('requestSaveModel'), chosen: z.strictObject(chosenPass).optional() }),
  z.strictObject({ type: z.literal('savedModel') }),
  /** `live`: whether the attempt that is executed still counts; if not, another was first or it was given up: stop. */
  z.strictObject({ type: z.literal('progress'), live: z.boolean() }),
]);
export type ReplyHeader = z.infer<typeof replySchema>;
export type { DealtTask, TaskChunks } from './dealt-task.ts';
export type { MetricSums as WireMetricSums };

type MetricSums = z.infer<typeof metricSums>;

export const errorSchema = z.strictObject({
  type: z.literal('error'),
  code: name,
  message: z.string().max(8192),
  hint: z.string().max(8192).optional(),
  details: z.record(z.string(), z.unknown()),
});
export type ErrorHeader = z.infer<typeof errorSchema>;
export { uuid as uuidSchema };

function parse<T>(schema: z.ZodType<T>, header: unknown, what: string): T {
  const parsed = schema.safeParse(header);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? 'header' : issue.path.join('.');
  throw new PaddletError('BadMessage', `${what}: ${where}: ${issue?.message ?? 'invalid'}`);
}

export const parseRequest = (header: unknown): RequestHeader =>
  isPlainPullOrPush(header) ? header : parse(requestSchema, header, 'request');
export const parseReply = (header: unknown): ReplyHeader =>
  isPlainReply(header) ? header : parse(replySchema, header, 'reply');
export const parseError = (header: unknown): ErrorHeader => parse(errorSchema, header, 'error reply');
