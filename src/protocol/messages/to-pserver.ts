/** Messages to a pserver, each with its reply: pulls and pushes of both modes, ledgers, checkpoints, digests. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { copyMessages } from './copies.ts';
import { shapeOf } from './field-table.ts';
import {
  count,
  decimal,
  masterSecret,
  maxWaitMs,
  message,
  name,
  ofJob,
  passMetrics,
  roundRef,
  savedFile,
  taskRef,
} from './fields.ts';
import { HOT_MESSAGES } from './hot-messages.ts';
import { replicationMessages } from './replication.ts';
import { tableReport } from './table-report.ts';
import { moveMessages } from './unit-moves.ts';

const { pull, push, pullVersion, pushLane } = HOT_MESSAGES;

/** What these messages are is written beside their fields. */
const hot = {
  pull: message(
    'pull',
    () => shapeOf(pull.request),
    () => shapeOf(pull.reply),
  ),
  push: message(
    'push',
    () => shapeOf(push.request),
    () => shapeOf(push.reply),
  ),
  pullVersion: message(
    'pullVersion',
    () => shapeOf(pullVersion.request),
    () => shapeOf(pullVersion.reply),
  ),
  pushLane: message(
    'pushLane',
    () => shapeOf(pushLane.request),
    () => shapeOf(pushLane.reply),
  ),
};

const placement = z.strictObject({ revision: decimal, shards: count });

/**
 * `placement`: the units that the pserver is believed to lead, by the head keys; another set is refused with
 * `StalePlacement`. So the answers of all pservers of one placement have each unit once, also while units move; and a
 * pserver that died may have left its address to another one.
 */
const toPserver = { ...ofJob, placement };

/**
 * `base`: all rows. `delta`: only what changed since the file before, if the job saves deltas and the pserver has
 * published such a file. Default: what is due.
 */
const saveMode = z.enum(['base', 'delta']);
export type SaveMode = z.output<typeof saveMode>;

const syncMode = {
  /** Which version this pserver has; answered when it is above that one, or after so long. */
  rounds: message(
    'rounds',
    () => ({ ...toPserver, above: count.optional(), maxWaitMs }),
    /** `oldest`: the lowest version that can be pulled. `missing`: lanes that round `version` still needs. */
    () => ({ timeline: count, version: count, oldest: count, missing: z.array(count).max(LIMITS.lanes) }),
  ),
  /** Saves all shards as they are at that round. Answered when the file is published. */
  cut: message(
    'cut',
    () => ({ ...toPserver, masterSecret, ...roundRef, mode: saveMode.optional() }),
    /** `declined`: this pserver is past that round, or on another timeline. */
    () => ({ outcome: z.enum(['saved', 'declined']), version: count, saved: z.strictObject(savedFile).optional() }),
  ),
};

const ledgers = {
  /** Where the ledger is: the next push wanted of each task, or -1 for a closed task. */
  position: message(
    'position',
    () => ({ ...toPserver, tasks: z.array(z.strictObject(taskRef)).max(LIMITS.positionTasks) }),
    () => ({ next: z.array(z.int().min(-1)), recovery: count }),
  ),
  /**
   * The closed tasks of a pass, by each distinct ledger: to find out what a restored shard lacks. `watermark`: passes
   * below it are complete in every shard. `ledgers`: for each distinct ledger the closed tasks of the pass as hex,
   * lowest task in the lowest bit of the first byte; those that have the pass complete are left out.
   */
  closed: message(
    'closed',
    () => ({ ...toPserver, pass: count }),
    () => ({
      recovery: count,
      watermark: count,
      ledgers: z.array(z.string().regex(/^[0-9a-f]*$/)).max(LIMITS.shards),
    }),
  ),
  /**
   * Closes discarded tasks, which have `records` records, at the push they have reached: later pushes of them are
   * dropped.
   */
  closeTasks: message(
    'closeTasks',
    () => ({
      ...toPserver,
      masterSecret,
      tasks: z.array(z.strictObject({ ...taskRef, records: count })).max(LIMITS.closedTasksAtOnce),
    }),
    () => ({}),
  ),
};

const savedFiles = z.array(z.strictObject({ index: count, ...savedFile })).max(LIMITS.pservers);

const checkpointAndAccount = {
  /**
   * Writes and publishes a checkpoint of all shards. A final one ends all pushes: only the master may ask for it
   * (`masterSecret`), and only when all tasks are closed (`WrongCounts`). `recovery`: the number under which all tasks
   * were found to be done; a final one under an older number is refused with `StaleRecovery`, as a pserver that was
   * restored since has something to apply. `passes`: the number of trained passes, if the job has more. The master of a
   * job in sync mode answers the others too, with a cut; only to it no `placement` is named.
   */
  checkpoint: message(
    'checkpoint',
    () => ({
      ...ofJob,
      placement: placement.optional(),
      masterSecret: masterSecret.optional(),
      final: z.boolean(),
      recovery: count.optional(),
      passes: count.optional(),
      mode: saveMode.optional(),
    }),
    () => ({
      /** `running`: a save was under way already and this request is ignored. */
      outcome: z.enum(['saved', 'running']),
      saved: z.strictObject(savedFile).optional(),
      /** Sent by the master of a job in sync mode. */
      cut: z.strictObject({ ...roundRef, files: savedFiles }).optional(),
    }),
  ),
  /** The record accounting of this pserver's shards. */
  account: message(
    'account',
    () => toPserver,
    () => ({
      /** Good records below the ledger positions. */
      applied: count,
      discarded: count,
      duplicatePushes: count,
      /**
       * Staleness of applied pushes for which it is known: their number, sum and maximum; and pushes refused for
       * staleness.
       */
      staleness: z.strictObject({ counted: count, sum: count, max: count, refused: count }),
      passes: z.array(z.strictObject({ pass: count, applied: count, closed: count })),
      /** Tables with admission, eviction or a bound, in the shards that it leads; absent if the job has none. */
      tables: z.array(tableReport).optional(),
      /** Sync mode: records of the lanes taken and of their first duplicates, and of those; sums of metrics. */
      rounds: z
        .strictObject({
          received: count,
          duplicate: count,
          metrics: passMetrics,
        })
        .optional(),
    }),
  ),
};

const digests = {
  /**
   * Reads a table in id order, for digests. `table` may be that of candidates (`storedTables`). `after` is the last id
   * seen, in decimal. Segments of the reply: ids (u64), values (f32), then with `state` the slots in name order, the
   * steps (u32), and `seen` (u32).
   */
  scanRows: message(
    'scanRows',
    () => ({
      ...toPserver,
      table: count,
      after: decimal.optional(),
      maxRows: z.int().min(1).max(LIMITS.scannedRows),
      state: z.boolean(),
    }),
    () => ({ rows: count, done: z.boolean(), slots: z.array(name) }),
  ),
  /**
   * Reads a block of a dense parameter. Segments of the reply: values (f32), then with `state` the slots in name order.
   */
  scanBlock: message(
    'scanBlock',
    () => ({ ...toPserver, parameter: count, block: count, state: z.boolean() }),
    () => ({ slots: z.array(name), step: count.optional() }),
  ),
};

const files = {
  /**
   * Reads a part of a checkpoint file of this pserver, for one that does not see its folder. Answered also while this
   * one takes its units. `index`: of this pserver; its address may be another one's by now (`WrongRole`). Segment of
   * the reply: the part, shorter only at the end of the file. `bytes`: of the whole file.
   */
  readFile: message(
    'readFile',
    () => ({
      ...ofJob,
      index: count.max(LIMITS.pservers - 1),
      uuid: name,
      offset: count,
      maxBytes: z.int().min(1).max(LIMITS.fileReadBytes),
    }),
    () => ({ bytes: count }),
  ),
};

export const pserverMessages = {
  ...hot,
  ...syncMode,
  ...ledgers,
  ...checkpointAndAccount,
  ...digests,
  ...files,
  ...moveMessages,
  ...replicationMessages,
  ...copyMessages,
};
