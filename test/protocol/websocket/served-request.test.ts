/** A request as a handler sees it: checked before it is looked at, and its memory lent until the answer is sent. */
import { describe, expect, it } from 'vitest';
import { decodeFrame, decodeHead, decodePreamble, encodeFrame } from '../../../src/protocol/frames/frame.ts';
import { freedOnce } from '../../../src/protocol/frames/landing.ts';
import { LandingPool } from '../../../src/protocol/frames/landing-pool.ts';
import { type ReceivedFrame, receivedFrame } from '../../../src/protocol/frames/link.ts';
import { ServedRequest } from '../../../src/protocol/websocket/served-request.ts';

const PULL = {
  ...{ type: 'pull', job: 'j', batchPlanId: 'c', placement: { revision: '17', shards: 8 } },
  ...{ dense: [{ parameter: 0 }], sparse: [{ table: 0 }] },
};

/** Large blocks are counted by the pool, small ones are not. */
const LARGE_BYTES = 100_000;

function arrived(header: unknown, segments: readonly Uint8Array[], pool: LandingPool): ReceivedFrame {
  const { buffers } = encodeFrame({ kind: 'request', requestId: 7, header, segments });
  const bytes = Buffer.concat(buffers);
  const preamble = decodePreamble(bytes);
  const head = decodeHead(preamble, bytes.subarray(0, preamble.payloadAt));
  expect(decodeFrame(bytes).segments.length).toBe(segments.length);
  if (head.payloadBytes === 0) return receivedFrame(head, undefined);
  const landing = freedOnce(pool.allocate(head.payloadBytes));
  landing.bytes().set(bytes.subarray(preamble.payloadAt));
  return receivedFrame(head, landing);
}

describe('a served request', () => {
  it('shows its segments, and how many bytes they have together', () => {
    const pool = new LandingPool(LARGE_BYTES);
    const segments = [Uint8Array.of(1, 2, 3, 4), Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0), new Uint8Array(0)];
    const request = new ServedRequest(arrived(PULL, segments, pool), pool);
    expect(request.header).toEqual(PULL);
    expect(request.segmentCount).toBe(3);
    expect([0, 1, 2].map((index) => [...request.segment(index)])).toEqual(segments.map((segment) => [...segment]));
    expect(request.payloadBytes).toBe(12);
    const empty = new ServedRequest(arrived(PULL, [], pool), pool);
    expect([empty.segmentCount, empty.payloadBytes]).toEqual([0, 0]);
  });

  it('whose header is no known message is refused when the header is asked for, each time', () => {
    const pool = new LandingPool(LARGE_BYTES);
    const request = new ServedRequest(arrived({ ...PULL, dense: [{ parameter: -1 }] }, [], pool), pool);
    for (let time = 0; time < 2; time++) {
      expect(() => request.header).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    }
  });

  it('keeps what is lent for the answer when its own memory is freed, and gives back both at its end, once', () => {
    const pool = new LandingPool(LARGE_BYTES);
    pool.enter();
    const request = new ServedRequest(arrived(PULL, [new Uint8Array(LARGE_BYTES)], pool), pool);
    expect(pool.inUse).toBe(1);
    expect(request.answerMemory(LARGE_BYTES).length).toBe(LARGE_BYTES);
    request.answerMemory(LARGE_BYTES);
    expect(pool.inUse).toBe(3);
    request.free();
    expect(pool.inUse).toBe(2);
    request.end();
    request.end();
    expect(pool.inUse).toBe(0);
  });
});
