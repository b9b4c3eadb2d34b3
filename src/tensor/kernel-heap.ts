/**
 * Kernel memory of one instance, as JavaScript sees it: allocation, payloads that land in it, payloads
 * elsewhere.
 */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { FiniteFloats } from './finite-floats.ts';
import type { KernelExports } from './kernels/exports.ts';
import { instantiateFixedKernels, instantiateKernels, WASM_PAGE_BYTES } from './kernels/instance.ts';
import type { Staging } from './parameters.ts';

/** Replaces the address of what is not in kernel memory. */
const ELSEWHERE = -1;

export class KernelHeap {
  readonly kernels: KernelExports;
  readonly #memory: WebAssembly.Memory;
  #view: Uint8Array;
  readonly #finite: FiniteFloats;
  readonly #onMoved = new Set<() => void>();

  readonly #hint: string | undefined;

  constructor(limitBytes: number = LIMITS.kernelMemoryPages * WASM_PAGE_BYTES, fixed?: { readonly hint: string }) {
    const pages = Math.min(LIMITS.kernelMemoryPages, Math.max(2, Math.floor(limitBytes / WASM_PAGE_BYTES)));
    const grown = (): void => {
      for (const run of this.#onMoved) run();
    };
    const { memory, exports } = fixed === undefined ? instantiateKernels(pages, grown) : instantiateFixedKernels(pages);
    this.kernels = exports;
    this.#memory = memory;
    this.#view = new Uint8Array(memory.buffer);
    this.#finite = new FiniteFloats(exports);
    this.#hint = fixed?.hint;
  }

  /**
   * One whose memory never grows, so that views of it stay what they are. It takes memory of the machine only where
   * something is written. `hint` goes into `OutOfMemory`.
   */
  static fixed(hint: string): KernelHeap {
    return new KernelHeap(undefined, { hint });
  }

  get reservedBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** All of it. Not valid after the next allocation. */
  get bytes(): Uint8Array {
    if (this.#view.buffer !== this.#memory.buffer) this.#view = new Uint8Array(this.#memory.buffer);
    return this.#view;
  }

  /** Address of `byteLength` bytes, 16-byte aligned, with any content. Throws `OutOfMemory`. */
  allocate(byteLength: number): number {
    const address = byteLength <= LIMITS.kernelAllocationBytes ? this.kernels.allocate(byteLength) >>> 0 : 0;
    if (address === 0) throw outOfMemory(`${byteLength} bytes`, this.reservedBytes, this.#hint);
    return address;
  }

  /**
   * Makes room for so much in one growth, if there is any: the engine looks through all of its own memory after each,
   * which adds up when a large table grows bit by bit.
   */
  prepare(byteLength: number): void {
    const address = byteLength <= LIMITS.kernelAllocationBytes ? this.kernels.allocate(byteLength) >>> 0 : 0;
    if (address !== 0) this.kernels.deallocate(address);
  }

  free(address: number): void {
    this.kernels.deallocate(address);
  }

  /** Memory for a payload to land in. Throws `OutOfMemory`. */
  stage(byteLength: number): Staging {
    const address = this.allocate(byteLength);
    const arrived = this.#finite.follow(address, byteLength);
    let moved: (() => void) | undefined;
    let freed = false;
    return {
      byteLength,
      bytes: () => {
        assert(!freed, 'staging is not used after it was freed');
        return this.bytes.subarray(address, address + byteLength);
      },
      onMoved: (run) => {
        // A function for each staging: several may be given the same one, and each ends alone.
        moved = () => run();
        this.#onMoved.add(moved);
      },
      arrived,
      free: () => {
        if (freed) return;
        if (moved !== undefined) this.#onMoved.delete(moved);
        this.#finite.forget(address);
        this.free(address);
        freed = true;
      },
    };
  }

  /** Index of the first of `count` floats at `address` that is not finite, or -1. */
  firstNotFinite(address: number, count: number): number {
    return this.#finite.first(address, count);
  }

  /** The address of a view of this memory, undefined for any other view. */
  addressOf(view: Uint8Array): number | undefined {
    assert(!(view.buffer as ArrayBuffer).detached, 'a view of kernel memory is used before the next allocation');
    return view.buffer === this.#memory.buffer ? view.byteOffset : undefined;
  }

  /** Runs `use` with the addresses of `inputs`, copying in those outside of it. Throws `OutOfMemory`. */
  withInputs<T>(inputs: readonly Uint8Array[], use: (addresses: readonly number[]) => T): T {
    // All addresses first: an allocation may grow the memory, which ends the life of the views.
    const addresses: number[] = [];
    for (let at = 0; at < inputs.length; at++) addresses.push(this.addressOf(inputs[at]!) ?? ELSEWHERE);
    const copies: number[] = [];
    try {
      for (let at = 0; at < inputs.length; at++) {
        if (addresses[at] !== ELSEWHERE) continue;
        const input = inputs[at]!;
        const copy = this.allocate(input.length);
        copies.push(copy);
        this.bytes.set(input, copy);
        addresses[at] = copy;
      }
      return use(addresses);
    } finally {
      for (let at = 0; at < copies.length; at++) this.free(copies[at]!);
    }
  }

  /** Runs `use` with the address of `byteLength` bytes of scratch. Throws `OutOfMemory`. */
  withScratch<T>(byteLength: number, use: (address: number) => T): T {
    const address = this.allocate(byteLength);
    try {
      return use(address);
    } finally {
      this.free(address);
    }
  }
}

const PSERVER_HINT = 'spread the job over more pservers, or make its tables smaller';

export function outOfMemory(what: string, reservedBytes: number, hint = PSERVER_HINT): PaddletError {
  return new PaddletError(
    'OutOfMemory',
    `parameter memory has no space for ${what} (${reservedBytes} bytes reserved)`,
    {
      hint,
      details: { reservedBytes },
    },
  );
}
