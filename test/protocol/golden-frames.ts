/** The frames whose bytes are kept in test/golden/frames, by file name: format version, then what it is. */
import type { Frame } from '../../src/protocol/frames/frame.ts';

const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

const MOVE = {
  purpose: 'lead',
  unit: 1,
  epoch: 3,
  source: { index: 0, token: '7' },
  target: { index: 2, token: '41' },
  attempt: 1,
};

export const goldenFrames: Readonly<Record<string, Frame>> = {
  'v3-info-request': { kind: 'request', requestId: 1, header: { type: 'info' }, segments: [] },
  'v3-push-request': {
    kind: 'request',
    requestId: 258,
    header: {
      type: 'push',
      job: 'j',
      batchPlanId: 'c',
      pass: 0,
      task: 5,
      push: 2,
      last: true,
      good: 384,
      placement: { revision: '17', shards: 256 },
      dense: [],
      sparse: [{ table: 0 }],
    },
    segments: [bytes(new BigUint64Array([7n, 2n ** 63n])), bytes(new Float32Array([0.5, -0.25]))],
  },
  'v3-push-reply': {
    kind: 'reply',
    requestId: 258,
    header: { type: 'push', outcome: 'applied', recovery: 0 },
    segments: [],
  },
  'v3-pull-reply': {
    kind: 'reply',
    requestId: 4_294_967_295,
    header: { type: 'pull', version: 24 },
    segments: [bytes(new Float32Array([1, 2, 3])), new Uint8Array(0), bytes(new Float32Array([-4]))],
  },
  'v3-move-piece-request': {
    kind: 'request',
    requestId: 259,
    header: {
      type: 'moveFrame',
      job: 'j',
      batchPlanId: 'c',
      move: MOVE,
      number: 0,
      content: { type: 'piece', shard: 5, last: false, position: 12, piece: { part: 'rows', table: 0 } },
    },
    segments: [bytes(new BigUint64Array([7n, 2n ** 63n])), bytes(new Float32Array([0.5, -0.25]))],
  },
  'v3-move-push-request': {
    kind: 'request',
    requestId: 260,
    header: {
      type: 'moveFrame',
      job: 'j',
      batchPlanId: 'c',
      move: MOVE,
      number: 1,
      content: {
        type: 'update',
        position: 13,
        update: {
          type: 'push',
          pass: 0,
          task: 5,
          push: 2,
          last: true,
          good: 384,
          rateScale: 0.5,
          dense: [],
          sparse: [{ table: 0 }],
        },
      },
    },
    segments: [bytes(new Uint32Array([1, 5])), bytes(new BigUint64Array([7n])), bytes(new Float32Array([0.5]))],
  },
  'v3-move-reply': {
    kind: 'reply',
    requestId: 260,
    header: { type: 'moveFrame', answers: [{ type: 'taken', move: MOVE, next: 2 }] },
    segments: [],
  },
  'v3-replicate-request': {
    kind: 'request',
    requestId: 261,
    header: {
      type: 'replicate',
      job: 'j',
      batchPlanId: 'c',
      primary: MOVE.source,
      member: MOVE.target,
      left: [0],
      order: 9,
      late: false,
      update: {
        type: 'push',
        pass: 0,
        task: 5,
        push: 2,
        last: true,
        good: 384,
        rateScale: 1,
        dense: [],
        sparse: [{ table: 0 }],
      },
    },
    segments: [
      bytes(
        BigUint64Array.of(
          ...[1n, 1n, 3n, 40n, 41n, 2n],
          ...[2n, 2n, 3n, 2n ** 32n + 5n, 3n, 2n ** 32n],
          ...[2n, 4n, 7n, 12n, 7n, 11n],
          ...[3n, 5n, 1n, 8n, 0n, 0n],
        ),
      ),
      bytes(BigUint64Array.of(...[2n, 2n], ...[3n, 1n])),
      bytes(Uint32Array.of(2, 4)),
      bytes(BigUint64Array.of(14n, 3n)),
      bytes(Float32Array.of(0.5, -0.25, 1, 2)),
    ],
  },
  'v3-replicate-reply': {
    kind: 'reply',
    requestId: 261,
    header: { type: 'replicate' },
    segments: [
      bytes(BigUint64Array.of(...[1n, 43n, 41n], ...[1n, 2n ** 32n + 5n, 2n ** 32n], ...[0n, 0n, 0n], ...[2n, 0n, 0n])),
    ],
  },
  'v3-error': {
    kind: 'error',
    requestId: 258,
    header: {
      type: 'error',
      code: 'PushOutOfOrder',
      message: 'push 1 of task 5 is wanted',
      hint: 'rewind',
      details: { want: 1 },
    },
    segments: [],
  },
};
