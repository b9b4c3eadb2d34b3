/**
 * Puts the bytes of messages together to paddlet frames: the head is gathered, then the payload goes to its landing as
 * it comes. After a bad frame everything is ignored.
 */
import { assert } from '../../base/assert.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Landing } from '../messages/channel.ts';
import {
  bad,
  checkPadding,
  decodeHead,
  decodePreamble,
  type FrameHead,
  type FrameLimits,
  PREAMBLE_BYTES,
  type Preamble,
} from './frame.ts';
import { freedOnce } from './landing.ts';
import type { LandingPool } from './landing-pool.ts';
import { type FrameHandlers, receivedFrame } from './link.ts';
import type { MessageSink } from './message-sink.ts';

/** Below this, what is left of a payload is read together with what follows it. */
const DIRECT_BYTES = 64 * 1024;
/** One read takes at most so much, so that a stream of large payloads leaves room for others. */
const DIRECT_READ_BYTES = 1024 * 1024;

export interface FrameReceiverOptions {
  readonly handlers: FrameHandlers;
  readonly limits: FrameLimits;
  readonly pool: LandingPool;
  /** True if `onMoved` can be obeyed; else payloads for memory that moves are copied into it. */
  readonly canRedirect: () => boolean;
  /** Nothing may be read from now on to the place that `room` named last. */
  readonly onMoved: () => void;
}

export class FrameReceiver implements MessageSink {
  readonly #options: FrameReceiverOptions;
  #handlers: FrameHandlers;
  #limits: FrameLimits;
  #state: 'head' | 'payload' | 'skip' | 'refused' = 'head';
  /** The start of a head that came in pieces. */
  #gathered: Buffer = Buffer.alloc(PREAMBLE_BYTES);
  #gatheredBytes = 0;
  #preamble: Preamble | undefined;
  #head: FrameHead | undefined;
  #landing: Landing | undefined;
  /** The operating system can write to the landing. */
  #isDirect = false;
  /** Bytes of the payload that have landed. */
  #landed = 0;

  constructor(options: FrameReceiverOptions) {
    this.#options = options;
    this.#handlers = options.handlers;
    this.#limits = options.limits;
  }

  /** Sets the handlers and limits for the frames after this one. */
  handOver(handlers: FrameHandlers, limits: FrameLimits): void {
    this.#handlers = handlers;
    this.#limits = limits;
  }

  begin(isBinary: boolean): void {
    if (this.#state === 'refused') return;
    this.#state = 'head';
    this.#gatheredBytes = 0;
    this.#preamble = undefined;
    this.#head = undefined;
    this.#landed = 0;
    if (!isBinary) this.#refuse(bad('message', 'is text, frames are binary'));
  }

  write(bytes: Uint8Array): void {
    if (this.#state === 'refused') return;
    try {
      const rest = this.#state === 'head' ? this.#readHead(bytes) : bytes;
      if (this.#state === 'payload' && rest.length > 0) this.#land(rest);
    } catch (error) {
      this.#failed(error);
    }
  }

  room(): Uint8Array | undefined {
    if (this.#state !== 'payload' || this.#landing === undefined || !this.#isDirect) return undefined;
    const left = this.#head!.payloadBytes - this.#landed;
    if (left < DIRECT_BYTES) return undefined;
    return this.#landing.bytes().subarray(this.#landed, this.#landed + Math.min(left, DIRECT_READ_BYTES));
  }

  filled(byteLength: number): void {
    this.#landed += byteLength;
    this.#landing!.arrived?.(this.#landed);
  }

  end(): void {
    if (this.#state === 'refused') return;
    try {
      this.#finish();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The connection has ended: what has landed of a frame is freed. */
  abort(): void {
    this.#state = 'refused';
    this.#landing?.free();
    this.#landing = undefined;
  }

  #finish(): void {
    if (this.#state === 'head') throw this.#tooShort(this.#gatheredBytes);
    if (this.#state !== 'payload') return;
    const head = this.#head!;
    if (this.#landed < head.payloadBytes) throw this.#tooShort(head.preamble.payloadAt + this.#landed);
    if (this.#landing !== undefined) checkPadding(head, this.#landing.bytes());
    const frame = receivedFrame(head, this.#landing);
    this.#landing = undefined;
    this.#handlers.onFrame(frame);
  }

  #failed(error: unknown): void {
    if (!isPaddletError(error)) throw error;
    this.#refuse(error);
  }

  #refuse(error: PaddletError): void {
    this.abort();
    this.#handlers.onBadFrame(error);
  }

  #tooShort(byteLength: number): PaddletError {
    const preamble = this.#preamble;
    if (preamble === undefined) return bad('frame length', `expected at least a preamble, got ${byteLength} bytes`);
    return bad('frame length', `says ${preamble.frameBytes}, came ${byteLength}`, preamble.requestId);
  }

  /** Reads as much of the head as there is; returns what follows it. */
  #readHead(bytes: Uint8Array): Uint8Array {
    let wanted = this.#preamble?.payloadAt ?? PREAMBLE_BYTES;
    if (this.#gatheredBytes === 0 && bytes.length >= wanted) {
      this.#preamble = decodePreamble(bytes, this.#limits);
      wanted = this.#preamble.payloadAt;
      if (bytes.length >= wanted) return this.#headRead(bytes, bytes.subarray(wanted));
    }
    const piece = bytes.subarray(0, wanted - this.#gatheredBytes);
    this.#gather(piece, wanted);
    const rest = bytes.subarray(piece.length);
    if (this.#gatheredBytes < wanted) return rest;
    if (this.#preamble !== undefined) return this.#headRead(this.#gathered, rest);
    this.#preamble = decodePreamble(this.#gathered, this.#limits);
    return this.#preamble.payloadAt === wanted ? this.#headRead(this.#gathered, rest) : this.#readHead(rest);
  }

  /** `wanted` was compared with the limits before memory is found for it. */
  #gather(piece: Uint8Array, wanted: number): void {
    if (this.#gathered.length < wanted) {
      const longer = Buffer.alloc(wanted);
      longer.set(this.#gathered.subarray(0, this.#gatheredBytes));
      this.#gathered = longer;
    }
    this.#gathered.set(piece, this.#gatheredBytes);
    this.#gatheredBytes += piece.length;
  }

  #headRead(bytes: Uint8Array, rest: Uint8Array): Uint8Array {
    const head = decodeHead(this.#preamble!, bytes.subarray(0, this.#preamble!.payloadAt));
    this.#head = head;
    // A long one is not kept for the frames after it.
    if (this.#gathered.length > 64 * 1024) this.#gathered = Buffer.alloc(PREAMBLE_BYTES);
    this.#state = 'payload';
    if (head.payloadBytes === 0) return rest;
    const place = this.#handlers.place(head);
    if (place === 'skip') {
      this.#state = 'skip';
      return rest;
    }
    const landing = freedOnce(place === 'any' ? this.#options.pool.allocate(head.payloadBytes) : place);
    this.#landing = landing;
    this.#isDirect = landing.fixed === true;
    if (!this.#isDirect && landing.onMoved !== undefined && this.#options.canRedirect()) {
      landing.onMoved(this.#options.onMoved);
      this.#isDirect = true;
    }
    assert(landing.byteLength >= head.payloadBytes, 'a landing holds the payload');
    assert(landing.bytes().byteOffset % 8 === 0, 'a landing begins at a multiple of 8');
    return rest;
  }

  #land(bytes: Uint8Array): void {
    const { preamble, payloadBytes } = this.#head!;
    if (bytes.length > payloadBytes - this.#landed) {
      const came = preamble.payloadAt + this.#landed + bytes.length;
      throw bad('frame length', `expected ${preamble.frameBytes} bytes, got more than ${came}`, preamble.requestId);
    }
    this.#landing!.bytes().set(bytes, this.#landed);
    this.#landed += bytes.length;
    this.#landing!.arrived?.(this.#landed);
  }
}
