/**
 * The receive loop of one connection, as the rest of the protocol sees it: bytes in, whole frames in landed memory out.
 * `ws-receiver.ts` is the one built on `ws`; another one (reading the socket straight into the landing) takes its place
 * by giving another `AttachReceiver` to the network, and has to pass the same tests.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { PaddletError } from '../base/errors.ts';
import type { Landing } from './channel.ts';
import type { FrameHead, FrameKind, FrameLimits } from './frame.ts';

/** A whole frame. Its owner calls `free()` when done; calling it again does nothing. */
export interface ReceivedFrame {
  readonly kind: FrameKind;
  readonly requestId: number;
  readonly header: unknown;
  /** Of the whole frame. */
  readonly byteLength: number;
  readonly segmentCount: number;
  segment(index: number): Uint8Array;
  free(): void;
}

/**
 * Where a payload goes: a landing of at least `payloadBytes`, whose first byte is at a multiple of 8; `any` memory the
 * receiver likes; or `skip`, and the frame is not delivered.
 */
export type Place = Landing | 'any' | 'skip';

export interface FrameHandlers {
  /**
   * Called with all that stands before the payload, before memory is found for it; not for frames without payload.
   * The receiver frees the landing if the frame turns out bad, and hands it on with the frame if not.
   */
  place(head: FrameHead): Place;
  onFrame(frame: ReceivedFrame): void;
  /** The peer broke the rules: nothing more comes from this receiver. */
  onBadFrame(error: PaddletError): void;
}

export interface Link {
  readonly ws: WebSocket;
  /** The socket under it; only for corking and counting. */
  readonly socket: Socket;
}

/** Starts receiving. Frames are handed over in the order they were sent, one at a time. */
export type AttachReceiver = (link: Link, handlers: FrameHandlers, limits: FrameLimits) => void;
