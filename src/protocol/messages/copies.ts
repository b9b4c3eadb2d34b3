/**
 * What `status` asks of the copies of units, where they have more than one. No placement stamp: each answer is about
 * single units, and `pserver` names the process that is meant.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { count, maxWaitMs, message, ofJob } from './fields.ts';
import { owner } from './unit-moves.ts';

const unit = count.max(LIMITS.units - 1);
const ofPserver = { ...ofJob, pserver: owner };

const copy = z.strictObject({
  index: count.max(LIMITS.pservers - 1),
  /** In sync; on its way into the in-sync set, with every update; or being filled. */
  state: z.enum(['inSync', 'joining', 'copying']),
  /** Updates that the primary has applied and does not know this copy to have applied. Absent before its answer. */
  behind: count.optional(),
});

export const copyMessages = {
  /** The copies of units that this pserver leads, from this unit on, ascending. `more`: there are more units. */
  unitCopies: message(
    'unitCopies',
    () => ({ ...ofPserver, from: unit }),
    () => ({
      units: z
        .array(
          z.strictObject({
            unit,
            epoch: count,
            /** Updates since the unit was last loaded from a file: that are applied, and that wait for copies. */
            committed: count,
            staged: count,
            /** The copies, without the primary's own. */
            copies: z.array(copy).max(LIMITS.pservers),
          }),
        )
        .max(LIMITS.shownUnits),
      more: z.boolean(),
    }),
  ),
  /**
   * A digest of everything in a copy of a shard at `position`, the number of updates applied to it. Without `position`,
   * the answer has only the position. Answered when the copy is there, or after a time limit.
   */
  copyDigest: message(
    'copyDigest',
    () => ({ ...ofPserver, shard: count.max(LIMITS.shards - 1), position: count.optional(), maxWaitMs }),
    /** `position`: where the copy is; absent without a copy. `digest`: the copy is where it was asked for. */
    () => ({
      position: count.optional(),
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional(),
    }),
  ),
};
export type ShownCopy = z.infer<typeof copy>;
