/** What the models share that are computed by a kernel: their memory, and what they read and write there. */
import type { ArrayMemory } from '../tensor/array-memory.ts';
import type { KernelHeap } from '../tensor/kernel-heap.ts';
import type { MetricSums } from './model.ts';

/** Σ weight, loss, correct, squared error, Σ dloss/dz: what a kernel writes of a batch, as f64. A multiple of 16. */
export const SUMS_BYTES = 48;

/** Memory of one model that is kept between batches: what a kernel writes, or needs while it runs. */
export class KeptMemory {
  readonly #memory: ArrayMemory;
  #address = 0;
  #byteLength = 0;

  constructor(memory: ArrayMemory) {
    this.#memory = memory;
  }

  get heap(): KernelHeap {
    return this.#memory.heap;
  }

  /** The address of `byteLength` bytes with arbitrary content, which replace the former ones. Throws `OutOfMemory`. */
  take(byteLength: number): number {
    if (byteLength <= this.#byteLength) return this.#address;
    if (this.#byteLength > 0) this.heap.free(this.#address);
    this.#byteLength = 0;
    // A quarter more, as batches differ.
    const taken = Math.ceil(byteLength * 1.25);
    this.#address = this.heap.allocate(taken);
    this.#byteLength = taken;
    return this.#address;
  }
}

export const bytesOf = (array: Float32Array | Uint32Array | Uint16Array | Uint8Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

export const floatsAt = (heap: KernelHeap, address: number, length: number): Float32Array =>
  new Float32Array(heap.bytes.buffer, address, length);

/** The metrics, and the sum of dloss/dz. */
export function sumsAt(heap: KernelHeap, address: number, records: number): { metrics: MetricSums; slopes: number } {
  const sums = new Float64Array(heap.bytes.buffer, address, 5) as unknown as number[];
  const [weight, loss, correct, squaredError, slopes] = sums;
  return {
    metrics: { records, weight: weight!, loss: loss!, correct: correct!, squaredError: squaredError! },
    slopes: slopes!,
  };
}
