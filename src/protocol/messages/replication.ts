/**
 * Messages from the pserver that leads units to one that has copies of them (docs/copies.md,
 * `core/replicas/peer-link.ts`). They carry no placement stamp: unit, epoch and both processes are in each, and the
 * copies check them by the store.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { shapeOf } from './field-table.ts';
import { message, ofJob } from './fields.ts';
import { HOT_MESSAGES } from './hot-messages.ts';
import { owner } from './unit-moves.ts';

const { replicate } = HOT_MESSAGES;
const betweenBoth = { ...ofJob, primary: owner, member: owner };

export const replicationMessages = {
  /** First on each connection. `windowBytes`: what the primary may have staged at the member (decision 110). */
  openReplicas: message(
    'openReplicas',
    () => betweenBoth,
    () => ({ windowBytes: z.int().min(1).max(LIMITS.replicaWindowBytes) }),
  ),
  /** A hot message: its fields are described there. */
  replicate: message(
    'replicate',
    () => shapeOf(replicate.request),
    () => shapeOf(replicate.reply),
  ),
};
