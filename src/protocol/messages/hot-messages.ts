/**
 * The messages that come thousands of times a second: pulls and pushes of both modes, with their replies, and what a
 * push costs where units have copies. Each field is written once, here, with its type and bound; everything else is
 * made from it. After a change: `npm run build:headers`.
 */

import type * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import {
  choice,
  count,
  decimal,
  flag,
  listOfCounts,
  mapOf,
  optional,
  real,
  type ShapeOf,
  text,
  usually,
} from './field-table.ts';
import { parts, placedPush, pushOfTask } from './push-fields.ts';
import { updateHeader } from './unit-moves.ts';

const name = text(LIMITS.nameCharacters);

const ofJob = { job: name, batchPlanId: name };

/**
 * Which units a trainer believes a pserver to lead: a digest of them, and how many shards they have. A pserver refuses
 * another pair with `StalePlacement`.
 */
const placement = mapOf({ revision: decimal, shards: count() });
export type PlacementStamp = z.infer<z.ZodObject<ShapeOf<(typeof placement)['fields']>>>;

/** A process that has a unit, or a copy of it. */
const owner = mapOf({ index: count(LIMITS.pservers - 1), token: decimal });

/** Sums over the good records of a mini-batch, each times its weight, and how many they are. */
const metrics = mapOf({ records: count(), weight: real, loss: real, correct: real, squaredError: real });

export const HOT_MESSAGES = {
  /**
   * Segments: for each dense part its blocks (u32), then for each sparse part its ids (u64). Of the reply: values, in
   * the same order.
   */
  pull: {
    request: {
      ...ofJob,
      placement,
      /**
       * Under a staleness bound of policy `wait`, to the first pserver: `pushes` pushes will carry gradients of this
       * pull (0: nothing is held); `since` is the oldest version that the trainer holds from before and has not pushed.
       */
      hold: optional(mapOf({ trainer: name, pushes: count(), since: optional(count()) })),
      ...parts,
    },
    reply: { version: count() },
  },
  /**
   * To every pserver. Segments: for each dense part blocks (u32) and gradients (f32), then for each sparse part ids and
   * gradients; then those of the pull that it may carry, as of `pull`.
   */
  push: {
    request: {
      ...ofJob,
      ...pushOfTask,
      placement,
      /**
       * The oldest values of this pserver that the gradients come from: a version as a pull reply named it, and
       * `placement.revision` of that pull. Absent when they come from none.
       */
      used: optional(mapOf({ revision: decimal, version: count() })),
      ...parts,
      /** Values wanted with the answer: they have the push in them. */
      pull: optional(mapOf(parts)),
    },
    /** With values, and their version, when the request carries a pull. */
    reply: { outcome: choice('applied', 'duplicate'), recovery: count(), version: optional(count()) },
  },
  /**
   * Sync mode: exactly that version, waited for so long. An answer, even to a pull of nothing, says that every shard
   * here has reached it. Segments as of `pull`; a table comes once for each list of ids that is pulled from it.
   * `waitedMs`: how long the request waited here for lanes.
   */
  pullVersion: {
    request: {
      ...ofJob,
      timeline: count(),
      version: count(),
      maxWaitMs: count(LIMITS.longPollMs),
      placement,
      ...parts,
    },
    reply: { waitedMs: count() },
  },
  /**
   * Sync mode: what one lane adds to a round, to every pserver; an empty lane comes without segments. The gradients are
   * of the mean over its `records` good records. Segments as of `push`.
   */
  pushLane: {
    request: {
      ...ofJob,
      timeline: count(),
      round: count(),
      lane: count(LIMITS.lanes - 1),
      /** The mini-batch, as the ledger counts it; absent when the lane has none in this round. */
      batch: optional(mapOf(pushOfTask)),
      records: count(),
      metrics,
      placement,
      ...parts,
    },
    /** `duplicate`: the round has that lane, or is past. `version` is that of the shards after it. */
    reply: { outcome: choice('taken', 'duplicate'), version: count() },
  },
  /**
   * What the primary has to say to the copies of its units at the member (docs/copies.md,
   * `core/replicas/peer-link.ts`). It carries no placement stamp: unit, epoch and both processes are in each frame, and
   * the copies check them by the store. Segments: frames, one row of u64 each; the tails of the beginnings among them
   * (`roles/pserver/replicas/frame-rows.ts`); then those of the update. Segment of the reply: the answer to each frame.
   * Rows, not maps, as there is one for each unit in every update.
   */
  replicate: {
    request: {
      ...ofJob,
      primary: owner,
      member: owner,
      /** Units whose copies at the member no longer belong to the primary. */
      left: listOfCounts(LIMITS.units, LIMITS.units - 1),
      /** Number of the staged update, counted by the primary from 1; 0 if nothing is staged. */
      order: count(),
      /** The update was placed before the member joined, or by a former primary. */
      late: flag,
      /** Closures and rounds are rare. */
      update: optional(usually({ type: choice('push'), ...placedPush }, updateHeader)),
    },
    reply: {},
  },
};
