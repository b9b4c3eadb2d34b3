/** Fields that several messages share, and the pair of schemas that one message is. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { once } from '../../base/once.ts';
import { DECIMAL } from './field-table.ts';

/**
 * A message's request and its reply. Both carry the message's name in `type`. The schemas are made when they are first
 * used: a process sends and receives few of all messages.
 */
export const message = <Type extends string, Request extends z.ZodRawShape, Reply extends z.ZodRawShape>(
  type: Type,
  request: () => Request,
  reply: () => Reply,
) => {
  const requestSchema = once(() => z.strictObject({ type: z.literal(type), ...request() }));
  const replySchema = once(() => z.strictObject({ type: z.literal(type), ...reply() }));
  return {
    get request() {
      return requestSchema();
    },
    get reply() {
      return replySchema();
    },
  };
};

export const count = z.int().min(0);
export const name = z.string().min(1).max(LIMITS.nameCharacters);
/** A 64-bit number as text. */
export const decimal = z.string().regex(DECIMAL);
/** What went wrong at a trainer, for the log and the job's result. */
export const failureText = z.string().max(LIMITS.failureCharacters);

/** What a request is refused with; also a part of one. */
export const errorSchema = z.strictObject({
  type: z.literal('error'),
  code: name,
  message: z.string().max(LIMITS.errorCharacters),
  hint: z.string().max(LIMITS.errorCharacters).optional(),
  details: z.record(z.string(), z.unknown()),
});

/** How long the receiver may wait before it answers that nothing has changed. */
export const maxWaitMs = count.max(LIMITS.longPollMs);

/**
 * In every request but `info`: the id of the job in `/job`, and its batch plan id (how records are cut into pushes,
 * docs/modes.md). Others are refused with `WrongJob` and `WrongBatchPlan`.
 */
export const ofJob = { job: name, batchPlanId: name };

export const taskRef = { pass: count, task: count };
const attempt = z.int().min(1);
/**
 * One dispatch of a task. `train`: the passes of the job. `repair`: tasks that were done and are replayed after a
 * pserver was restored; `pass` is the one that they are of. `evaluate`: the test file; `pass` is the recovery number
 * (async mode) or the timeline (sync mode) of the parameters that are evaluated.
 */
export const taskAddress = { queue: z.enum(['train', 'repair', 'evaluate']), ...taskRef, attempt };
/** One trainer's attempt at a task. */
export const attemptRef = { trainer: name, ...taskAddress };

/** A round of one timeline (sync mode). */
export const roundRef = { timeline: count, round: count };

/** Sums over the records of a task or lane, each but `records` times the weight of a record. */
export const metricSums = z.strictObject({
  records: count,
  weight: z.number(),
  loss: z.number(),
  correct: z.number(),
  squaredError: z.number(),
});

/** What is kept of them in sync mode, by pass, and of the job at some rounds. */
export const passMetrics = z
  .array(z.strictObject({ pass: count, ...metricSums.shape, version: count.optional() }))
  .max(LIMITS.keptMetrics);

/** What the store has under `/master/secret`: the request comes from the master. `NotMaster` for another. */
export const masterSecret = name;

/** A published checkpoint file. */
export const savedFile = { uuid: name, md5: name, bytes: count };
