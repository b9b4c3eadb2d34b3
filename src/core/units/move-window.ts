/**
 * The frames of one move that the target has not taken yet, in order. At most `windowBytes` of them are in flight; the
 * others wait. A frame larger than the window is sent alone.
 */
import type { MoveContent, MoveFrame, MoveName } from './move-messages.ts';

interface WaitingFrame<P> {
  readonly content: MoveContent<P>;
  readonly byteLength: number;
}

export interface MoveWindowState<P> {
  /** The number of the first frame that is kept. */
  readonly first: number;
  readonly frames: readonly WaitingFrame<P>[];
  /** Number of frames in flight. */
  readonly sent: number;
}

export class MoveWindow<P> {
  readonly #windowBytes: number;
  #first: number;
  #frames: WaitingFrame<P>[];
  #sent: number;
  /** Bytes of the frames in flight; below, bytes of the updates that wait. */
  #sentBytes = 0;
  #waitingUpdateBytes = 0;

  constructor(windowBytes: number, state: MoveWindowState<P> = { first: 0, frames: [], sent: 0 }) {
    this.#windowBytes = windowBytes;
    this.#first = state.first;
    this.#frames = [...state.frames];
    this.#sent = state.sent;
    this.#frames.forEach((frame, at) => {
      if (at < this.#sent) this.#sentBytes += frame.byteLength;
      else this.#waitingUpdateBytes += updateBytes(frame);
    });
  }

  state(): MoveWindowState<P> {
    return { first: this.#first, frames: [...this.#frames], sent: this.#sent };
  }

  /** The target has all frames. */
  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** All frames are in flight: none waits for room. */
  get isAllSent(): boolean {
    return this.#sent === this.#frames.length;
  }

  get isSending(): boolean {
    return this.#sent > 0;
  }

  /** The number of the first frame that the target has not taken. */
  get first(): number {
    return this.#first;
  }

  /** The number of the next frame. */
  get next(): number {
    return this.#first + this.#frames.length;
  }

  /** The waiting updates have more bytes than the window. */
  get isOverfull(): boolean {
    return this.#waitingUpdateBytes > this.#windowBytes;
  }

  add(content: MoveContent<P>, byteLength: number): void {
    const frame = { content, byteLength };
    this.#frames.push(frame);
    this.#waitingUpdateBytes += updateBytes(frame);
  }

  /** Returns the frames that have room now, and counts them as in flight. */
  send(name: MoveName): MoveFrame<P>[] {
    const from = this.#sent;
    for (
      let frame = this.#frames[from];
      frame !== undefined && this.#hasRoom(frame);
      frame = this.#frames[this.#sent]
    ) {
      this.#sent += 1;
      this.#sentBytes += frame.byteLength;
      this.#waitingUpdateBytes -= updateBytes(frame);
    }
    return this.#framesOf(name, from);
  }

  /** All frames in flight, to resend them. */
  sendAgain(name: MoveName): MoveFrame<P>[] {
    return this.#framesOf(name, 0);
  }

  /** The target has taken all frames below `next`. Returns false if that is not new, or impossible. */
  taken(next: number): boolean {
    const count = next - this.#first;
    if (count <= 0 || count > this.#sent) return false;
    for (const { byteLength } of this.#frames.splice(0, count)) this.#sentBytes -= byteLength;
    this.#sent -= count;
    this.#first = next;
    return true;
  }

  clear(): void {
    this.#first = this.next;
    this.#frames = [];
    this.#sent = 0;
    this.#sentBytes = 0;
    this.#waitingUpdateBytes = 0;
  }

  #hasRoom({ byteLength }: WaitingFrame<P>): boolean {
    return this.#sent === 0 || this.#sentBytes + byteLength <= this.#windowBytes;
  }

  #framesOf(name: MoveName, from: number): MoveFrame<P>[] {
    return this.#frames
      .slice(from, this.#sent)
      .map(({ content }, at) => ({ name, number: this.#first + from + at, content }));
  }
}

const updateBytes = <P>({ content, byteLength }: WaitingFrame<P>): number =>
  content.type === 'update' ? byteLength : 0;
