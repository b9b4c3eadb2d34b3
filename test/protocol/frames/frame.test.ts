import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isPaddletError, PaddletError } from '../../../src/base/errors.ts';
import { LIMITS } from '../../../src/base/limits.ts';
import {
  decodeFrame,
  decodePreamble,
  encodeFrame,
  type Frame,
  PREAMBLE_BYTES,
} from '../../../src/protocol/frames/frame.ts';
import * as fc from '../../properties.ts';
import { goldenFrames } from '../golden-frames.ts';

const bytesOf = (frame: Frame): Uint8Array => new Uint8Array(Buffer.concat(encodeFrame(frame).buffers));
const failure = (run: () => unknown): PaddletError => {
  try {
    run();
  } catch (error) {
    if (error instanceof PaddletError) return error;
    throw error;
  }
  throw new Error('it was accepted');
};

const frames = fc.record({
  kind: fc.constantFrom('request' as const, 'reply' as const, 'error' as const),
  requestId: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  header: fc.dictionary(
    fc.string({ maxLength: 8 }).filter((key) => key !== '__proto__'),
    fc.string(),
    { noNullPrototype: true },
  ),
  segments: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }),
});

describe('frames', () => {
  it('bring back what was put in, with segments at multiples of 8', () => {
    fc.assert(
      fc.property(frames, (frame) => {
        const bytes = bytesOf(frame);
        const decoded = decodeFrame(bytes);
        expect({ ...decoded, segments: decoded.segments.map((s) => [...s]) }).toEqual({
          ...frame,
          segments: frame.segments.map((s) => [...s]),
        });
        for (const segment of decoded.segments) expect((segment.byteOffset - bytes.byteOffset) % 8).toBe(0);
      }),
    );
  });

  it('pass segments through without a copy', () => {
    const segment = new Uint8Array(1000);
    expect(encodeFrame({ kind: 'request', requestId: 1, header: {}, segments: [segment] }).buffers).toContain(segment);
  });

  it('of which one byte is missing, added or changed are refused or read as another valid frame, never worse', () => {
    const change = fc.oneof(
      fc.record({ type: fc.constant('cut' as const), at: fc.nat() }),
      fc.record({ type: fc.constant('add' as const), bytes: fc.uint8Array({ minLength: 1, maxLength: 9 }) }),
      fc.record({ type: fc.constant('set' as const), at: fc.nat(), to: fc.nat(255) }),
    );
    fc.assert(
      fc.property(frames, fc.array(change, { minLength: 1, maxLength: 4 }), (frame, changes) => {
        let bytes = bytesOf(frame);
        for (const step of changes) {
          if (step.type === 'cut') bytes = bytes.slice(0, step.at % (bytes.length + 1));
          else if (step.type === 'add') bytes = new Uint8Array([...bytes, ...step.bytes]);
          else if (bytes.length > 0) bytes[step.at % bytes.length] = step.to;
        }
        try {
          decodeFrame(bytes);
        } catch (error) {
          expect(isPaddletError(error, 'BadFrame', 'FrameTooLarge')).toBe(true);
          expect((error as PaddletError).details.field).toEqual(expect.any(String));
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('made of random bytes are refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(
          isPaddletError(
            failure(() => decodeFrame(bytes)),
            'BadFrame',
            'FrameTooLarge',
          ),
        ).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  const GOOD = bytesOf({
    kind: 'request',
    requestId: 77,
    header: { a: 1 },
    segments: [new Uint8Array(3), new Uint8Array(8)],
  });
  const SMALL = bytesOf({ kind: 'request', requestId: 77, header: { a: 1 }, segments: [] });
  const put = (bytes: Uint8Array, at: number, value: number, width: 8 | 16 | 32): Uint8Array => {
    const changed = bytes.slice();
    const view = new DataView(changed.buffer);
    if (width === 8) view.setUint8(at, value);
    else if (width === 16) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    return changed;
  };

  it.each([
    ['magic', 'BadFrame', put(GOOD, 0, 0, 8)],
    ['version', 'BadFrame', put(GOOD, 4, 4, 8)],
    ['kind', 'BadFrame', put(GOOD, 5, 9, 8)],
    ['reserved', 'BadFrame', put(GOOD, 6, 1, 16)],
    ['header length', 'FrameTooLarge', put(GOOD, 12, LIMITS.frameHeaderBytes + 1, 32)],
    ['header length', 'FrameTooLarge', put(GOOD, 12, 3_000_000_000, 32)],
    ['segment count', 'FrameTooLarge', put(GOOD, 16, LIMITS.frameSegments + 1, 32)],
    ['frame length', 'FrameTooLarge', put(GOOD, 20, 3_000_000_000, 32)],
    ['frame length', 'BadFrame', put(GOOD, 20, 24, 32)],
    ['frame length', 'BadFrame', put(GOOD, 20, GOOD.length + 8, 32)],
    ['segment 0', 'BadFrame', put(GOOD, 24, 3_000_000_000, 32)],
    ['frame length', 'BadFrame', put(GOOD, 28, 0, 32)],
    ['padding of segment 0', 'BadFrame', put(GOOD, GOOD.length - 9, 1, 8)],
    ['header', 'BadFrame', put(SMALL, 24, 0xff, 8)],
    ['padding of the header', 'BadFrame', put(SMALL, SMALL.length - 1, 1, 8)],
  ])('name the field that is wrong: %s, %s', (field, code, bytes) => {
    const error = failure(() => decodeFrame(bytes));
    expect(error.code).toBe(code);
    expect(error.details.field).toBe(field);
    expect(error.message).toContain(field);
    if (field !== 'magic' && field !== 'version') expect(error.details.requestId).toBe(77);
  });

  it.each(['request', 'reply'] as const)('have a request id: a %s of 0 is refused', (kind) => {
    const bytes = put(bytesOf({ kind, requestId: 1, header: { a: 1 }, segments: [] }), 8, 0, 32);
    expect(failure(() => decodeFrame(bytes))).toMatchObject({
      code: 'BadFrame',
      details: { field: 'request id', requestId: 0 },
    });
    expect(decodeFrame(put(bytes, 5, 3, 8))).toMatchObject({ kind: 'error', requestId: 0 });
  });

  it('over a limit are refused when they are made', () => {
    const frame = (header: unknown, segments: Uint8Array[]): Frame => ({
      kind: 'request',
      requestId: 1,
      header,
      segments,
    });
    const big = new Uint8Array(LIMITS.frameBytes);
    expect(failure(() => encodeFrame(frame({}, [big])))).toMatchObject({
      code: 'FrameTooLarge',
      details: { field: 'frame length' },
    });
    expect(failure(() => encodeFrame(frame({ a: 'x'.repeat(LIMITS.frameHeaderBytes) }, [])))).toMatchObject({
      details: { field: 'header length' },
    });
    expect(
      failure(() => encodeFrame(frame({}, Array(LIMITS.frameSegments + 1).fill(new Uint8Array(0))))),
    ).toMatchObject({
      details: { field: 'segment count' },
    });
  });
});

/**
 * Frames of this version stay readable. `PADDLET_GOLDEN=write npx vitest run test/protocol/frames/frame.test.ts` adds
 * files.
 */
describe('golden frames', () => {
  const folder = fileURLToPath(new URL('../../golden/frames/', import.meta.url));
  it.each(Object.entries(goldenFrames))('%s', (name, frame) => {
    const file = `${folder}${name}.bin`;
    if (process.env.PADDLET_GOLDEN === 'write' && !existsSync(file)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, bytesOf(frame));
    }
    const golden = new Uint8Array(readFileSync(file));
    expect(decodePreamble(golden.subarray(0, PREAMBLE_BYTES)).kind).toBe(frame.kind);
    const decoded = decodeFrame(golden);
    expect({ ...decoded, segments: decoded.segments.map((s) => [...s]) }).toEqual({
      ...frame,
      segments: frame.segments.map((s) => [...s]),
    });
    expect(bytesOf(frame)).toEqual(golden);
  });

  it('of an older version are refused, naming both', () => {
    const old = new Uint8Array(readFileSync(`${folder}v2-push-request.bin`));
    expect(failure(() => decodeFrame(old))).toMatchObject({
      code: 'BadFrame',
      message: 'bad frame: version: expected version 3, got version 2 from the peer',
    });
  });
});
