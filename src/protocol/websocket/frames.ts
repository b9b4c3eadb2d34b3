/** The bytes of RFC 6455, section 5: frame headers, masks, and what a close frame may say. */
import { isUtf8 } from 'node:buffer';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export type Opcode = (typeof OPCODE)[keyof typeof OPCODE];

/** Limits of RFC 6455. */
export const LONGEST_HEADER_BYTES = 14;
export const LONGEST_CONTROL_BYTES = 125;

/** Close codes that paddlet uses itself. */
export const CLOSE = {
  normal: 1000,
  protocol: 1002,
  none: 1005,
  lost: 1006,
  invalidText: 1007,
  tooLarge: 1009,
} as const;

/** The peer broke RFC 6455. */
export class Violation extends Error {
  readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

export const headerBytes = (payloadBytes: number, masked: boolean): number =>
  (payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10) + (masked ? 4 : 0);

export interface OutgoingHeader {
  readonly opcode: Opcode;
  readonly fin: boolean;
  readonly payloadBytes: number;
  /** Four bytes, or undefined for the frame of a server. */
  readonly mask: Uint8Array | undefined;
}

/** Writes a header at `at` and returns where the payload begins. */
export function writeHeader(into: Buffer, at: number, { opcode, fin, payloadBytes, mask }: OutgoingHeader): number {
  const maskBit = mask === undefined ? 0 : 0x80;
  into[at] = opcode | (fin ? 0x80 : 0);
  let next = at + 2;
  if (payloadBytes < 126) {
    into[at + 1] = maskBit | payloadBytes;
  } else if (payloadBytes < 65_536) {
    into[at + 1] = maskBit | 126;
    next = into.writeUInt16BE(payloadBytes, next);
  } else {
    into[at + 1] = maskBit | 127;
    next = into.writeUInt32BE(Math.floor(payloadBytes / 2 ** 32), next);
    next = into.writeUInt32BE(payloadBytes % 2 ** 32, next);
  }
  if (mask === undefined) return next;
  into.set(mask, next);
  return next + 4;
}

/** Masks or unmasks in place; `phase` is the place of `bytes[0]` in its frame's payload. */
export function applyMask(bytes: Uint8Array, mask: Uint8Array, phase: number): void {
  const aligned = Math.min(bytes.length, -bytes.byteOffset & 3);
  for (let i = 0; i < aligned; i++) bytes[i]! ^= mask[(phase + i) & 3]!;
  if (bytes.length - aligned < 4) {
    for (let i = aligned; i < bytes.length; i++) bytes[i]! ^= mask[(phase + i) & 3]!;
    return;
  }
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, (bytes.length - aligned) >> 2);
  const from = phase + aligned;
  const rotated = Uint8Array.from({ length: 4 }, (_, i) => mask[(from + i) & 3]!);
  // In this machine's byte order, as the words are.
  const word = new Int32Array(rotated.buffer)[0]!;
  for (let i = 0; i < words.length; i++) words[i]! ^= word;
  for (let i = aligned + 4 * words.length; i < bytes.length; i++) bytes[i]! ^= mask[(phase + i) & 3]!;
}

export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

/** Reads what a close frame says. Throws a `Violation` for what none may say. */
export function readClose(payload: Uint8Array): CloseFrame {
  if (payload.length === 0) return { code: CLOSE.none, reason: '' };
  if (payload.length === 1) throw new Violation(CLOSE.protocol, 'a close frame of one byte');
  const code = payload[0]! * 256 + payload[1]!;
  const usable = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
  if (!usable) throw new Violation(CLOSE.protocol, `close code ${code}`);
  const text = payload.subarray(2);
  if (!isUtf8(text)) throw new Violation(CLOSE.invalidText, 'the reason of a close frame is not UTF-8');
  return { code, reason: Buffer.from(text).toString('utf8') };
}

/** The payload of a close frame; a longer reason is cut. */
export function closePayload({ code, reason }: CloseFrame): Uint8Array {
  if (code === CLOSE.none) return new Uint8Array(0);
  const text = new TextEncoder();
  const bytes = new Uint8Array(LONGEST_CONTROL_BYTES);
  bytes[0] = code >> 8;
  bytes[1] = code & 255;
  // Cuts between characters.
  const { written } = text.encodeInto(reason, bytes.subarray(2));
  return bytes.subarray(0, 2 + written);
}
