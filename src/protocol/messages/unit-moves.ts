/**
 * Messages from the pserver that leads a unit to the one that is to lead it, or to have a backup copy of it
 * (docs/copies.md, `core/units/move-messages.ts`). They carry no placement stamp: the whole name of the move is in
 * each, and its target checks that by the store.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { once } from '../../base/once.ts';
import { shapeOf } from './field-table.ts';
import { count, decimal, message, metricSums, ofJob, passMetrics, roundRef, taskRef } from './fields.ts';
import { parts, placedPush, pushOfTask } from './push-fields.ts';

export const owner = z.strictObject({ index: count.max(LIMITS.pservers - 1), token: decimal });

const moveName = once(() =>
  z.strictObject({
    purpose: z.enum(['lead', 'copy']),
    unit: count.max(LIMITS.units - 1),
    epoch: z.int().min(1),
    source: owner,
    target: owner,
    attempt: z.int().min(1),
  }),
);

const table = count.max(LIMITS.parameters - 1);
/** A table, or the candidates of one. */
const storedTable = count.max(LIMITS.storedTables - 1);
const parameter = count.max(LIMITS.parameters - 1);

/** A part of the copy of a shard. Segments: as `roles/pserver/transfer/copy-pieces.ts` says. */
const pieceHeader = once(() =>
  z.discriminatedUnion('part', [
    z.strictObject({ part: z.literal('rows'), table: storedTable }),
    z.strictObject({ part: z.literal('block'), parameter, block: count.max(LIMITS.denseBlocks - 1) }),
    z.strictObject({ part: z.literal('oldRows'), table }),
    z.strictObject({ part: z.literal('oldBlocks'), parameter }),
    z.strictObject({
      part: z.literal('rounds'),
      timeline: count,
      version: count,
      keepsPrevious: z.boolean(),
      metrics: passMetrics,
    }),
    z.strictObject({ part: z.literal('ledger'), seq: count }),
    z.strictObject({ part: z.literal('looks') }),
  ]),
);

/**
 * Segments: of a push the shards that applied it (u32); then, as of a round, for each dense part blocks (u32) and
 * gradients (f32), and for each sparse part ids (u64) and gradients.
 */
export const updateHeader = once(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('push'), ...shapeOf(placedPush) }),
    z.strictObject({
      type: z.literal('close'),
      tasks: z.array(z.strictObject({ ...taskRef, records: count })).max(LIMITS.closedTasksAtOnce),
    }),
    /** Sync mode. The mini-batches in the order of their lanes; lanes without one are left out. */
    z.strictObject({
      type: z.literal('round'),
      ...roundRef,
      batches: z.array(z.strictObject({ ...shapeOf(pushOfTask), metrics: metricSums })).max(LIMITS.lanes),
      ...shapeOf(parts),
    }),
  ]),
);

/** `position`: updates of the unit since the move began; for `copy`, all that are committed. */
const content = once(() =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('piece'),
      shard: count.max(LIMITS.shards - 1),
      last: z.boolean(),
      position: count,
      piece: pieceHeader(),
    }),
    z.strictObject({ type: z.literal('update'), position: count, update: updateHeader() }),
    z.strictObject({ type: z.literal('seal'), position: count }),
  ]),
);

const answer = once(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('accepted'), move: moveName() }),
    z.strictObject({ type: z.literal('refused'), move: moveName(), reason: z.string().max(LIMITS.errorCharacters) }),
    z.strictObject({ type: z.literal('taken'), move: moveName(), next: count }),
    z.strictObject({ type: z.literal('sealed'), move: moveName(), position: count }),
    z.strictObject({ type: z.literal('discarded'), move: moveName() }),
  ]),
);
export type AnswerHeader = z.infer<ReturnType<typeof answer>>;

const answers = () => ({ answers: z.array(answer()).max(LIMITS.moveAnswers) });
const ofMove = () => ({ ...ofJob, move: moveName() });

export const moveMessages = {
  /** First on each connection that carries a move: whether this process takes part in moves now. */
  openMove: message(
    'openMove',
    () => ofJob,
    () => ({}),
  ),
  /** Asks the target to take the unit, or a copy of it. */
  offerMove: message('offerMove', ofMove, answers),
  /** Frame `number` of the move, counted from 0: a part of the copy, or an update that came after it. */
  moveFrame: message('moveFrame', () => ({ ...ofMove(), number: count, content: content() }), answers),
  /** The source keeps the unit, or makes no copy of it. */
  abandonMove: message('abandonMove', ofMove, answers),
  /** The head names the target. */
  unitMoved: message('unitMoved', ofMove, answers),
};
