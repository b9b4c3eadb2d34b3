/** What a move carries arrives as it was sent, through a whole frame; what no source would send is refused. */

import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { MoveAnswer, MoveContent, MoveMessage, MoveName } from '../../../../src/core/units/move-messages.ts';
import { decodeFrame, encodeFrame } from '../../../../src/protocol/frames/frame.ts';
import type { Outgoing, Received } from '../../../../src/protocol/messages/channel.ts';
import { parseReply, parseRequest } from '../../../../src/protocol/messages/parse.ts';
import type { FromSource } from '../../../../src/roles/pserver/transfer/incoming-move.ts';
import {
  decodeAnswers,
  decodeMove,
  encodeAnswers,
  encodeMove,
  type MoveRequest,
} from '../../../../src/roles/pserver/transfer/move-codec.ts';
import type { MovePayload } from '../../../../src/roles/pserver/transfer/outgoing-move.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import * as fc from '../../../properties.ts';
import { goldenFrames } from '../../../protocol/golden-frames.ts';
import { bytesOf, table } from '../../../tensor/fixture.ts';
import { drawnUpdate, PARTS } from '../replicas/updates.ts';

const FIELDS = { job: 'job', batchPlanId: 'plan' };
const JOB = { spec: table(1), units: 8, tasks: 6, passes: 3 };
const NAME: MoveName = {
  purpose: 'lead',
  unit: 1,
  epoch: 4,
  source: { index: 0, token: '7' },
  target: { index: 2, token: '18446744073709551615' },
  attempt: 1,
};
const REQUEST_ID = 1;

type Message = MoveMessage<MovePayload>;
type Content = MoveContent<MovePayload>;

/** As it arrives: after the frame, with segments in the memory of the frame. */
function arrived(header: unknown, segments: readonly Uint8Array[] = []): Received<MoveRequest> {
  const { buffers } = encodeFrame({ kind: 'request', requestId: REQUEST_ID, header, segments });
  const memory = new Uint8Array(Buffer.concat(buffers));
  const frame = decodeFrame(memory);
  return {
    header: parseRequest(frame.header) as MoveRequest,
    segmentCount: frame.segments.length,
    segment: (at) => frame.segments[at]!,
    free: () => memory.fill(0),
  };
}

/** The request is gone when the message is looked at. */
function carried({ header, segments }: Outgoing<MoveRequest>, job = JOB): FromSource {
  const request = arrived(header, segments);
  const decoded = decodeMove(job, request);
  request.free();
  return decoded;
}

const framed = (content: Content): Message => ({ type: 'frame', frame: { name: NAME, number: 6, content } });
const update = (payload: Update): Message => framed({ type: 'update', position: 9, payload });

const count = fc.maxSafeNat();
/** Headers carry numbers: −0 arrives as 0. */
const real = fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (one === 0 ? 0 : one));
const bytes = (of: number) =>
  fc.uint8Array({ maxLength: 8 }).map((few) => {
    const all = new Uint8Array(of * few.length);
    for (let at = 0; at < all.length; at++) all[at] = few[at % few.length]!;
    return all;
  });
const sums = { records: count, weight: real, loss: real, correct: real, squaredError: real };
const small = fc.nat(3);
const piece = fc.oneof(
  fc.record({
    header: fc.record({ part: fc.constant('rows' as const), table: small }),
    segments: fc.array(bytes(4), { minLength: 2, maxLength: 5 }),
  }),
  fc.record({
    header: fc.record({ part: fc.constant('block' as const), parameter: small, block: fc.nat(100) }),
    segments: fc.array(bytes(4), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    header: fc.record({ part: fc.constant('oldRows' as const), table: small }),
    segments: fc.tuple(bytes(8), bytes(4)),
  }),
  fc.record({
    header: fc.record({ part: fc.constant('oldBlocks' as const), parameter: small }),
    segments: fc.tuple(bytes(4), bytes(4)),
  }),
  fc.record({
    header: fc.record({
      part: fc.constant('rounds' as const),
      timeline: count,
      version: count,
      keepsPrevious: fc.boolean(),
      metrics: fc.array(fc.record({ pass: count, ...sums }), { maxLength: 2 }),
    }),
    segments: fc.constant([]),
  }),
  fc.record({
    header: fc.record({ part: fc.constant('ledger' as const), seq: count }),
    segments: fc.tuple(bytes(1)),
  }),
);
const content: fc.Arbitrary<Content> = fc.oneof(
  fc.record({
    type: fc.constant('piece' as const),
    shard: fc.nat(LIMITS.shards - 1),
    isLast: fc.boolean(),
    position: count,
    payload: piece,
  }),
  fc.record({
    type: fc.constant('update' as const),
    position: count,
    payload: drawnUpdate.map(({ update: drawn }) => drawn),
  }),
  fc.record({ type: fc.constant('seal' as const), position: count }),
);
const owner = fc.record({ index: fc.nat(LIMITS.pservers - 1), token: fc.bigInt(0n, 2n ** 64n - 1n).map(String) });
const numbered = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const name = fc.record({
  purpose: fc.constantFrom('lead' as const, 'copy' as const),
  unit: fc.nat(JOB.units - 1),
  epoch: numbered,
  source: owner,
  target: owner,
  attempt: numbered,
});
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ type: fc.constantFrom('offer' as const, 'abandon' as const, 'moved' as const), name }),
  fc.record({ type: fc.constant('frame' as const), frame: fc.record({ name, number: count, content }) }),
);
const answer: fc.Arbitrary<MoveAnswer> = fc.oneof(
  fc.record({ type: fc.constantFrom('accepted' as const, 'discarded' as const), name }),
  fc.record({ type: fc.constant('refused' as const), name, reason: fc.string() }),
  fc.record({ type: fc.constant('taken' as const), name, next: count }),
  fc.record({ type: fc.constant('sealed' as const), name, position: count }),
);

/** With ordinary prototypes. */
const plain = (value: unknown): unknown => structuredClone(value);

describe('a move on the wire', () => {
  it('carries every message as it was sent', () => {
    fc.assert(
      fc.property(message, (sent) => {
        const expected = sent.type === 'offer' ? { ...sent, refusal: undefined } : sent;
        expect(plain(carried(encodeMove(FIELDS, sent), { ...JOB, spec: PARTS.spec }))).toEqual(plain(expected));
      }),
    );
  });

  it('carries answers as they were given', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: LIMITS.moveAnswers }), (given) => {
        const header = { type: 'moveFrame', answers: encodeAnswers(given) };
        const { buffers } = encodeFrame({ kind: 'reply', requestId: REQUEST_ID, header, segments: [] });
        const reply = parseReply(decodeFrame(new Uint8Array(Buffer.concat(buffers))).header);
        if (reply.type !== 'moveFrame') throw new Error('another reply');
        expect(plain(decodeAnswers(reply.answers))).toEqual(plain(given));
      }),
    );
  });

  it('sends the arrays themselves, and gives others that views of floats and ids fit', () => {
    const ids = bytesOf(BigUint64Array.of(7n));
    const values = bytesOf(Float32Array.of(0.5));
    const sent = encodeMove(
      FIELDS,
      update({
        type: 'round',
        timeline: 0,
        round: 3,
        batches: [],
        dense: [],
        sparse: [{ table: 0, ids, gradients: values }],
      }),
    );
    expect([sent.segments![0], sent.segments![1]]).toEqual([ids, values]);
    expect(sent.segments![0]).toBe(ids);
    const came = carried(sent);
    const payload =
      came.type === 'frame' && came.frame.content.type === 'update' ? came.frame.content.payload : undefined;
    const [part] = (payload as Extract<Update, { type: 'round' }>).sparse;
    expect([part!.ids.byteOffset % 8, part!.gradients.byteOffset % 4]).toEqual([0, 0]);
  });

  it('is what the golden frames show', () => {
    const came = (file: 'v3-move-piece-request' | 'v3-move-push-request') => {
      const { header, segments } = goldenFrames[file]!;
      const decoded = carried({ header: parseRequest(header) as MoveRequest, segments });
      return decoded.type === 'frame' ? decoded.frame : undefined;
    };
    const name = { ...NAME, epoch: 3, target: { index: 2, token: '41' } };
    const ids = bytesOf(BigUint64Array.of(7n, 2n ** 63n));
    const piece = { header: { part: 'rows', table: 0 }, segments: [ids, bytesOf(Float32Array.of(0.5, -0.25))] };
    expect(came('v3-move-piece-request')).toEqual({
      ...{ name, number: 0 },
      content: { type: 'piece', shard: 5, isLast: false, position: 12, payload: piece },
    });
    const sparse = [{ table: 0, ids: bytesOf(BigUint64Array.of(7n)), gradients: bytesOf(Float32Array.of(0.5)) }];
    const push = { pass: 0, task: 5, push: 2, last: true, good: 384 };
    expect(came('v3-move-push-request')).toEqual({
      ...{ name, number: 1 },
      content: {
        ...{ type: 'update', position: 13 },
        payload: { type: 'push', push, shards: [1, 5], rateScale: 0.5, dense: [], sparse },
      },
    });
    const reply = parseReply(goldenFrames['v3-move-reply']!.header);
    expect('answers' in reply && decodeAnswers(reply.answers)).toEqual([{ type: 'taken', name, next: 2 }]);
  });

  it('has room in a header for the largest round and the largest closure', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const metrics = { records: most, weight: most, loss: 0.1, correct: most, squaredError: 0.1 };
    const batch = { position: { pass: 2, task: 4, push: most, last: false, good: most }, metrics };
    const batches = Array.from({ length: LIMITS.lanes }, () => batch);
    const round = { type: 'round', timeline: most, round: most, batches, dense: [], sparse: [] } as const;
    const closed = Array.from({ length: LIMITS.closedTasksAtOnce }, () => ({ pass: 2, task: 4, records: most }));
    for (const payload of [round, { type: 'close', tasks: closed } as const]) {
      expect(carried(encodeMove(FIELDS, update(payload)))).toMatchObject({ type: 'frame' });
    }
  });
});

const request = (header: Record<string, unknown>, segments: readonly Uint8Array[] = []) => ({ header, segments });
const frame = (of: Record<string, unknown>, segments?: readonly Uint8Array[]) =>
  request({ type: 'moveFrame', ...FIELDS, move: NAME, number: 0, content: of }, segments);
const ofPiece = (header: Record<string, unknown>, segments?: readonly Uint8Array[]) =>
  frame({ type: 'piece', shard: 1, last: true, position: 0, piece: header }, segments);
const ofUpdate = (header: Record<string, unknown>, segments?: readonly Uint8Array[]) =>
  frame({ type: 'update', position: 1, update: header }, segments);
const offer = (move: Record<string, unknown>, segments?: readonly Uint8Array[]) =>
  request({ type: 'offerMove', ...FIELDS, move: { ...NAME, ...move } }, segments);
const none = new Uint8Array(0);
const PUSH = { pass: 0, task: 0, push: 0, last: false, good: 1 };
const push = (fields: Record<string, unknown> = {}) => ({
  ...{ type: 'push', ...PUSH, rateScale: 1, dense: [], sparse: [] },
  ...fields,
});
const ROUND = { type: 'round', timeline: 0, round: 0, dense: [], sparse: [] };
const METRICS = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };

it.each<[string, ReturnType<typeof request>]>([
  ['a unit that the job does not have', offer({ unit: 8 })],
  ['a purpose of no kind', offer({ purpose: 'other' })],
  ['an epoch of no head', offer({ epoch: 0 })],
  ['an attempt below the first', offer({ attempt: 0 })],
  ['a token that is no number', offer({ source: { index: 0, token: 'x' } })],
  ['an index beyond all', offer({ target: { index: LIMITS.pservers, token: '8' } })],
  ['an offer with a payload', offer({}, [none])],
  ['a frame of no kind', frame({ type: 'other', position: 0 })],
  ['a seal with a payload', frame({ type: 'seal', position: 0 }, [none])],
  ['rows without values', ofPiece({ part: 'rows', table: 0 }, [none])],
  ['a block without values', ofPiece({ part: 'block', parameter: 0, block: 0 })],
  ['a block with too many slots', ofPiece({ part: 'block', parameter: 0, block: 0 }, Array(30).fill(none))],
  ['a ledger in two segments', ofPiece({ part: 'ledger', seq: 1 }, [none, none])],
  ['a piece that is too large', ofPiece({ part: 'ledger', seq: 1 }, [new Uint8Array(LIMITS.movePieceBytes + 1)])],
  ['old rows without values', ofPiece({ part: 'oldRows', table: 0 }, [none])],
  [
    'a state of rounds with a payload',
    ofPiece({ part: 'rounds', timeline: 0, version: 0, keepsPrevious: false, metrics: [] }, [none]),
  ],
  ['a push without its shards', ofUpdate(push())],
  ['a push of shards in odd bytes', ofUpdate(push(), [new Uint8Array(3)])],
  ['a push of more shards than there are', ofUpdate(push(), [new Uint8Array(4 * (LIMITS.shards + 1))])],
  ['a push of a task that the job does not have', ofUpdate(push({ task: 6 }), [none])],
  ['a push of a pass that the job does not have', ofUpdate(push({ pass: 3 }), [none])],
  ['a rate that grows', ofUpdate(push({ rateScale: 1.5 }), [none])],
  ['a rate of nothing', ofUpdate(push({ rateScale: 0 }), [none])],
  ['rows without gradients', ofUpdate(push({ sparse: [{ table: 0 }] }), [none, none])],
  ['ids in odd bytes', ofUpdate(push({ sparse: [{ table: 0 }] }), [none, new Uint8Array(7), none])],
  ['blocks in odd bytes', ofUpdate({ ...ROUND, batches: [], dense: [{ parameter: 0 }] }, [new Uint8Array(7), none])],
  [
    'a closure of a task that the job does not have',
    ofUpdate({ type: 'close', tasks: [{ pass: 0, task: 6, records: 1 }] }),
  ],
  ['a closure with a payload', ofUpdate({ type: 'close', tasks: [] }, [none])],
  [
    'a round of a task that the job does not have',
    ofUpdate({ ...ROUND, batches: [{ ...PUSH, task: 6, metrics: METRICS }] }),
  ],
])('refuses %s', (_, { header, segments }) => {
  expect(() => decodeMove(JOB, arrived(header, segments))).toThrow(expect.objectContaining({ code: 'BadMessage' }));
});
