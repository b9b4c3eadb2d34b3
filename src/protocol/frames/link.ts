/**
 * One WebSocket connection after its handshake, as the rest of the protocol sees it: frames out, whole frames in landed
 * memory in. `socket-link.ts` speaks RFC 6455 itself and reads payloads from the socket straight to where they are
 * used; `ws-link.ts` leaves all of it to `ws`. Both pass the same tests; `WireOptions.receive` chooses.
 */
import { assert } from '../../base/assert.ts';
import type { PaddletError } from '../../base/errors.ts';
import type { Landing } from '../messages/channel.ts';
import type { FrameHead } from './frame.ts';
import type { FrameKind } from './frame-kind.ts';

/** A whole frame. Its owner calls `free()` when done; calling it again does nothing. */
export interface ReceivedFrame {
  readonly kind: FrameKind;
  readonly requestId: number;
  readonly header: unknown;
  /** The header is a valid one of a hot message. */
  readonly isChecked: boolean;
  /** Bytes of the whole frame. */
  readonly byteLength: number;
  readonly segmentCount: number;
  /** Bytes of all segments together. */
  readonly payloadBytes: number;
  segment(index: number): Uint8Array;
  free(): void;
}

/**
 * Where a payload goes: a landing of at least `payloadBytes`, whose first byte is at a multiple of 8; `any` memory the
 * link likes; or `skip`, and the frame is not delivered.
 */
export type Place = Landing | 'any' | 'skip';

export interface FrameHandlers {
  /**
   * Called with everything before the payload, before memory is found for it; not for frames without payload.
   * The link frees the landing if the frame turns out bad or never ends, and hands it on with the frame if not.
   */
  place(head: FrameHead): Place;
  /** Frames come in the order they were sent, one at a time. */
  onFrame(frame: ReceivedFrame): void;
  /** The peer broke the rules of frames: nothing more comes from this link. */
  onBadFrame(error: PaddletError): void;
}

export interface LinkHandlers extends FrameHandlers {
  /**
   * The peer broke RFC 6455 and was sent a close frame; nothing more comes, and the connection has to be cut in time.
   */
  onViolation(reason: string): void;
  /**
   * Called once, when the connection is over. `code` as in RFC 6455, 1006 when the connection was lost without a close
   * frame.
   */
  onClosed(code: number, reason: string): void;
}

export interface Link {
  /** Begins to receive, if it has not. Until then no handler is called. */
  start(): void;
  /** From now on frames go to these handlers, and may be as large as the connection's limits allow. */
  handOver(handlers: LinkHandlers): void;
  /** False once either side has sent a close frame. */
  readonly isOpen: boolean;
  readonly bytesRead: number;
  /**
   * Sends one binary message, never copying large buffers. `flushed` is called once, when the operating system has
   * taken all of it or the connection is closed: until then the buffers may not change.
   */
  send(buffers: readonly Uint8Array[], byteLength: number, flushed: () => void): void;
  ping(): void;
  /** Sends a close frame and waits for the peer's, without a time limit: that is for the caller to set. */
  close(code: number, reason: string): void;
  /** Cuts the connection: nothing is sent or received after it. */
  terminate(): void;
}

/** Begins to use a connection whose handshake is done; until it is handed over, under the limits of joining. */
export type OpenLink = (handlers: LinkHandlers) => Link;

/** A frame as its owner gets it; `landing` holds the payload, undefined when there is none. */
export const receivedFrame = (head: FrameHead, landing: Landing | undefined): ReceivedFrame =>
  new LandedFrame(head, landing);

class LandedFrame implements ReceivedFrame {
  readonly kind: FrameKind;
  readonly requestId: number;
  readonly header: unknown;
  readonly isChecked: boolean;
  readonly byteLength: number;
  readonly segmentCount: number;
  readonly #head: FrameHead;
  readonly #landing: Landing | undefined;

  constructor(head: FrameHead, landing: Landing | undefined) {
    const { kind, requestId, segmentCount, frameBytes } = head.preamble;
    this.kind = kind;
    this.requestId = requestId;
    this.header = head.header;
    this.isChecked = head.isChecked;
    this.byteLength = frameBytes;
    this.segmentCount = segmentCount;
    this.#head = head;
    this.#landing = landing;
  }

  segment(index: number): Uint8Array {
    const at = this.#head.segmentOffsets[index];
    const length = this.#head.segmentLengths[index];
    assert(at !== undefined && length !== undefined, 'the segment exists');
    if (this.#landing === undefined) return new Uint8Array(0);
    const memory = this.#landing.bytes();
    // Much less than `subarray` of a Buffer takes.
    return new Uint8Array(memory.buffer, memory.byteOffset + at, length);
  }

  get payloadBytes(): number {
    let sum = 0;
    for (const length of this.#head.segmentLengths) sum += length;
    return sum;
  }

  free(): void {
    this.#landing?.free();
  }
}
