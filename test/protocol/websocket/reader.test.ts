/** The receiving half of RFC 6455, against bytes made by an independent sender and bytes made by hand. */

import { describe, expect, it } from 'vitest';
import {
  applyMask,
  closePayload,
  OPCODE,
  readClose,
  Violation,
  writeHeader,
} from '../../../src/protocol/websocket/frames.ts';
import { WebSocketReader } from '../../../src/protocol/websocket/reader.ts';
import * as fc from '../../properties.ts';

interface Piece {
  readonly opcode: number;
  readonly fin: boolean;
  readonly payload: Uint8Array;
}

/** Made by the rules of the RFC, byte by byte. */
function wire({ opcode, fin, payload }: Piece, mask: Uint8Array | undefined): Buffer {
  const n = payload.length;
  const length =
    n < 126
      ? [n]
      : n < 65_536
        ? [126, n >> 8, n & 255]
        : [127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((s) => (n >>> s) & 255)];
  length[0]! |= mask === undefined ? 0 : 128;
  const body = payload.map((byte, i) => byte ^ (mask?.[i % 4] ?? 0));
  return Buffer.from([(fin ? 128 : 0) | opcode, ...length, ...(mask ?? []), ...body]);
}

/** Reads in pieces; every other piece directly where there is room. */
function read(
  bytes: Buffer,
  cuts: readonly number[],
  options: { side?: 'client' | 'server'; direct?: boolean; max?: number } = {},
) {
  const { side = 'server', direct = false, max = 1 << 20 } = options;
  const messages: { binary: boolean; bytes: number[] }[] = [];
  const controls: { opcode: number; payload: number[] }[] = [];
  let current: { binary: boolean; bytes: number[] } | undefined;
  const room = new Uint8Array(7);
  const reader = new WebSocketReader({
    side,
    maxMessageBytes: max,
    sink: {
      begin: (binary) => {
        expect(current).toBeUndefined();
        current = { binary, bytes: [] };
      },
      write: (piece) => void current!.bytes.push(...piece),
      room: () => (direct ? room : undefined),
      filled: (n) => void current!.bytes.push(...room.subarray(0, n)),
      end: () => {
        messages.push(current!);
        current = undefined;
      },
    },
    onControl: (opcode, payload) => void controls.push({ opcode, payload: [...payload] }),
  });
  const copy = Buffer.from(bytes);
  for (let at = 0, i = 0; at < copy.length; i++) {
    const place = reader.room();
    const step = Math.min(copy.length - at, 1 + ((cuts[i % cuts.length] ?? 5) % 40), place?.length ?? 40);
    if (place === undefined) {
      reader.feed(copy.subarray(at, at + step));
    } else {
      place.set(copy.subarray(at, at + step));
      reader.filled(step);
    }
    at += step;
  }
  return { messages, controls, unfinished: current };
}

const masks = fc.constantFrom(Uint8Array.of(0, 0, 0, 0), Uint8Array.of(1, 2, 3, 4), Uint8Array.of(0, 255, 0, 7));
const payload = fc.uint8Array({ maxLength: 300 });
const control = fc.record({
  opcode: fc.constantFrom(OPCODE.ping, OPCODE.pong),
  payload: fc.uint8Array({ maxLength: 125 }),
});
/** A message in fragments, with control frames between them. */
const message = fc.record({
  opcode: fc.constantFrom(OPCODE.text, OPCODE.binary),
  fragments: fc.array(fc.tuple(payload, fc.array(control, { maxLength: 2 })), { minLength: 1, maxLength: 4 }),
});

describe('a WebSocket reader', () => {
  it.each([false, true])('puts messages together however they are cut, read directly: %s', (direct) => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 4 }),
        fc.array(fc.nat(40), { minLength: 1 }),
        masks,
        fc.constantFrom('client' as const, 'server' as const),
        (sent, cuts, mask, side) => {
          const frames = sent.flatMap(({ opcode, fragments }) =>
            fragments.flatMap(([part, controls], i): Piece[] => [
              { opcode: i === 0 ? opcode : OPCODE.continuation, fin: i === fragments.length - 1, payload: part },
              ...controls.map((one) => ({ ...one, fin: true })),
            ]),
          );
          const bytes = Buffer.concat(frames.map((frame) => wire(frame, side === 'server' ? mask : undefined)));
          const { messages, controls, unfinished } = read(bytes, cuts, { side, direct });
          expect(unfinished).toBeUndefined();
          expect(messages).toEqual(
            sent.map(({ opcode, fragments }) => ({
              binary: opcode === OPCODE.binary,
              bytes: fragments.flatMap(([part]) => [...part]),
            })),
          );
          expect(controls).toEqual(
            sent.flatMap(({ fragments }) =>
              fragments.flatMap(([, all]) => all.map(({ opcode, payload: p }) => ({ opcode, payload: [...p] }))),
            ),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([125, 126, 65_535, 65_536, 70_000])('reads and writes a header for %i bytes', (payloadBytes) => {
    const into = Buffer.alloc(14);
    const mask = Uint8Array.of(9, 8, 7, 6);
    const end = writeHeader(into, 0, { opcode: OPCODE.binary, fin: true, payloadBytes, mask });
    const expected = wire({ opcode: OPCODE.binary, fin: true, payload: new Uint8Array(payloadBytes) }, mask);
    expect(into.subarray(0, end)).toEqual(expected.subarray(0, expected.length - payloadBytes));
  });

  const one = (opcode: number, fin: boolean, bytes: number): Buffer =>
    wire({ opcode, fin, payload: new Uint8Array(bytes) }, Uint8Array.of(0, 0, 0, 0));
  it.each([
    ['reserved bits', 1002, Buffer.from([0xc2, 0x80, 0, 0, 0, 0])],
    ['an unknown data opcode', 1002, one(3, true, 0)],
    ['an unknown control opcode', 1002, one(11, true, 0)],
    ['a continuation of nothing', 1002, one(0, true, 1)],
    ['a message inside a message', 1002, Buffer.concat([one(2, false, 1), one(2, true, 1)])],
    ['a ping in fragments', 1002, one(9, false, 1)],
    ['a ping of 126 bytes', 1002, one(9, true, 126)],
    ['no mask', 1002, wire({ opcode: 2, fin: true, payload: new Uint8Array(1) }, undefined)],
    ['a message over the limit', 1009, one(2, true, 1001)],
    ['fragments over the limit', 1009, Buffer.concat([one(2, false, 600), one(0, true, 600)])],
    ['a length of 2^63, its mask not sent', 1009, Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0])],
  ])('refuses %s', (_what, closeCode, bytes) => {
    for (const cuts of [[0], [39]]) {
      const thrown = (() => {
        try {
          return read(bytes, cuts, { max: 1000 });
        } catch (error) {
          return error;
        }
      })();
      expect(thrown).toBeInstanceOf(Violation);
      expect((thrown as Violation).closeCode).toBe(closeCode);
    }
  });

  it('refuses a masked frame of a server', () => {
    expect(() => read(one(2, true, 1), [9], { side: 'client' })).toThrow(Violation);
  });
});

describe('masks', () => {
  it('are those of the RFC at every alignment and phase, and undo themselves', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), masks, fc.nat(7), fc.nat(9), (bytes, mask, shift, phase) => {
        const memory = new Uint8Array(100);
        const view = memory.subarray(shift, shift + bytes.length);
        view.set(bytes);
        applyMask(view, mask, phase);
        expect([...view]).toEqual([...bytes].map((byte, i) => byte ^ mask[(phase + i) % 4]!));
        expect(memory.subarray(0, shift).every((byte) => byte === 0)).toBe(true);
        expect(memory.subarray(shift + bytes.length).every((byte) => byte === 0)).toBe(true);
        applyMask(view, mask, phase);
        expect([...view]).toEqual([...bytes]);
      }),
    );
  });
});

describe('close frames', () => {
  it('carry code and reason, cut to what fits', () => {
    expect(readClose(closePayload({ code: 1001, reason: 'Draining é' }))).toEqual({ code: 1001, reason: 'Draining é' });
    expect(readClose(new Uint8Array(0))).toEqual({ code: 1005, reason: '' });
    const long = readClose(closePayload({ code: 3000, reason: 'é'.repeat(200) }));
    expect(long).toEqual({ code: 3000, reason: 'é'.repeat(61) });
  });

  it.each([
    ['one byte', [3], 1002],
    ['code 999', [3, 231], 1002],
    ['code 1005', [3, 237], 1002],
    ['code 1006', [3, 238], 1002],
    ['code 2999', [11, 183], 1002],
    ['code 5000', [19, 136], 1002],
    ['a reason that is not UTF-8', [3, 232, 0xc3, 0x28], 1007],
  ])('are refused with %s', (_what, bytes, closeCode) => {
    expect(() => readClose(Uint8Array.from(bytes))).toThrow(expect.objectContaining({ closeCode }));
  });
});
