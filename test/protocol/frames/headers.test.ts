/** Headers that are read and written by the tables are read and written as the library does it, or left to it. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Encoder } from 'cbor-x';
import { describe, expect, it } from 'vitest';
import { GENERATED, generateHeaders } from '../../../scripts/generate-headers.ts';
import { LIMITS } from '../../../src/base/limits.ts';
import { decodeCbor, encodeCbor } from '../../../src/protocol/frames/cbor.ts';
import { decodeFrame, encodeFrame, type Frame } from '../../../src/protocol/frames/frame.ts';
import { readHotHeader, writeHotHeader } from '../../../src/protocol/frames/hot-headers.ts';
import { parseReply, parseRequest } from '../../../src/protocol/messages/parse.ts';
import * as fc from '../../properties.ts';
import { inOrder, mangled, replies, requests } from './header-messages.ts';

const ROOM = new Uint8Array(64 * 1024);
const BEFORE = 5;
const kindOf = (header: object): 'request' | 'reply' => ('job' in header ? 'request' : 'reply');

function write(header: object, into = ROOM): Uint8Array | undefined {
  const end = writeHotHeader(kindOf(header), header, into, BEFORE);
  return end === undefined ? undefined : into.slice(BEFORE, end);
}

/** As a peer may send it that is not paddlet. */
const library = new Encoder({ useRecords: false, mapsAsObjects: true, variableMapSize: true, tagUint8Array: false });
const encodedUnchecked = (header: unknown): Uint8Array => Uint8Array.from(library.encode(header));

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const read = (bytes: Uint8Array, kind: 'request' | 'reply' = 'request'): unknown =>
  readHotHeader(kind, bytes, 0, bytes.length);

/** What ordinary jobs send: nothing of it is left to the library. */
const ORDINARY = {
  type: 'push',
  job: 'click-through',
  batchPlanId: 'c0ffee'.repeat(8),
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
const { placement, dense, sparse, job, batchPlanId } = ORDINARY;
const LANE = {
  type: 'pushLane',
  job,
  batchPlanId,
  timeline: 1,
  round: 2,
  lane: 4095,
};
const COPIES = {
  type: 'replicate',
  job,
  batchPlanId,
  primary: { index: 0, token: '7' },
  member: { index: 255, token: '18446744073709551615' },
};
const PLACED = { type: 'push', pass: 3, task: 70_000, push: 300, last: true, good: 4_294_967_295 };
const SUMS = { records: 64, metrics: { records: 64, weight: 64, loss: 0.71, correct: 2 ** 40, squaredError: 3 } };

it('the code for headers is the one that their tables make', () => {
  expect(readFileSync(GENERATED, 'utf8'), 'after a change: npm run build:headers').toBe(generateHeaders());
});

describe('headers of hot messages', () => {
  it.each([
    ORDINARY,
    {
      type: 'push',
      job,
      batchPlanId,
      pass: 0,
      task: 0,
      push: 0,
      last: false,
      good: 0,
      placement,
      dense: [],
      sparse: [],
    },
    { type: 'pull', job, batchPlanId, placement, dense, sparse },
    { type: 'pull', version: 65_536 },
    { type: 'push', outcome: 'applied', recovery: 0 },
    { type: 'push', outcome: 'duplicate', recovery: 255 },
    { type: 'pull', job, batchPlanId, placement, hold: { trainer: 't', pushes: 2, since: 7 }, dense, sparse },
    { type: 'pullVersion', job, batchPlanId, timeline: 1, version: 2, maxWaitMs: 60_000, placement, dense, sparse },
    { type: 'pullVersion', waitedMs: 17 },
    { ...LANE, batch: { pass: 0, task: 5, push: 2, last: true, good: 384 }, ...SUMS, placement, dense, sparse },
    { ...LANE, ...SUMS, placement, dense: [], sparse: [] },
    { type: 'pushLane', outcome: 'taken', version: 9 },
    { ...COPIES, left: [], order: 70_000, late: false, update: { ...PLACED, rateScale: 1, dense, sparse } },
    { ...COPIES, left: [3], order: 7, late: true, update: { ...PLACED, rateScale: 0.5, dense: [], sparse } },
    { ...COPIES, left: [0, 1023], order: 0, late: false },
    { type: 'replicate' },
  ])('are written and read without the library: %j', (header) => {
    const written = write(header);
    expect(written).toEqual(new Uint8Array(encodeCbor(header)));
    expect(read(written!, kindOf(header))).toEqual(header);
  });

  it.each([
    { ...COPIES, left: [], order: 1, late: false, update: { type: 'close', tasks: [] } },
    { ...COPIES, left: [], order: 1, late: false, update: { ...PLACED, rateScale: 0, dense, sparse } },
    { ...COPIES, left: [], order: 1, late: false, update: { ...PLACED, rateScale: 1.5, dense, sparse } },
    { ...COPIES, left: [4096], order: 0, late: false },
  ])('are left to the library where they are unusual or not valid: %j', (header) => {
    expect(read(encodedUnchecked(header))).toBeUndefined();
  });

  it('are written as the library writes them', () => {
    let byHand = 0;
    fc.assert(
      fc.property(fc.oneof(inOrder, requests, replies, mangled), (header) => {
        const written = write(header);
        if (written === undefined) return;
        byHand++;
        expect(decodeCbor(written)).toEqual(decodeCbor(encodeCbor(header)));
        expect(hex(encodeCbor(decodeCbor(written)))).toBe(hex(written));
      }),
      { numRuns: 3000 },
    );
    expect(byHand).toBeGreaterThan(200);
  });

  it('are read as the library reads them, with any byte changed, left out or put in, or cut anywhere', () => {
    let understood = 0;
    const compare = (bytes: Uint8Array, kind: 'request' | 'reply'): void => {
      // In the midst of other bytes, as it comes from a socket.
      const around = new Uint8Array(bytes.length + 16).fill(0x61);
      around.set(bytes, 8);
      const byHand = readHotHeader(kind, around, 8, 8 + bytes.length);
      if (byHand === undefined) return;
      understood++;
      const parse = kind === 'request' ? parseRequest : parseReply;
      for (const other of [decodeCbor(bytes), parse(byHand)]) {
        // `expect` takes long, and there are tens of thousands.
        if (!isDeepStrictEqual(byHand, other)) expect(byHand).toEqual(other);
      }
    };
    for (const header of [
      ORDINARY,
      { type: 'pull', version: 300 },
      { type: 'push', outcome: 'applied', recovery: 7 },
    ]) {
      const kind = kindOf(header);
      const whole = write(header)!;
      for (let at = 0; at <= whole.length; at++) {
        const before = whole.subarray(0, at);
        compare(before, kind);
        compare(Uint8Array.from([...before, ...whole.subarray(at + 1)]), kind);
        // Each value at some places: all at all of them take long.
        for (let byte = at % 4; byte < 256; byte += 4) {
          compare(Uint8Array.from([...before, byte, ...whole.subarray(at + 1)]), kind);
          compare(Uint8Array.from([...before, byte, ...whole.subarray(at)]), kind);
        }
      }
    }
    // Other names and numbers make other valid headers.
    expect(understood).toBeGreaterThan(2_500);
  });

  it('are read as the library reads them, and checked as the schemas check them, whatever they hold', () => {
    let read = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(inOrder, mangled), fc.boolean(), (header, isReply) => {
        const bytes = encodedUnchecked(header);
        const byHand = readHotHeader(isReply ? 'reply' : 'request', bytes, 0, bytes.length);
        const parse = isReply ? parseReply : parseRequest;
        if (byHand === undefined) {
          try {
            parse(header);
          } catch {
            refused++;
          }
          return;
        }
        read++;
        expect(byHand).toEqual(decodeCbor(bytes));
        expect(parse(byHand)).toEqual(byHand);
      }),
      { numRuns: 4000 },
    );
    expect(read).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(100);
  });

  it('are refused with any field but the optional ones left out', () => {
    fc.assert(
      fc.property(inOrder, fc.nat(), (header, n) => {
        const optional = ['used', 'batch', 'hold', 'pull', 'update', ...(header.type === 'push' ? ['version'] : [])];
        const keys = Object.keys(header).filter((key) => !optional.includes(key));
        const rest = { ...header };
        delete rest[keys[n % keys.length]!];
        const bytes = encodeCbor(rest);
        expect(readHotHeader('request', bytes, 0, bytes.length)).toBeUndefined();
        expect(readHotHeader('reply', bytes, 0, bytes.length)).toBeUndefined();
      }),
    );
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

  it('stand in frames of any number of segments, each with memory of its own', () => {
    const segments = (count: number): Uint8Array[] => Array.from({ length: count }, () => new Uint8Array(8));
    for (const count of [0, 1, 100, 900, 1_000, 1_100, 2_000, 4_000]) {
      const sent: { readonly push: number; readonly buffers: readonly Uint8Array[] }[] = [];
      // Twice the slab that heads are cut from.
      for (let push = 0; push < 1 + 130_000 / (4 * count + 300); push++) {
        const frame: Frame = {
          kind: 'request',
          requestId: 7,
          header: { ...ORDINARY, push },
          segments: segments(count),
        };
        sent.push({ push, buffers: encodeFrame(frame).buffers });
      }
      for (const { push, buffers } of sent) {
        const decoded = decodeFrame(new Uint8Array(Buffer.concat(buffers)));
        expect(decoded.header).toEqual({ ...ORDINARY, push });
        expect(decoded.segments.length).toBe(count);
      }
    }
  });

  it('over the limit of a frame are refused', () => {
    const limits = { ...LIMITS, frameHeaderBytes: write(ORDINARY)!.length };
    const frame: Frame = { kind: 'request', requestId: 7, header: ORDINARY, segments: [] };
    encodeFrame(frame, limits);
    expect(() => encodeFrame(frame, { ...limits, frameHeaderBytes: limits.frameHeaderBytes - 1 })).toThrowError(
      expect.objectContaining({ code: 'FrameTooLarge', details: expect.objectContaining({ field: 'header length' }) }),
    );
  });
});
