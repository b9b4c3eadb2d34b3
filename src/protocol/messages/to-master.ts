/** Messages to the master, each with its reply: tasks, lanes, the merged model, progress. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { dealtTask, taskChunks } from './dealt-task.ts';
import {
  attemptRef,
  count,
  errorSchema,
  failureText,
  maxWaitMs,
  message,
  metricSums,
  name,
  ofJob,
  roundRef,
  taskAddress,
} from './fields.ts';

export const PHASES = ['start', 'read', 'pull', 'compute', 'push', 'wait', 'idle'] as const;

/** There is a model to save, and no trainer was chosen to do it: ask with `requestSaveModel`. */
const saveModel = z.literal(true).optional();

const taskEnd = z.strictObject({
  ...taskAddress,
  /** The lowest recovery number among the acknowledgements of the last push; an old one is refused. */
  recovery: count,
  records: count,
  good: count,
  bad: count,
  read: count,
  duplicate: count,
  metrics: metricSums,
});
/** How one attempt at a task ended, of those that its trainer tells together. */
export type TaskEnd = z.infer<typeof taskEnd>;

const tasks = {
  /** Waits until there is a task for this trainer, or nothing more to do. */
  getTasks: message(
    'getTasks',
    () => ({
      ...ofJob,
      trainer: name,
      /**
       * Attempts that the trainer holds, of any queue. Others that it was given were lost on the way, and are returned.
       */
      held: z.array(z.strictObject(taskAddress)).max(LIMITS.heldAttempts),
      /** Tasks that it takes, if they are there when the first one is. */
      most: z.int().min(1).max(LIMITS.tasksHeld),
      maxWaitMs,
    }),
    () => ({
      state: z.enum(['tasks', 'wait', 'finished']),
      tasks: z.array(dealtTask).min(1).max(LIMITS.tasksHeld).optional(),
      /** Why there is no task, for people. */
      reason: z.string().optional(),
      saveModel,
    }),
  ),
  /** These tasks of `train` or `repair` were pushed to their ends, and every pserver acknowledged them. */
  finishTasks: message(
    'finishTasks',
    () => ({ ...ofJob, trainer: name, ends: z.array(taskEnd).min(1).max(LIMITS.tasksHeld) }),
    () => ({
      /** `at`: which of the ends. All others are accepted. */
      refused: z.array(z.strictObject({ at: count, error: errorSchema })).max(LIMITS.tasksHeld),
    }),
  ),
  failTask: message(
    'failTask',
    () => ({
      ...ofJob,
      ...attemptRef,
      code: name,
      error: failureText,
      /** What to do about it. */
      hint: failureText.optional(),
      /** True when records, not the cluster, are at fault; then the error names file and line. */
      data: z.boolean(),
      read: count,
    }),
    () => ({}),
  ),
  /** Hands a task back untried (drain). */
  returnTask: message(
    'returnTask',
    () => ({ ...ofJob, ...attemptRef, read: count }),
    () => ({}),
  ),
  /**
   * The end of a task of `evaluate`. Segments, of its good records: scores (f32), labels (f32), weights (f32; empty
   * when each is 1), groups (u64; empty when none has one).
   */
  finishEvaluation: message(
    'finishEvaluation',
    () => ({ ...ofJob, ...attemptRef, bad: count, metrics: metricSums }),
    () => ({}),
  ),
};

const syncMode = {
  /**
   * Which lanes this trainer computes; answered when it is another assignment than the one known, or after so long.
   * `owners`: the trainers of each lane, the first of them its own. `until`: rounds that may be computed. `done`: all
   * of them are.
   */
  getLanes: message(
    'getLanes',
    () => ({ ...ofJob, trainer: name, known: count, maxWaitMs }),
    () => ({
      number: count,
      done: z.boolean(),
      until: count,
      owners: z.array(z.array(name).max(LIMITS.trainers)).max(LIMITS.lanes),
      saveModel,
    }),
  ),
  /** What the plan of the rounds is made of. Segment of the reply: the indexed records of each task (u32). */
  getPlan: message(
    'getPlan',
    () => ofJob,
    () => ({}),
  ),
  /** Where the records of a task are. */
  getChunks: message(
    'getChunks',
    () => ({ ...ofJob, task: count }),
    () => taskChunks,
  ),
  /** The records of a lane cannot be computed. */
  failLane: message(
    'failLane',
    () => ({
      ...ofJob,
      trainer: name,
      ...roundRef,
      lane: count,
      code: name,
      error: failureText,
      hint: failureText.optional(),
      data: z.boolean(),
    }),
    () => ({}),
  ),
  /** The trainer leaves; others are to compute its lanes. */
  returnLanes: message(
    'returnLanes',
    () => ({ ...ofJob, trainer: name }),
    () => ({}),
  ),
  /** A lane of that round is wanted, but a pserver no longer has the version that it is computed from. */
  roundStuck: message(
    'roundStuck',
    () => ({ ...ofJob, trainer: name, ...roundRef }),
    () => ({}),
  ),
};

/** A model to write: passes count from 1. Each choice has a separate number. */
const choice = z.int().min(1);
const chosenPass = { pass: z.int().min(1), choice };

const model = {
  /**
   * May this trainer write the merged model? With `choice`: may it still write the model of that choice; asked within
   * the block time it may. `chosen`: write the model after that pass; absent: another trainer does, or there is nothing
   * to write.
   */
  requestSaveModel: message(
    'requestSaveModel',
    () => ({
      ...ofJob,
      trainer: name,
      blockMs: z.int().min(1).max(LIMITS.saveModelBlockMs),
      choice: choice.optional(),
    }),
    () => ({ chosen: z.strictObject(chosenPass).optional() }),
  ),
  /** The model after that pass is written by that choice, or could not be. */
  savedModel: message(
    'savedModel',
    () => ({
      ...ofJob,
      trainer: name,
      ...chosenPass,
      path: z.string().max(LIMITS.modelPathCharacters).optional(),
      error: failureText.optional(),
    }),
    () => ({}),
  ),
};

const progress = {
  /**
   * A sign of life of the task being executed, with its position; also for `status`. `live`: whether the attempt that
   * is executed still counts; if not, another was first or it was given up: stop.
   */
  progress: message(
    'progress',
    () => ({
      ...ofJob,
      trainer: name,
      executing: z.strictObject({ ...taskAddress, position: count }).optional(),
      phase: z.enum(PHASES),
      records: count,
      loss: z.number().optional(),
    }),
    () => ({ live: z.boolean() }),
  ),
};

export const masterMessages = { ...tasks, ...syncMode, ...model, ...progress };
