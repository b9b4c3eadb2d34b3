/** Follows a viewer's frames in the bytes of its socket: `ws` reports a message only when it is complete. */
const CONTROL = 0x08;
const FIN = 0x80;
const MASKED = 0x80;
const MASK_BYTES = 4;

export class FrameStarts {
  readonly #onSecondMessage: () => void;
  /** The header of the current frame, as far as it has come. */
  #header: number[] = [];
  /** Bytes of the payload that are still to come. */
  #left = 0;
  #isFirstComplete = false;

  /** `onSecondMessage` runs at the first byte of each data frame after the first message. */
  constructor(onSecondMessage: () => void) {
    this.#onSecondMessage = onSecondMessage;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const byte = bytes[at++]!;
      if (this.#header.length === 0) this.#start(byte);
      this.#header.push(byte);
      this.#endHeader();
    }
  }

  #start(byte: number): void {
    if ((byte & CONTROL) !== 0) return;
    if (this.#isFirstComplete) this.#onSecondMessage();
    else this.#isFirstComplete = (byte & FIN) !== 0;
  }

  #endHeader(): void {
    const [, second, high, low] = this.#header;
    if (second === undefined) return;
    const length = second & ~MASKED;
    const lengthBytes = length === 126 ? 2 : 0;
    if (this.#header.length < 2 + lengthBytes + (second >= MASKED ? MASK_BYTES : 0)) return;
    // `ws` ends a connection whose frame has a length of 64 bits: that is above the limit of a viewer.
    this.#left = length === 127 ? Number.POSITIVE_INFINITY : length === 126 ? high! * 256 + low! : length;
    this.#header = [];
  }
}
