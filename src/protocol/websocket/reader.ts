/**
 * The receiving half of RFC 6455, without any I/O: bytes in, in pieces of any size; the bytes of messages and control
 * frames out. Where the next bytes belong is known before they come, so they may also be read straight to their place:
 * ask `room()`, fill it, say so with `filled()`. Everything that breaks the RFC throws a `Violation`.
 */
import type { MessageSink } from '../frames/message-sink.ts';
import { applyMask, CLOSE, LONGEST_CONTROL_BYTES, LONGEST_HEADER_BYTES, OPCODE, Violation } from './frames.ts';

export type ControlOpcode = typeof OPCODE.close | typeof OPCODE.ping | typeof OPCODE.pong;

export interface ReaderOptions {
  /** Frames of clients are masked, those of servers are not. */
  readonly side: 'client' | 'server';
  /** Maximum size of all fragments of a message together. */
  readonly maxMessageBytes: number;
  readonly sink: MessageSink;
  /** The payload is valid until the call returns. */
  readonly onControl: (opcode: ControlOpcode, payload: Uint8Array) => void;
}

export class WebSocketReader {
  readonly #options: ReaderOptions;
  #maxMessageBytes: number;
  /** The start of a header that was cut. */
  readonly #cutHeader = Buffer.alloc(LONGEST_HEADER_BYTES);
  #cutBytes = 0;
  // The frame being read.
  #opcode = 0;
  #fin = false;
  #left = 0;
  readonly #mask = new Uint8Array(4);
  #isMasked = false;
  #phase = 0;
  readonly #control = new Uint8Array(LONGEST_CONTROL_BYTES);
  #controlBytes = 0;
  // The message being read.
  #inMessage = false;
  #messageBytes = 0;
  #stopped = false;
  #room: Uint8Array | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#maxMessageBytes = options.maxMessageBytes;
  }

  /** Sets the limit for the messages after this one. */
  allow(maxMessageBytes: number): void {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Takes bytes, which it may change: they are unmasked in place. */
  feed(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#stopped) {
      if (this.#left === 0) {
        at = this.#header(bytes, at);
        continue;
      }
      const piece = bytes.subarray(at, at + this.#left);
      at += piece.length;
      this.#unmask(piece);
      if (this.#isControl) this.#writeControl(piece);
      else this.#options.sink.write(piece);
      this.#consumed(piece.length);
    }
  }

  /** Memory that the next bytes may be read into, or undefined when they have to come by `feed`. */
  room(): Uint8Array | undefined {
    if (this.#left === 0 || this.#isControl || this.#stopped) return undefined;
    this.#room = this.#options.sink.room()?.subarray(0, this.#left);
    return this.#room;
  }

  filled(byteLength: number): void {
    this.#unmask(this.#room!.subarray(0, byteLength));
    this.#options.sink.filled(byteLength);
    this.#consumed(byteLength);
  }

  /** Bytes that come after this are ignored. */
  stop(): void {
    this.#stopped = true;
  }

  get #isControl(): boolean {
    return this.#opcode >= OPCODE.close;
  }

  #unmask(piece: Uint8Array): void {
    if (this.#isMasked) applyMask(piece, this.#mask, this.#phase);
    this.#phase = (this.#phase + piece.length) & 3;
  }

  #writeControl(piece: Uint8Array): void {
    this.#control.set(piece, this.#controlBytes);
    this.#controlBytes += piece.length;
  }

  #consumed(byteLength: number): void {
    this.#left -= byteLength;
    if (this.#left === 0 && !this.#stopped) this.#endFrame();
  }

  #endFrame(): void {
    if (this.#isControl) {
      this.#options.onControl(this.#opcode as ControlOpcode, this.#control.subarray(0, this.#controlBytes));
    } else if (this.#fin) {
      this.#inMessage = false;
      this.#options.sink.end();
    }
  }

  /** Reads a header at `at`, or as much of it as is there. Returns where it ends. */
  #header(bytes: Buffer, at: number): number {
    if (this.#cutBytes === 0) {
      const length = headerLength(bytes, at, bytes.length);
      if (length <= bytes.length - at) {
        this.#check(bytes, at);
        this.#begin(bytes, at, length);
        return at + length;
      }
    }
    let next = at;
    let length: number;
    do {
      this.#cutHeader[this.#cutBytes++] = bytes[next++]!;
      length = headerLength(this.#cutHeader, 0, this.#cutBytes);
      // As soon as it can be judged: a peer need not send the rest.
      if (this.#cutBytes >= 2 && this.#cutBytes === length - maskLength(this.#cutHeader, 0))
        this.#check(this.#cutHeader, 0);
    } while (next < bytes.length && this.#cutBytes < length);
    if (this.#cutBytes === length) {
      this.#cutBytes = 0;
      this.#begin(this.#cutHeader, 0, length);
    }
    return next;
  }

  /** Throws for a header that is not allowed here; looks at all of it but the mask, changes nothing. */
  #check(header: Buffer, at: number): void {
    const first = header[at]!;
    const opcode = first & 0x0f;
    const isMasked = maskLength(header, at) > 0;
    const isFinal = first >= 0x80;
    const violated = (message: string): never => {
      throw new Violation(CLOSE.protocol, message);
    };
    if ((first & 0x70) !== 0) violated('reserved bits are set');
    if (isMasked !== (this.#options.side === 'server'))
      violated(isMasked ? 'a server does not mask' : 'a client masks');
    const payloadBytes = payloadLength(header, at);
    if (opcode >= OPCODE.close) {
      if (opcode > OPCODE.pong) violated(`opcode ${opcode}`);
      if (!isFinal) violated('a control frame in fragments');
      if (payloadBytes > LONGEST_CONTROL_BYTES) violated('a control frame over 125 bytes');
      return;
    }
    if (opcode > OPCODE.binary) violated(`opcode ${opcode}`);
    const isContinuation = opcode === OPCODE.continuation;
    if (isContinuation !== this.#inMessage) {
      violated(isContinuation ? 'nothing to continue' : 'a message inside a message');
    }
    const before = isContinuation ? this.#messageBytes : 0;
    if (before + payloadBytes > this.#maxMessageBytes) {
      throw new Violation(CLOSE.tooLarge, 'a message over the limit');
    }
  }

  /** Begins the frame of a checked header. */
  #begin(header: Buffer, at: number, length: number): void {
    this.#opcode = header[at]! & 0x0f;
    this.#fin = header[at]! >= 0x80;
    this.#left = payloadLength(header, at);
    this.#phase = 0;
    if (this.#options.side === 'server') {
      header.copy(this.#mask, 0, at + length - 4, at + length);
      this.#isMasked = (this.#mask[0]! | this.#mask[1]! | this.#mask[2]! | this.#mask[3]!) !== 0;
    }
    if (this.#isControl) {
      this.#controlBytes = 0;
    } else {
      const isContinuation = this.#opcode === OPCODE.continuation;
      this.#messageBytes = (isContinuation ? this.#messageBytes : 0) + this.#left;
      this.#inMessage = true;
      if (!isContinuation) this.#options.sink.begin(this.#opcode === OPCODE.binary);
    }
    if (this.#left === 0 && !this.#stopped) this.#endFrame();
  }
}

/** Bytes of the header at `at`, as far as the bytes before `end` show it. */
function headerLength(bytes: Buffer, at: number, end: number): number {
  if (end - at < 2) return 2;
  const short = bytes[at + 1]! & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + maskLength(bytes, at);
}

const maskLength = (header: Buffer, at: number): number => (header[at + 1]! >= 0x80 ? 4 : 0);

/** Rounded above 2^53, and far over any limit there. */
function payloadLength(header: Buffer, at: number): number {
  const short = header[at + 1]! & 0x7f;
  if (short < 126) return short;
  if (short === 126) return header.readUInt16BE(at + 2);
  return header.readUInt32BE(at + 2) * 2 ** 32 + header.readUInt32BE(at + 6);
}
