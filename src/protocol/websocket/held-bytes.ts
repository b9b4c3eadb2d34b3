/**
 * What all connections of a role together make it hold: frames on their way in, requests that are not answered, answers
 * that are not read. Each connection has a separate bound, and thousands of them together would take all memory.
 *
 * Over the bound new requests are refused, and their clients try again: that is enough where clients read their
 * answers. A connection that holds something all the while is cut after some seconds: none keeps the others out.
 */
import type { Clock } from '../../base/seams.ts';

export interface HeldBytesOptions {
  readonly limit: number;
  /** A connection that holds something for so long, while others are refused, is cut. */
  readonly patienceMs: number;
}

export class HeldBytes {
  readonly #clock: Clock;
  readonly #options: HeldBytesOptions;
  readonly #holders = new Set<Holder>();
  #bytes = 0;
  #refusedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, options: HeldBytesOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A connection. `cut` ends it: `leave` follows. */
  enter(cut: () => void): Holder {
    const holder = new Holder(cut, (bytes) => {
      this.#bytes += bytes;
    });
    this.#holders.add(holder);
    return holder;
  }

  /** What it held counts no more, whenever it is released. */
  leave(holder: Holder): void {
    this.#holders.delete(holder);
    holder.end();
  }

  /** Whether `byteLength` more bytes may be held. If not, cuts those that have blocked others for long. */
  hasRoom(byteLength: number): boolean {
    if (this.#bytes + byteLength <= this.#options.limit) return true;
    const { patienceMs } = this.#options;
    const now = this.#clock.monotonicMs();
    // There was room for a while: all begin again.
    if (now - this.#refusedMs > patienceMs) for (const holder of this.#holders) holder.sinceMs = undefined;
    this.#refusedMs = now;
    for (const holder of [...this.#holders]) {
      if (holder.bytes === 0) continue;
      holder.sinceMs ??= now;
      if (now - holder.sinceMs >= patienceMs) holder.cut();
    }
    return this.#bytes + byteLength <= this.#options.limit;
  }
}

/** What one connection holds. */
export class Holder {
  readonly cut: () => void;
  readonly #changed: (bytes: number) => void;
  #hasEnded = false;
  bytes = 0;
  /** When others were first refused while it held something all the time. */
  sinceMs: number | undefined;

  constructor(cut: () => void, changed: (bytes: number) => void) {
    this.cut = cut;
    this.#changed = changed;
  }

  /** Fewer, if negative. */
  add(bytes: number): void {
    if (this.#hasEnded) return;
    this.bytes += bytes;
    this.#changed(bytes);
    if (this.bytes === 0) this.sinceMs = undefined;
  }

  end(): void {
    this.add(-this.bytes);
    this.#hasEnded = true;
  }
}
