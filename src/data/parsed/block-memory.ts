/** The blocks that were read last, up to a number of bytes: where all tasks fit, a later pass reads no file. */
import type { KeptBlock } from './layout.ts';

export class BlockMemory {
  readonly #most: number;
  /** Those that were not used for the longest time come first. */
  readonly #blocks = new Map<string, { readonly kept: KeptBlock; readonly bytes: number }>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): KeptBlock | undefined {
    const found = this.#blocks.get(key);
    if (found === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, found);
    return found.kept;
  }

  put(key: string, kept: KeptBlock, bytes: number): void {
    this.drop(key);
    if (bytes > this.#most) return;
    this.#blocks.set(key, { kept, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#blocks.keys()) {
      if (this.#bytes <= this.#most) break;
      this.drop(oldest);
    }
  }

  drop(key: string): void {
    const found = this.#blocks.get(key);
    if (found === undefined) return;
    this.#blocks.delete(key);
    this.#bytes -= found.bytes;
  }
}
