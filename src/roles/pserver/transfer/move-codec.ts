/**
 * Encodes the messages of a move as requests and answers, and decodes them (docs/protocol.md). Decoding checks all that
 * can be checked without the copy. The state machine and the copy check the rest when they take the message.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import type { MoveAnswer, MoveContent, MoveMessage } from '../../../core/units/move-messages.ts';
import type { RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing, Received } from '../../../protocol/messages/channel.ts';
import type { AnswerHeader } from '../../../protocol/messages/unit-moves.ts';
import { decodeUpdate, encodeUpdate, expectSegments, type UpdatedJob } from '../update/codec.ts';
import { ownUpdate } from '../update/parts.ts';
import { decodePiece, encodePiece } from './copy-pieces.ts';
import type { FromSource } from './incoming-move.ts';
import type { MovePayload } from './outgoing-move.ts';

/** The part of a frame's header that describes its content. */
type FrameHeader = Extract<RequestHeader, { type: 'moveFrame' }>['content'];
/** The requests that carry a move. */
export type MoveRequest = Extract<RequestHeader, { type: 'offerMove' | 'moveFrame' | 'abandonMove' | 'unitMoved' }>;

/** The fields of the job that messages of a move are checked against. */
export interface MovedJob extends UpdatedJob {
  readonly units: number;
}

/** `job`: the fields that every request has. Does not copy: the encoded segments are the arrays of the payload. */
export function encodeMove(
  job: { readonly job: string; readonly batchPlanId: string },
  message: MoveMessage<MovePayload>,
): Outgoing<MoveRequest> {
  switch (message.type) {
    case 'offer':
      return { header: { type: 'offerMove', ...job, move: message.name } };
    case 'moved':
      return { header: { type: 'unitMoved', ...job, move: message.name } };
    case 'abandon':
      return { header: { type: 'abandonMove', ...job, move: message.name } };
    case 'frame': {
      const { name, number, content } = message.frame;
      const { header, segments } = encodeContent(content);
      return { header: { type: 'moveFrame', ...job, move: name, number, content: header }, segments };
    }
    default:
      return unreachable(message);
  }
}

function encodeContent(content: MoveContent<MovePayload>): Encoded {
  switch (content.type) {
    case 'seal':
      return { header: content, segments: [] };
    case 'piece': {
      const { type, shard, isLast, position, payload } = content;
      assert('header' in payload, 'a part of a shard is a piece');
      const { header, segments } = encodePiece(payload);
      return { header: { type, shard, last: isLast, position, piece: header }, segments };
    }
    case 'update': {
      const { type, position, payload } = content;
      assert('type' in payload, 'an update is not a piece');
      const { header, segments } = encodeUpdate(payload);
      return { header: { type, position, update: header }, segments };
    }
    default:
      return unreachable(content);
  }
}

interface Encoded {
  readonly header: FrameHeader;
  readonly segments: readonly Uint8Array[];
}

/** Throws `BadMessage`. The result stays valid after the request is freed. */
export function decodeMove(job: MovedJob, request: Received<MoveRequest>): FromSource {
  const { header, segmentCount } = request;
  const { move } = header;
  if (move.unit >= job.units) throw new PaddletError('BadMessage', `unit ${move.unit}: the job has ${job.units} units`);
  if (header.type === 'moveFrame') {
    const { number, content } = header;
    const arrived = Array.from({ length: segmentCount }, (_, at) => request.segment(at));
    return { type: 'frame', frame: { name: move, number, content: decodeContent(job, content, arrived) } };
  }
  expectSegments(segmentCount, 0);
  if (header.type === 'offerMove') return { type: 'offer', name: move, refusal: undefined };
  return { type: header.type === 'abandonMove' ? 'abandon' : 'moved', name: move };
}

function decodeContent(job: MovedJob, content: FrameHeader, arrived: readonly Uint8Array[]): MoveContent<MovePayload> {
  switch (content.type) {
    case 'seal':
      expectSegments(arrived.length, 0);
      return content;
    case 'piece': {
      const { type, shard, last, position, piece } = content;
      return { type, shard, isLast: last, position, payload: decodePiece(piece, arrived) };
    }
    case 'update': {
      const { type, position, update } = content;
      return { type, position, payload: ownUpdate(decodeUpdate(job, update, arrived)) };
    }
    default:
      return unreachable(content);
  }
}

export const encodeAnswers = (answers: readonly MoveAnswer[]): AnswerHeader[] =>
  answers.map(({ name, ...answer }) => ({ ...answer, move: name }));

export const decodeAnswers = (answers: readonly AnswerHeader[]): MoveAnswer[] =>
  answers.map(({ move, ...answer }) => ({ ...answer, name: move }));
