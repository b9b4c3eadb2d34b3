/**
 * A link on top of `ws`, which masks, answers pings and collects the fragments of a message, never more than
 * `maxPayload` of them. Each payload is then copied once, into its landing; into `any` memory not even that where `ws`
 * already has it in one aligned piece. Slower than `socket-link.ts`, and the yardstick for it.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import {
  bad,
  checkPadding,
  decodeHead,
  decodePreamble,
  type FrameHead,
  type FrameLimits,
  PREAMBLE_BYTES,
} from '../frames/frame.ts';
import { freedOnce } from '../frames/landing.ts';
import type { LandingPool } from '../frames/landing-pool.ts';
import { type Link, type LinkHandlers, type Place, receivedFrame } from '../frames/link.ts';
import { JOIN_LIMITS } from '../join/frames.ts';
import type { Landing } from '../messages/channel.ts';

/** Up to here one copy is cheaper than several writes. */
const COALESCED_BYTES = 64 * 1024;
/**
 * `ws` collects a fragment in one piece, which should stay in the cache: one large message comes at a third of the
 * speed.
 */
const FRAGMENT_BYTES = 256 * 1024;

export class WsLink implements Link {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  #handlers: LinkHandlers;
  readonly #fullLimits: FrameLimits;
  #limits = JOIN_LIMITS;
  #isStarted = false;
  readonly #pool: LandingPool;
  #refused = false;
  #guard: (() => void) | undefined;

  /** `socket` is the one under `ws`: only for corking and counting. */
  constructor(ws: WebSocket, socket: Socket, handlers: LinkHandlers, limits: FrameLimits, pool: LandingPool) {
    this.#ws = ws;
    this.#socket = socket;
    this.#handlers = handlers;
    this.#fullLimits = limits;
    this.#pool = pool;
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    // `ws` would collect a whole message of a stranger, up to the limit of frames.
    const before = this.#socket.bytesRead;
    this.#guard = () => {
      if (this.#socket.bytesRead - before > JOIN_LIMITS.frameBytes) this.#ws.terminate();
    };
    this.#socket.on('data', this.#guard);
    this.#ws.binaryType = 'fragments';
    this.#ws.on('message', (data, isBinary) => this.#receive(data as Buffer[], isBinary));
    this.#ws.on('error', (error) => this.#handlers.onViolation(error.message));
    this.#ws.on('close', (code, reason) => this.#handlers.onClosed(code, reason.toString('utf8')));
  }

  handOver(handlers: LinkHandlers): void {
    this.#handlers = handlers;
    this.#limits = this.#fullLimits;
    if (this.#guard !== undefined) this.#socket.off('data', this.#guard);
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  send(buffers: readonly Uint8Array[], byteLength: number, flushed: () => void): void {
    const fragments = cut(buffers, byteLength);
    // One system call for many fragments, where the socket takes them.
    if (fragments.length > 1) this.#socket.cork();
    fragments.forEach((fragment, i) => {
      const fin = i === fragments.length - 1;
      this.#ws.send(fragment, { binary: true, fin }, fin ? () => flushed() : undefined);
    });
    if (fragments.length > 1) this.#socket.uncork();
  }

  ping(): void {
    if (this.isOpen) this.#ws.ping();
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason);
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #receive(fragments: readonly Uint8Array[], isBinary: boolean): void {
    // Messages that `ws` already holds may still come after a bad one.
    if (this.#refused) return;
    try {
      if (!isBinary) throw bad('message', 'is text, frames are binary');
      this.#frame(fragments);
    } catch (error) {
      if (!(error instanceof PaddletError)) throw error;
      this.#refused = true;
      this.#handlers.onBadFrame(error);
    }
  }

  #frame(fragments: readonly Uint8Array[]): void {
    const byteLength = fragments.reduce((sum, fragment) => sum + fragment.length, 0);
    const preamble = decodePreamble(slice(fragments, 0, Math.min(PREAMBLE_BYTES, byteLength)), this.#limits);
    if (byteLength !== preamble.frameBytes) {
      throw bad('frame length', `says ${preamble.frameBytes}, came ${byteLength}`, preamble.requestId);
    }
    const head = decodeHead(preamble, slice(fragments, 0, preamble.payloadAt));
    if (head.payloadBytes === 0) {
      this.#handlers.onFrame(receivedFrame(head, undefined));
      return;
    }
    const place = this.#handlers.place(head);
    if (place === 'skip') return;
    const landing = this.#land(fragments, head, place);
    try {
      checkPadding(head, landing.bytes());
    } catch (error) {
      landing.free();
      throw error;
    }
    this.#handlers.onFrame(receivedFrame(head, landing));
  }

  #land(fragments: readonly Uint8Array[], head: FrameHead, place: Exclude<Place, 'skip'>): Landing {
    const { payloadAt, frameBytes } = head.preamble;
    if (place === 'any') {
      const view = view8(fragments, payloadAt, frameBytes);
      if (view !== undefined) return freedOnce({ byteLength: view.length, bytes: () => view, free: () => {} });
    }
    const landing = freedOnce(place === 'any' ? this.#pool.allocate(head.payloadBytes) : place);
    const memory = landing.bytes();
    assert(memory.length >= head.payloadBytes, 'a landing holds the payload');
    assert(memory.byteOffset % 8 === 0, 'a landing begins at a multiple of 8');
    copy(fragments, payloadAt, frameBytes, memory);
    landing.arrived?.(head.payloadBytes);
    return landing;
  }
}

/** Calls `visit` with each piece of fragments within [from, to). */
function pieces(fragments: readonly Uint8Array[], from: number, to: number, visit: (piece: Uint8Array) => void): void {
  let start = 0;
  for (const fragment of fragments) {
    const end = start + fragment.length;
    if (end > from && start < to) visit(fragment.subarray(Math.max(from - start, 0), Math.min(to, end) - start));
    if (end >= to) return;
    start = end;
  }
}

/** [from, to) as one array: a view where it is within one fragment. */
function slice(fragments: readonly Uint8Array[], from: number, to: number): Uint8Array {
  const found: Uint8Array[] = [];
  pieces(fragments, from, to, (piece) => found.push(piece));
  return found.length === 1 ? found[0]! : Buffer.concat(found);
}

/** [from, to) as a view that starts at a multiple of 8, if there is one. */
function view8(fragments: readonly Uint8Array[], from: number, to: number): Uint8Array | undefined {
  const found: Uint8Array[] = [];
  pieces(fragments, from, to, (piece) => found.push(piece));
  const [only] = found;
  return found.length === 1 && only !== undefined && only.byteOffset % 8 === 0 ? only : undefined;
}

function copy(fragments: readonly Uint8Array[], from: number, to: number, into: Uint8Array): void {
  let at = 0;
  pieces(fragments, from, to, (piece) => {
    into.set(piece, at);
    at += piece.length;
  });
}

/** Packs small neighbors together and cuts large buffers. */
function cut(buffers: readonly Uint8Array[], byteLength: number): Uint8Array[] {
  if (byteLength <= COALESCED_BYTES) return [buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers, byteLength)];
  const fragments: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  const pack = (): void => {
    if (smallBytes > 0) fragments.push(small.length === 1 ? small[0]! : Buffer.concat(small, smallBytes));
    small = [];
    smallBytes = 0;
  };
  for (const buffer of buffers) {
    if (buffer.length < COALESCED_BYTES / 4) {
      small.push(buffer);
      smallBytes += buffer.length;
      if (smallBytes >= COALESCED_BYTES) pack();
      continue;
    }
    pack();
    for (let at = 0; at < buffer.length; at += FRAGMENT_BYTES) fragments.push(buffer.subarray(at, at + FRAGMENT_BYTES));
  }
  pack();
  return fragments;
}
