/** Headers that are read and written by hand are read and written as the library does it, or left to it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCbor, encodeCbor } from '../../src/protocol/cbor.ts';
import { decodeFrame, encodeFrame } from '../../src/protocol/frame.ts';
import { readHotHeader } from '../../src/protocol/hot-header-reader.ts';
import { writeHotHeader } from '../../src/protocol/hot-header-writer.ts';
import { asynchronous, mangled, replies, requests } from './hot-messages.ts';

const ROOM = new Uint8Array(64 * 1024);
const BEFORE = 5;

function write(header: unknown, into = ROOM): Uint8Array | undefined {
  const end = writeHotHeader(header, into, BEFORE);
  return end === undefined ? undefined : into.slice(BEFORE, end);
}

const read = (bytes: Uint8Array): unknown => readHotHeader(bytes, 0, bytes.length);

/** What ordinary jobs send: nothing of it is left to the library. */
const ORDINARY = {
  type: 'push',
  job: 'click-through',
  cut: 'c0ffee'.repeat(8),
  pass: 3,
  task: 70_000,
  push: 300,
  last: true,
  good: 4_294_967_295,
  placement: { revision: '18446744073709551615', shards: 256 },
  used: { revision: '9', version: 24 },
  dense: [{ parameter: 0 }, { parameter: 23 }, { parameter: 24 }],
  sparse: [{ table: 0 }],
};
const { placement, dense, sparse, job, cut } = ORDINARY;

describe('headers by hand', () => {
  it.each([
    ORDINARY,
    { type: 'push', job, cut, pass: 0, task: 0, push: 0, last: false, good: 0, placement, dense: [], sparse: [] },
    { type: 'pull', job, cut, placement, dense, sparse },
    { type: 'pull', version: 65_536 },
    { type: 'push', outcome: 'applied', recovery: 0 },
    { type: 'push', outcome: 'duplicate', recovery: 255 },
  ])('are written and read without the library: %j', (header) => {
    const written = write(header);
    expect(written).toEqual(new Uint8Array(encodeCbor(header)));
    expect(read(written!)).toEqual(header);
  });

  it('are written as the library writes them', () => {
    let byHand = 0;
    fc.assert(
      fc.property(fc.oneof(asynchronous, requests, replies, mangled), (header) => {
        const written = write(header);
        if (written === undefined) return;
        byHand++;
        expect(decodeCbor(written)).toEqual(decodeCbor(encodeCbor(header)));
        expect(written.length).toBe(encodeCbor(header).length);
      }),
      { numRuns: 3000 },
    );
    expect(byHand).toBeGreaterThan(200);
  });

  it('are read as the library reads them, also with bytes changed, cut and added', () => {
    let understood = 0;
    const change = fc.record({ at: fc.nat(), to: fc.nat(255), how: fc.constantFrom('set', 'cut', 'insert') });
    const headers = fc.oneof(fc.constant(ORDINARY), asynchronous, mangled);
    fc.assert(
      fc.property(headers, fc.array(change, { maxLength: 2 }), (header, changes) => {
        let bytes = [...(write(header) ?? encodeCbor(header, true))];
        for (const { at, to, how } of changes) {
          const place = at % (bytes.length + 1);
          if (how === 'cut') bytes = bytes.slice(0, place);
          else bytes.splice(place, how === 'set' ? 1 : 0, to);
        }
        const byHand = read(Uint8Array.from(bytes));
        if (byHand === undefined) return;
        understood++;
        expect(byHand).toEqual(decodeCbor(Uint8Array.from(bytes)));
      }),
      { numRuns: 300000 },
    );
    expect(understood).toBeGreaterThan(400);
  });

  it('are not written where there is too little room, and nothing is written outside', () => {
    const whole = write(ORDINARY)!;
    for (let length = 0; length <= BEFORE + whole.length; length++) {
      const room = new Uint8Array(length + 8).fill(7);
      const written = write(ORDINARY, room.subarray(0, length));
      expect(written === undefined).toBe(length < BEFORE + whole.length);
      expect(room.subarray(0, Math.min(BEFORE, length)).every((byte) => byte === 7)).toBe(true);
      expect(room.subarray(length).every((byte) => byte === 7)).toBe(true);
    }
  });

  it('keep texts apart that follow one another', () => {
    for (const name of ['one', 'two', 'tw', 'two', 'twofold', 'x'.repeat(256), 'one']) {
      expect(read(write({ ...ORDINARY, job: name })!)).toEqual({ ...ORDINARY, job: name });
    }
  });

  it('stand in frames of any number of segments', () => {
    for (const count of [0, 1, 100, 2_000, 4_000]) {
      const frame = { kind: 'request', requestId: 7, header: ORDINARY, segments: Array(count).fill(new Uint8Array(8)) };
      // Twice the slab that heads are cut from.
      for (let i = 0; i < 1 + 130_000 / (4 * count + 300); i++) {
        const { buffers } = encodeFrame(frame as Parameters<typeof encodeFrame>[0]);
        const decoded = decodeFrame(new Uint8Array(Buffer.concat(buffers)));
        expect(decoded.header).toEqual(ORDINARY);
        expect(decoded.segments.length).toBe(count);
      }
    }
  });
});
