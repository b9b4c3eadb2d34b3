/**
 * A link that speaks RFC 6455 itself on a bare socket: reads payloads straight into their landings, writes messages
 * from where they are, answers pings, and sends close frames. The handshake is over when it begins.
 */
import { randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { PaddletError } from '../../base/errors.ts';
import type { FrameLimits } from '../frames/frame.ts';
import { FrameReceiver } from '../frames/frame-receiver.ts';
import type { LandingPool } from '../frames/landing-pool.ts';
import type { Link, LinkHandlers } from '../frames/link.ts';
import { JOIN_LIMITS } from '../join/frames.ts';
import {
  applyMask,
  CLOSE,
  type CloseFrame,
  closePayload,
  headerBytes,
  LONGEST_HEADER_BYTES,
  OPCODE,
  type Opcode,
  readClose,
  Violation,
  writeHeader,
} from './frames.ts';
import { COPIED_BYTES, Outbox } from './outbox.ts';
import { type ControlOpcode, WebSocketReader } from './reader.ts';
import type { OpenReads, Reads } from './socket-reads.ts';

/** Messages are cut, so that pongs and close frames need not wait for all of a large one on the other side's parser. */
const FRAGMENT_BYTES = 4 * 1024 * 1024;
/** Masked bytes are copies; this many at a time. */
const MASKED_BYTES = 64 * 1024;

export interface SocketLinkOptions {
  readonly side: 'client' | 'server';
  /** A client's frames carry masks of zeros, as the server has agreed. */
  readonly zeroMask: boolean;
  /** Limits after joining. */
  readonly limits: FrameLimits;
  readonly pool: LandingPool;
  /** Takes the socket over. */
  readonly open: OpenReads;
}

const ZERO_MASK = new Uint8Array(4);

export class SocketLink implements Link {
  readonly #options: SocketLinkOptions;
  #handlers: LinkHandlers;
  readonly #frames: FrameReceiver;
  readonly #reader: WebSocketReader;
  readonly #reads: Reads;
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  #isStarted = false;
  #hasJoined = false;
  #closeSent = false;
  #closeReceived: CloseFrame | undefined;
  #ended = false;
  #pongOnItsWay = false;
  #pongDue: Uint8Array | undefined;

  constructor(handlers: LinkHandlers, options: SocketLinkOptions) {
    this.#options = options;
    this.#handlers = handlers;
    this.#frames = new FrameReceiver({
      handlers,
      limits: JOIN_LIMITS,
      pool: options.pool,
      canRedirect: () => this.#reads.canRedirect,
      onMoved: () => this.#reads.moved(),
    });
    this.#reader = new WebSocketReader({
      side: options.side,
      maxMessageBytes: JOIN_LIMITS.frameBytes,
      sink: this.#frames,
      onControl: (opcode, payload) => this.#receiveControl(opcode, payload),
    });
    this.#reads = options.open({
      room: () => this.#reader.room(),
      filled: (byteLength) => this.#reader.filled(byteLength),
      feed: (bytes) => this.#feed(bytes),
      onEnd: () => this.#peerEnded(),
      onClosed: () => this.#over(),
    });
    this.#socket = this.#reads.socket;
    this.#outbox = new Outbox(this.#socket);
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#reads.start();
  }

  handOver(handlers: LinkHandlers): void {
    const { limits } = this.#options;
    this.#handlers = handlers;
    this.#hasJoined = true;
    this.#frames.handOver(handlers, limits);
    this.#reader.allow(limits.frameBytes);
  }

  get isOpen(): boolean {
    return !this.#closeSent && this.#closeReceived === undefined && !this.#ended;
  }

  get bytesRead(): number {
    return this.#reads.bytesRead;
  }

  send(buffers: readonly Uint8Array[], byteLength: number, flushed: () => void): void {
    if (this.#closeSent || this.#ended) {
      process.nextTick(flushed);
      return;
    }
    const { side, zeroMask } = this.#options;
    if (byteLength + LONGEST_HEADER_BYTES <= COPIED_BYTES) this.#sendSmall(OPCODE.binary, buffers, byteLength);
    else if (side === 'client' && !zeroMask) this.#sendMasked(buffers, byteLength);
    else this.#sendLarge(buffers, byteLength);
    this.#outbox.end(flushed);
  }

  ping(): void {
    if (this.isOpen) this.#sendControl(OPCODE.ping, new Uint8Array(0));
  }

  close(code: number, reason: string): void {
    if (this.#closeSent || this.#ended) return;
    this.#sendClose({ code, reason });
  }

  terminate(): void {
    this.#reader.stop();
    this.#socket.destroy();
    // Nothing is read after `destroy`, so nothing more lands.
    this.#frames.abort();
  }

  #sendSmall(opcode: Opcode, buffers: readonly Uint8Array[], byteLength: number): void {
    const mask = this.#mask();
    const start = headerBytes(byteLength, mask !== undefined);
    const room = this.#outbox.reserve(start + byteLength);
    writeHeader(room, 0, { opcode, fin: true, payloadBytes: byteLength, mask });
    let at = start;
    for (const buffer of buffers) {
      room.set(buffer, at);
      at += buffer.length;
    }
    if (mask !== undefined && mask !== ZERO_MASK) applyMask(room.subarray(start), mask, 0);
  }

  #sendLarge(buffers: readonly Uint8Array[], byteLength: number): void {
    const mask = this.#mask();
    let sent = 0;
    let left = 0;
    for (const buffer of buffers) {
      for (let at = 0; at < buffer.length; ) {
        if (left === 0) {
          left = Math.min(FRAGMENT_BYTES, byteLength - sent);
          this.#fragmentHeader(sent, left, byteLength, mask);
        }
        const piece = buffer.subarray(at, at + left);
        if (piece.length <= COPIED_BYTES / 4) this.#outbox.reserve(piece.length).set(piece);
        else this.#outbox.add(piece);
        at += piece.length;
        left -= piece.length;
        sent += piece.length;
      }
    }
  }

  #sendMasked(buffers: readonly Uint8Array[], byteLength: number): void {
    let sent = 0;
    let left = 0;
    let piece = new Uint8Array(0);
    let filled = 0;
    let mask: Uint8Array = ZERO_MASK;
    const endPiece = (): void => {
      applyMask(piece, mask, 0);
      this.#outbox.add(piece);
    };
    for (const buffer of buffers) {
      for (let at = 0; at < buffer.length; ) {
        if (left === 0) {
          left = Math.min(MASKED_BYTES, byteLength - sent);
          mask = this.#mask() ?? ZERO_MASK;
          this.#fragmentHeader(sent, left, byteLength, mask);
          piece = new Uint8Array(left);
          filled = 0;
        }
        const part = buffer.subarray(at, at + left);
        piece.set(part, filled);
        filled += part.length;
        at += part.length;
        left -= part.length;
        sent += part.length;
        if (left === 0) endPiece();
      }
    }
  }

  #fragmentHeader(sent: number, payloadBytes: number, byteLength: number, mask: Uint8Array | undefined): void {
    writeHeader(this.#outbox.reserve(headerBytes(payloadBytes, mask !== undefined)), 0, {
      opcode: sent === 0 ? OPCODE.binary : OPCODE.continuation,
      fin: sent + payloadBytes === byteLength,
      payloadBytes,
      mask,
    });
  }

  #mask(): Uint8Array | undefined {
    const { side, zeroMask } = this.#options;
    if (side === 'server') return undefined;
    // The RFC wants masks that cannot be guessed, from a strong source.
    return zeroMask ? ZERO_MASK : randomFillSync(new Uint8Array(4));
  }

  #sendControl(opcode: Opcode, payload: Uint8Array, flushed: () => void = () => {}): void {
    this.#sendSmall(opcode, [payload], payload.length);
    this.#outbox.end(flushed);
  }

  #sendClose(frame: CloseFrame): void {
    this.#sendControl(OPCODE.close, closePayload(frame));
    this.#closeSent = true;
    this.#outbox.flush();
    if (this.#closeReceived !== undefined) this.#socket.end();
  }

  #feed(bytes: Buffer): void {
    try {
      this.#reader.feed(bytes);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#refuse(error);
    }
  }

  #refuse(violation: Violation): void {
    this.#reader.stop();
    this.#frames.abort();
    // A stranger may send so little that it may not know the limit: the answer names it.
    if (!this.#hasJoined && violation.closeCode === CLOSE.tooLarge) {
      const most = `${JOIN_LIMITS.frameBytes} bytes before joining`;
      this.#handlers.onBadFrame(new PaddletError('FrameTooLarge', `${violation.message} of ${most}`));
      this.#socket.end();
      return;
    }
    if (!this.#closeSent) this.#sendClose({ code: violation.closeCode, reason: '' });
    // What still comes is read and dropped, or the reset that answers it would overtake the close frame.
    this.#socket.end();
    this.#handlers.onViolation(violation.message);
  }

  #receiveControl(opcode: ControlOpcode, payload: Uint8Array): void {
    if (opcode === OPCODE.ping) this.#pong(payload.slice());
    if (opcode !== OPCODE.close) return;
    const frame = readClose(payload);
    this.#closeReceived = frame;
    this.#reader.stop();
    this.#frames.abort();
    if (this.#closeSent) this.#socket.end();
    else this.#sendClose(frame);
  }

  /** One pong is on its way at most; it is enough to answer the latest ping. */
  #pong(payload: Uint8Array): void {
    if (!this.isOpen) return;
    if (this.#pongOnItsWay) {
      this.#pongDue = payload;
      return;
    }
    this.#pongOnItsWay = true;
    this.#sendControl(OPCODE.pong, payload, () => {
      this.#pongOnItsWay = false;
      const due = this.#pongDue;
      this.#pongDue = undefined;
      if (due !== undefined) this.#pong(due);
    });
  }

  #peerEnded(): void {
    this.#closeReceived ??= { code: CLOSE.lost, reason: '' };
    this.#socket.end();
  }

  #over(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reader.stop();
    this.#frames.abort();
    this.#outbox.flush();
    const { code, reason } = this.#closeReceived ?? { code: CLOSE.lost, reason: '' };
    this.#handlers.onClosed(code, reason);
  }
}
