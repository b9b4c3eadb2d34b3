/** What a batch between two pservers carries arrives as it was sent. */

import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ReplicaAnswer } from '../../../../src/core/replicas/messages.ts';
import type { Outgoing } from '../../../../src/protocol/messages/channel.ts';
import { parseReply, parseRequest } from '../../../../src/protocol/messages/parse.ts';
import {
  type DecodedBatch,
  decodeAnswers,
  decodeBatch,
  encodeAnswers,
  encodeBatch,
  type ReplicateReply,
  type ReplicateRequest,
} from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import type { Update } from '../../../../src/roles/pserver/update/update.ts';
import * as fc from '../../../properties.ts';
import { goldenFrames } from '../../../protocol/golden-frames.ts';
import { bytesOf } from '../../../tensor/fixture.ts';
import { type Batch, drawnBatch, type Frame, payloadOf } from './batches.ts';
import { gradientsOf, PARTS, UNITS } from './updates.ts';
import { arrived, ENDS, FIELDS, JOB, OWN_ORDER } from './wire-rig.ts';

/** What is staged was taken into memory of its own, and the request is gone. */
function carried({ header, segments }: Outgoing<ReplicateRequest>): DecodedBatch {
  const request = arrived(header, segments);
  const decoded = decodeBatch(JOB, { ...request, header: parseRequest(request.header) as ReplicateRequest }, OWN_ORDER);
  payloadOf(decoded.batch)?.own();
  request.overwrite();
  return decoded;
}

/** Without payloads, which are compared by themselves. */
const plain = (batch: Batch): unknown =>
  structuredClone({
    ...batch,
    frames: batch.frames.map(({ link, frame }) => {
      if (frame.type !== 'stage') return { link, frame };
      return { link, frame: { ...frame, update: frame.update.name } };
    }),
  });

const count = fc.maxSafeNat();
const answer: fc.Arbitrary<ReplicaAnswer | undefined> = fc.oneof(
  fc.constant(undefined),
  fc.record({ type: fc.constant('staged' as const), through: count, committed: count }),
  fc.record({ type: fc.constant('refused' as const), why: fc.constantFrom('old' as const, 'unfit' as const) }),
);

describe('a batch on the wire', () => {
  it('arrives as it was sent, with the part of the update that its units stage', () => {
    fc.assert(
      fc.property(drawnBatch, ({ ends, batch, staged }) => {
        const came = carried(encodeBatch(FIELDS, ends, batch));
        expect([came.primary, came.member]).toEqual([ends.primary, ends.member]);
        expect(plain(came.batch)).toEqual(plain(batch));
        const [sent, received] = [payloadOf(batch), payloadOf(came.batch)];
        // Each process counts for itself.
        expect([came.batch.order, received?.order]).toEqual([sent?.order ?? 0, sent && OWN_ORDER]);
        expect(structuredClone(received?.update)).toEqual(structuredClone(sent?.partOf(staged)));
        for (const unit of staged) expect(received?.bytesByUnit.get(unit)).toBe(sent?.bytesByUnit.get(unit));
      }),
    );
  });

  it('sends the arrays of the update themselves', () => {
    const payload = new SharedUpdate({ of: PARTS, order: 1, update: PUSH, units: [1] });
    const { segments } = encodeBatch(FIELDS, ENDS, batchOf(payload, [1]));
    const { sparse } = payload.partOf([1]) as Extract<Update, { type: 'push' }>;
    expect(segments!.at(-2)).toBe(sparse[0]!.ids);
  });

  it('writes a tail as runs of epochs', () => {
    const tail = Array.from({ length: 100_000 }, (_, at) => ({ position: at + 1, epoch: at < 99_999 ? 2 : 3 }));
    const frame = { type: 'begin', base: 0, tail, committed: 5 } as const;
    const sent = encodeBatch(FIELDS, ENDS, {
      ...{ left: [], order: 0, isLate: false },
      frames: [{ link: { unit: 1, epoch: 3, ...ENDS }, frame }],
    });
    expect(sent.segments!.map(({ byteLength }) => byteLength)).toEqual([48, 32]);
    expect(carried(sent).batch.frames[0]?.frame).toEqual(frame);
  });

  it('carries answers as they were given', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: UNITS }), (given) => {
        const { header, segments } = encodeAnswers(given);
        const reply = arrived(header, segments);
        parseReply(reply.header);
        expect(decodeAnswers(reply)).toEqual(given);
      }),
    );
  });

  it('is what the golden frames show', () => {
    const { header, segments } = goldenFrames['v3-replicate-request']!;
    const { batch, ...ends } = carried({ header: parseRequest(header) as ReplicateRequest, segments });
    expect(ends).toEqual({ primary: { index: 0, token: '7' }, member: { index: 2, token: '41' } });
    const tail = [
      { position: 41, epoch: 2 },
      { position: 42, epoch: 2 },
      { position: 43, epoch: 3 },
    ];
    const at = 2 ** 32;
    expect(plain(batch)).toEqual({
      ...{ left: [0], order: 9, isLate: false },
      frames: [
        { link: { unit: 1, epoch: 3, ...ends }, frame: { type: 'begin', base: 40, tail, committed: 41 } },
        {
          link: { unit: 2, epoch: 3, ...ends },
          frame: { type: 'stage', update: { position: at + 5, epoch: 3 }, committed: at },
        },
        {
          link: { unit: 4, epoch: 7, ...ends },
          frame: { type: 'stage', update: { position: 12, epoch: 7 }, committed: 11 },
        },
        { link: { unit: 5, epoch: 1, ...ends }, frame: { type: 'commit', committed: 8 } },
      ],
    });
    const payload = payloadOf(batch)!;
    const ids = bytesOf(BigUint64Array.of(14n, 3n));
    const sparse = [{ table: 0, ids, gradients: bytesOf(Float32Array.of(0.5, -0.25, 1, 2)) }];
    const push = { pass: 0, task: 5, push: 2, last: true, good: 384 };
    expect(payload.update).toEqual({ type: 'push', push, shards: [2, 4], rateScale: 1, dense: [], sparse });
    const size = 4 + 8 + 4 * 2;
    expect([...payload.bytesByUnit]).toEqual([2, 4].map((unit) => [unit, size]));
    const reply = goldenFrames['v3-replicate-reply']!;
    expect(decodeAnswers(arrived(parseReply(reply.header) as ReplicateReply, reply.segments))).toEqual([
      { type: 'staged', through: 43, committed: 41 },
      { type: 'staged', through: at + 5, committed: at },
      undefined,
      { type: 'refused', why: 'old' },
    ]);
  });

  it('has room in a header for the largest update beside all units', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const metrics = { records: most, weight: most, loss: 0.1, correct: most, squaredError: 0.1 };
    const batch = { position: { pass: 2, task: 4, push: most, last: false, good: most }, metrics };
    const batches = Array.from({ length: LIMITS.lanes }, () => batch);
    const round = { type: 'round', timeline: most, round: most, batches, dense: [], sparse: [] } as const;
    const closed = Array.from({ length: LIMITS.closedTasksAtOnce }, () => ({ pass: 2, task: 4, records: most }));
    for (const update of [round, { type: 'close', tasks: closed } as const]) {
      const payload = new SharedUpdate({ of: PARTS, order: most, update, units: [1] });
      const { header, segments } = encodeBatch(FIELDS, ENDS, batchOf(payload, [1]));
      const all = Array.from({ length: LIMITS.units }, (_, unit) => unit);
      const request = arrived({ ...header, left: all }, segments);
      expect(parseRequest(request.header)).toMatchObject({ type: 'replicate', left: all });
    }
  });
});

const POSITION = { pass: 0, task: 0, push: 0, last: false, good: 1 };
/** In units 0 to 5. */
const PUSH: Update = {
  ...{ type: 'push', push: POSITION, rateScale: 1, shards: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] },
  ...gradientsOf(
    [{ parameter: 0, blocks: [0, 1, 2, 3] }],
    [{ table: 0, ids: Array.from({ length: 40 }, (_, id) => BigInt(id)) }],
  ),
};

const batchOf = (payload: SharedUpdate, units: readonly number[]): Batch => ({
  ...{ left: [], order: payload.order, isLate: false },
  frames: units.map((unit): Frame => {
    const name = { position: 6, epoch: 3 };
    return { link: { unit, epoch: 3, ...ENDS }, frame: { type: 'stage', update: { name, payload }, committed: 5 } };
  }),
});

it('takes no memory for an update before there is room', () => {
  const payload = new SharedUpdate({ of: PARTS, order: 1, update: PUSH, units: [1] });
  const { header, segments } = encodeBatch(FIELDS, ENDS, batchOf(payload, [1]));
  const request = arrived(header, segments);
  const update = payloadOf(decodeBatch(JOB, request, OWN_ORDER).batch)?.update as Extract<Update, { type: 'push' }>;
  expect(update.sparse[0]!.gradients.buffer).toBe(request.segment(0).buffer);
});
