/**
 * The sending half of a socket: gathers what is sent in one turn of the event loop and writes it at its end, or in
 * bursts, so that few system calls are made. Small buffers are copied together, large ones are written from where they
 * are.
 */

import type { Socket } from 'node:net';
import { LIMITS } from '../../base/limits.ts';

/** Up to here a copy is cheaper than one more entry in the vector of a write. */
export const COPIED_BYTES = 16 * 1024;
const BATCH_BYTES = 64 * 1024;
/**
 * What is written before the turn ends. Were it one write a turn, a client with many requests and its server would work
 * one after the other, each idle while the other has all of them.
 */
const BURST_BYTES = 128 * 1024;
const BURST_MESSAGES = 8;
const spareBatches: Buffer[] = [];

export class Outbox {
  readonly #socket: Socket;
  #batch: Buffer | undefined;
  /** The batch is filled from 0; what comes before `#cut` is among the pieces. */
  #used = 0;
  #cut = 0;
  #pieces: Uint8Array[] = [];
  #fullBatches: Buffer[] = [];
  #flushed: (() => void)[] = [];
  #scheduled = false;
  /** Gathered and not written. */
  #bytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Room for `byteLength` bytes, at most COPIED_BYTES of them, that have to be written at once. */
  reserve(byteLength: number): Buffer {
    if (this.#batch === undefined || this.#used + byteLength > this.#batch.length) this.#nextBatch();
    const at = this.#used;
    this.#used += byteLength;
    this.#bytes += byteLength;
    return this.#batch!.subarray(at, at + byteLength);
  }

  /** Sends `bytes` from where they are; they may not change until the message's `flushed`. */
  add(bytes: Uint8Array): void {
    this.#endPiece();
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
  }

  /** Ends a message. `flushed` is called when the operating system has taken it, or the connection is closed. */
  end(flushed: () => void): void {
    this.#flushed.push(flushed);
    if (this.#bytes >= BURST_BYTES || this.#flushed.length >= BURST_MESSAGES) {
      this.flush();
      return;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the callbacks of promises that are settled already: what they send goes along.
    process.nextTick(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Writes what was gathered. */
  flush(): void {
    this.#endPiece();
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    const flushed = this.#flushed;
    const batches = this.#fullBatches;
    if (this.#batch !== undefined) batches.push(this.#batch);
    this.#pieces = [];
    this.#flushed = [];
    this.#fullBatches = [];
    this.#batch = undefined;
    this.#used = 0;
    this.#cut = 0;
    this.#bytes = 0;
    const done = (): void => {
      for (const batch of batches) if (spareBatches.length < LIMITS.spareBatches) spareBatches.push(batch);
      for (const run of flushed) run();
    };
    if (this.#socket.destroyed) {
      done();
      return;
    }
    if (pieces.length > 1) this.#socket.cork();
    pieces.forEach((piece, i) => {
      this.#socket.write(piece, i === pieces.length - 1 ? done : undefined);
    });
    if (pieces.length > 1) this.#socket.uncork();
  }

  #nextBatch(): void {
    this.#endPiece();
    if (this.#batch !== undefined) this.#fullBatches.push(this.#batch);
    this.#batch = spareBatches.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES);
    this.#used = 0;
    this.#cut = 0;
  }

  /** What was copied so far becomes a separate piece. */
  #endPiece(): void {
    if (this.#batch === undefined || this.#used === this.#cut) return;
    this.#pieces.push(this.#batch.subarray(this.#cut, this.#used));
    this.#cut = this.#used;
  }
}
