/** Sends frames over one link and counts what has not reached the operating system yet. */
import type { Frame, FrameLimits } from './frame.ts';
import { encodeFrame } from './frame.ts';
import type { Link } from './link.ts';

export interface EncodedFrame {
  readonly buffers: readonly Uint8Array[];
  readonly byteLength: number;
}

export class FrameSender {
  readonly #link: Link;
  #queuedBytes = 0;
  #queuedFrames = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Bytes of frames that the operating system has not taken yet. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get queuedFrames(): number {
    return this.#queuedFrames;
  }

  /**
   * Queues a frame. `flushed` is called once, when the operating system has taken all of it or the connection is
   * closed: from then on the caller may use the segments again.
   */
  send({ buffers, byteLength }: EncodedFrame, flushed: () => void): void {
    this.#queuedBytes += byteLength;
    this.#queuedFrames++;
    this.#link.send(buffers, byteLength, () => {
      this.#queuedBytes -= byteLength;
      this.#queuedFrames--;
      flushed();
      if (this.#queuedFrames === 0) this.#endDrain();
    });
  }

  /**
   * Resolves when the operating system has taken all frames or the connection is closed; undefined when it has already.
   */
  draining(): Promise<void> | undefined {
    if (this.#queuedFrames === 0) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }

  #endDrain(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}

/** Encodes early, so that a frame over a limit is refused at the call that made it. */
export const prepare = (frame: Frame, limits: FrameLimits): EncodedFrame => encodeFrame(frame, limits);
