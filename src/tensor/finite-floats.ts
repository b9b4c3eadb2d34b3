/**
 * Checks gradients for NaN and infinity as they arrive: what has just been written is in the cache, all of a large push
 * is not. The staged bytes are checked piece by piece; a piece with other content (ids may look like NaN) is checked
 * again when the place of the gradients is known.
 */
import type { MemoryExports } from './kernels/exports.ts';

const PIECE_BYTES = 64 * 1024;

interface Staged {
  readonly address: number;
  readonly byteLength: number;
  /** 1 for each piece in which all floats are finite. */
  readonly finite: Uint8Array;
  /** Pieces checked. */
  pieces: number;
}

export class FiniteFloats {
  readonly #kernels: Pick<MemoryExports, 'firstNotFinite'>;
  readonly #staged = new Map<number, Staged>();

  constructor(kernels: Pick<MemoryExports, 'firstNotFinite'>) {
    this.#kernels = kernels;
  }

  /** Returns a function to call as bytes arrive, with the number that has arrived. */
  follow(address: number, byteLength: number): (arrived: number) => void {
    const pieces = Math.floor(byteLength / PIECE_BYTES);
    if (pieces === 0) return () => {};
    const staged: Staged = { address, byteLength, finite: new Uint8Array(pieces), pieces: 0 };
    this.#staged.set(address, staged);
    return (arrived) => {
      for (; (staged.pieces + 1) * PIECE_BYTES <= arrived; staged.pieces++) {
        const at = address + staged.pieces * PIECE_BYTES;
        if (this.#kernels.firstNotFinite(at, PIECE_BYTES / 4) < 0) staged.finite[staged.pieces] = 1;
      }
    };
  }

  forget(address: number): void {
    this.#staged.delete(address);
  }

  /** Index of the first of `count` floats at `address` that is not finite, or -1. */
  first(address: number, count: number): number {
    const staged = this.#find(address);
    if (staged === undefined || address % 4 !== 0) return this.#kernels.firstNotFinite(address, count);
    const end = address + 4 * count;
    for (let at = address; at < end; ) {
      const piece = Math.floor((at - staged.address) / PIECE_BYTES);
      const next = Math.min(end, staged.address + (piece + 1) * PIECE_BYTES);
      const bad = staged.finite[piece] === 1 ? -1 : this.#kernels.firstNotFinite(at, (next - at) / 4);
      if (bad >= 0) return (at - address) / 4 + bad;
      at = next;
    }
    return -1;
  }

  #find(address: number): Staged | undefined {
    for (const staged of this.#staged.values()) {
      if (address >= staged.address && address < staged.address + staged.byteLength) return staged;
    }
    return undefined;
  }
}
