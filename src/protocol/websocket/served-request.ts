/** A request as its handler sees it, and what is lent to the handler until the answer is sent. */

import { isPaddletError } from '../../base/errors.ts';
import type { LandingPool } from '../frames/landing-pool.ts';
import type { ReceivedFrame } from '../frames/link.ts';
import type { RequestHeader } from '../messages/all-messages.ts';
import type { Landing, Received } from '../messages/channel.ts';
import { requestOf } from '../messages/parse.ts';

export class ServedRequest implements Received<RequestHeader> {
  /** Set by the session: lets later requests of the same type start. */
  onPass: (() => void) | undefined;
  /** When its handler was called; undefined until then. */
  begunMs: number | undefined;
  readonly #frame: ReceivedFrame;
  readonly #pool: LandingPool;
  #header: RequestHeader | undefined;
  /** Memory for the answer. */
  #lent: Landing[] | undefined;

  constructor(frame: ReceivedFrame, pool: LandingPool) {
    this.#frame = frame;
    this.#pool = pool;
  }

  /** Throws `BadMessage`, the first time that it is asked. */
  get header(): RequestHeader {
    this.#header ??= requestOf(this.#frame);
    return this.#header;
  }

  /** Undefined: it is not valid. */
  get type(): RequestHeader['type'] | undefined {
    try {
      return this.header.type;
    } catch (error) {
      if (isPaddletError(error)) return undefined;
      throw error;
    }
  }

  get requestId(): number {
    return this.#frame.requestId;
  }

  /** Bytes of the whole frame. */
  get byteLength(): number {
    return this.#frame.byteLength;
  }

  get segmentCount(): number {
    return this.#frame.segmentCount;
  }

  get payloadBytes(): number {
    return this.#frame.payloadBytes;
  }

  segment(index: number): Uint8Array {
    return this.#frame.segment(index);
  }

  answerMemory(byteLength: number): Uint8Array {
    const landing = this.#pool.allocate(byteLength);
    this.#lent ??= [];
    this.#lent.push(landing);
    return landing.bytes();
  }

  letPass(): void {
    this.onPass?.();
  }

  free(): void {
    this.#frame.free();
  }

  /** The answer is sent, or never will be: the request and the lent memory are free again. */
  end(): void {
    this.#frame.free();
    if (this.#lent === undefined) return;
    for (const landing of this.#lent) landing.free();
    this.#lent = undefined;
  }
}
