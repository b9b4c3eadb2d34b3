/**
 * Encodes batches between a primary and a backup as requests and answers (docs/protocol.md). The decoder checks a batch
 * as far as possible without the copies. It does not copy the staged update, which may have no room yet.
 */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { LinkName } from '../../../core/replicas/messages.ts';
import type { BatchAnswer, LinkFrame, PeerBatch } from '../../../core/replicas/peer-link.ts';
import { isSameOwner, type UnitOwner } from '../../../core/units/move-messages.ts';
import type { ReplyHeader, RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing, Received } from '../../../protocol/messages/channel.ts';
import { decodeUpdate, encodeUpdate, expectSegments, type UpdatedJob } from '../update/codec.ts';
import type { UnitParts } from '../update/parts.ts';
import { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import { packAnswers, packFrames, type UnitFrame, unpackAnswers, unpackFrames } from './frame-rows.ts';

export type ReplicateRequest = Extract<RequestHeader, { type: 'replicate' }>;
export type ReplicateReply = Extract<ReplyHeader, { type: 'replicate' }>;

/** The properties of the job that a batch must match. */
export interface ReplicatedJob extends UnitParts, UpdatedJob {}

/** The two ends of all links in a batch. */
export interface BatchEnds {
  readonly primary: UnitOwner;
  readonly member: UnitOwner;
}

export interface DecodedBatch extends BatchEnds {
  /** The staged update borrows the memory of the request. Call `own` when the update has room. */
  readonly batch: PeerBatch<SharedUpdate>;
}

/** Segments of the frames and the tails, before those of the update. */
const OWN_SEGMENTS = 2;

// ---- requests

/** `job`: the fields that every request contains. The segments share the arrays of the update. */
export function encodeBatch(
  job: { readonly job: string; readonly batchPlanId: string },
  { primary, member }: BatchEnds,
  batch: PeerBatch<SharedUpdate>,
): Outgoing<ReplicateRequest> {
  assert(
    batch.frames.every(({ link }) => isSameOwner(link.primary, primary) && isSameOwner(link.member, member)),
    'all frames of a batch are between the same two processes',
  );
  const { frames, tails } = packFrames(batch.frames.map(unitFrame));
  const update = stagedPart(batch);
  const { header, segments } = update === undefined ? { header: undefined, segments: [] } : encodeUpdate(update);
  const { order, isLate, left } = batch;
  const fields = { ...job, primary, member, left: [...left], order, late: isLate };
  return {
    header: { type: 'replicate', ...fields, ...(header === undefined ? {} : { update: header }) },
    segments: [frames, tails, ...segments],
  };
}

function unitFrame({ link: { unit, epoch }, frame }: LinkFrame<SharedUpdate>): UnitFrame {
  if (frame.type !== 'stage') return { unit, epoch, frame };
  return { unit, epoch, frame: { type: 'stage', name: frame.update.name, committed: frame.committed } };
}

/** The staged update, limited to the units that stage it. */
function stagedPart({ frames }: PeerBatch<SharedUpdate>): Update | undefined {
  const staged = frames.flatMap(({ link, frame }) =>
    frame.type === 'stage' ? [{ unit: link.unit, payload: frame.update.payload }] : [],
  );
  return staged[0]?.payload.partOf(staged.map(({ unit }) => unit).sort((a, b) => a - b));
}

/**
 * Throws `BadMessage`. `ownOrder`: number of the staged update in this process. The batch keeps the number that the
 * primary gave it. Each process numbers its updates separately, because a backup that takes over sends updates to
 * others.
 */
export function decodeBatch(job: ReplicatedJob, request: Received<ReplicateRequest>, ownOrder: number): DecodedBatch {
  const { primary, member, left, order, late } = request.header;
  if (left.some((unit) => unit >= job.units)) throw bad(`a unit is left: the job has ${job.units}`);
  const [frames, tails, ...arrived] = Array.from({ length: request.segmentCount }, (_, at) => request.segment(at));
  if (frames === undefined || tails === undefined) throw bad(`fewer than ${OWN_SEGMENTS} segments`);
  const decoded = unpackFrames(job.units, { frames, tails });
  const staged = decoded.flatMap(({ unit, frame }) => (frame.type === 'stage' ? [unit] : []));
  const payload = decodePayload(job, request.header, staged, arrived, ownOrder);
  const ends = { primary, member };
  return {
    ...ends,
    batch: { left, frames: decoded.map((one) => linkFrame(one, ends, payload)), order, isLate: late },
  };
}

function linkFrame(
  { unit, epoch, frame }: UnitFrame,
  ends: BatchEnds,
  payload: SharedUpdate | undefined,
): LinkFrame<SharedUpdate> {
  const link: LinkName = { unit, epoch, ...ends };
  if (frame.type !== 'stage') return { link, frame };
  const { name, committed } = frame;
  return { link, frame: { type: 'stage', update: { name, payload: payload! }, committed } };
}

function decodePayload(
  job: ReplicatedJob,
  { update: header, order, late }: ReplicateRequest,
  staged: readonly number[],
  arrived: readonly Uint8Array[],
  ownOrder: number,
): SharedUpdate | undefined {
  if (header === undefined || staged.length === 0) {
    if (header !== undefined || staged.length > 0) throw bad('an update and its stages come together');
    if (order !== 0 || late) throw bad('what is not staged has no order, and is not late');
    expectSegments(arrived.length, 0);
    return undefined;
  }
  if (order === 0) throw bad('what is staged has an order');
  const update = decodeUpdate(job, header, arrived);
  if (update.type === 'push') checkShards(job, update.shards);
  const payload = new SharedUpdate({ of: job, order: ownOrder, update, units: staged });
  payload.checkFrame();
  checkConcerned(payload, update, staged);
  return payload;
}

function checkShards({ shards }: ReplicatedJob, applying: readonly number[]): void {
  if (applying.some((shard, at) => shard >= shards || shard <= (applying[at - 1] ?? -1))) {
    throw bad(`the shards that apply a push are not ascending, or not below ${shards}`);
  }
}

/** Checks that the update concerns exactly the units that stage it. */
function checkConcerned(payload: SharedUpdate, update: Update, staged: readonly number[]): void {
  if (payload.units.length !== staged.length) throw bad('a unit stages an update that none of its shards applies');
  const isWhole = update.type !== 'push' || (payload.update as typeof update).shards.length === update.shards.length;
  if (!isWhole || payload.hasOthers) throw bad('an update has shards, rows or blocks of units that do not stage it');
}

// ---- answers

export const encodeAnswers = (answers: BatchAnswer): Outgoing<ReplicateReply> => ({
  header: { type: 'replicate' },
  segments: [packAnswers(answers)],
});

/** Throws `BadMessage`. */
export function decodeAnswers(reply: Received<ReplicateReply>): BatchAnswer {
  expectSegments(reply.segmentCount, 1);
  return unpackAnswers(reply.segment(0));
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);
