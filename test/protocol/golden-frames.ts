/** The frames whose bytes are kept in test/golden/frames, by file name: format version, then what it is. */
import type { Frame } from '../../src/protocol/frames/frame.ts';

const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

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
