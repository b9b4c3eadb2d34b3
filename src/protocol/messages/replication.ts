/**
 * Messages from the pserver that leads units to one that has copies of them (docs/design.md §7,
 * `core/replicas/peer-link.ts`). They carry no placement stamp: unit, epoch and both processes are in each, and the
 * copies check them by the store.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { count, message, ofJob } from './fields.ts';
import { owner, updateHeader } from './unit-moves.ts';

const unit = count.max(LIMITS.units - 1);
const betweenBoth = { ...ofJob, primary: owner, member: owner };

export const replicationMessages = {
  /** First on each connection. `windowBytes`: what the primary may have staged at the member (decision 110). */
  openReplicas: message('openReplicas', betweenBoth, { windowBytes: z.int().min(1).max(LIMITS.replicaWindowBytes) }),
  /**
   * What the primary has to say to the copies of its units at the member. Segments: frames, one row of u64 each; the
   * tails of the beginnings among them (`roles/pserver/replicas/frame-rows.ts`); then those of the update. Segment of
   * the reply: the answer to each frame. Rows, not maps, as there is one for each unit in every update.
   */
  replicate: message(
    'replicate',
    {
      ...betweenBoth,
      /** Units whose copies at the member the primary has nothing to do with any more. */
      left: z.array(unit).max(LIMITS.units),
      /** Of the update that is staged, counted by the primary from 1; 0 without one. */
      order: count,
      /** The update was placed before the member was concerned. */
      late: z.boolean(),
      update: updateHeader.optional(),
    },
    {},
  ),
};
