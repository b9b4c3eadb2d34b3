/** Instances of the kernels, each with separate memory. */
import { LIMITS } from '../../base/limits.ts';
import { kernelsBase64 } from '../generated/kernels.ts';
import type { DataKernelExports } from './exports.ts';

export const PAGE_BYTES = 65_536;
/** The first page has the constants of the kernels, the second one the frame of a call. */
export const FRAME_AT = PAGE_BYTES;
const INITIAL_PAGES = 2;

let compiled: WebAssembly.Module | undefined;

export class KernelInstance {
  readonly #memory: WebAssembly.Memory;
  readonly kernels: DataKernelExports;

  constructor() {
    compiled ??= new WebAssembly.Module(Buffer.from(kernelsBase64, 'base64'));
    this.#memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: LIMITS.kernelMemoryPages });
    const instance = new WebAssembly.Instance(compiled, { env: { memory: this.#memory } });
    this.kernels = instance.exports as unknown as DataKernelExports;
  }

  /** Another one after each growth. */
  get buffer(): ArrayBuffer {
    return this.#memory.buffer;
  }

  /** Grows the memory up to that address: views of it end. */
  reserve(end: number): void {
    const missing = end - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
  }
}

/** The next multiple of eight, where a u64 may begin. */
export const roundUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;
