/** Longer values are made each time. */
const MAX_BYTES = 320;

/** The value read last in some place, with its bytes: mostly the next one is the same, and need not be made again. */
export class LastValue {
  #bytes = new Uint8Array(0);
  #length = 0;
  #value: unknown;

  /** How many of the bytes from `at` on are this value: all of it or none. */
  lengthAt(bytes: Uint8Array, at: number, end: number): number {
    const length = this.#length;
    if (length > end - at) return 0;
    const last = this.#bytes;
    for (let i = 0; i < length; i++) if (last[i] !== bytes[at + i]) return 0;
    return length;
  }

  get value(): unknown {
    return this.#value;
  }

  keep(value: unknown, bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length > MAX_BYTES) return;
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(MAX_BYTES);
    for (let i = 0; i < length; i++) this.#bytes[i] = bytes[from + i]!;
    this.#length = length;
    this.#value = value;
  }
}
