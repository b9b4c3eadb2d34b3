/**
 * Sends frames over one connection and counts what has not reached the operating system yet. Small frames go out as one
 * copied buffer; large ones as WebSocket fragments straight from the caller's memory, cut so that the other side collects
 * them in pieces that stay in its cache (SPEED: one large message is received at a third of the speed).
 */
import type { Frame, FrameLimits } from './frame.ts';
import { encodeFrame } from './frame.ts';
import type { Link } from './receiver.ts';

/** Up to here one copy is cheaper than several writes. */
const COALESCED_BYTES = 64 * 1024;
const FRAGMENT_BYTES = 256 * 1024;

export interface EncodedFrame {
  readonly buffers: readonly Uint8Array[];
  readonly byteLength: number;
}

export class FrameSender {
  readonly #link: Link;
  #queuedBytes = 0;
  #queuedFrames = 0;

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
   * Queues a frame. `flushed` is called once, when the operating system has taken all of it or the connection is gone:
   * from then on the segments are the caller's again.
   */
  send({ buffers, byteLength }: EncodedFrame, flushed: () => void): void {
    this.#queuedBytes += byteLength;
    this.#queuedFrames++;
    const done = (): void => {
      this.#queuedBytes -= byteLength;
      this.#queuedFrames--;
      flushed();
    };
    const { ws, socket } = this.#link;
    const fragments = cut(buffers, byteLength);
    // One system call for many fragments, where the socket takes them.
    if (fragments.length > 1) socket.cork();
    fragments.forEach((fragment, i) => {
      const fin = i === fragments.length - 1;
      ws.send(fragment, { binary: true, fin }, fin ? done : undefined);
    });
    if (fragments.length > 1) socket.uncork();
  }
}

/** Encodes early, so that a frame over a limit is refused at the call that made it. */
export const prepare = (frame: Frame, limits: FrameLimits): EncodedFrame => encodeFrame(frame, limits);

/** Packs small neighbours together and cuts large buffers. */
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
