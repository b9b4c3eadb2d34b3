/**
 * Arrays that kernels use in place, in kernel memory that never grows: views of it stay what they are until they are
 * given back. A trainer keeps here what it pulls and the batches that it reads; the model's gradients are here, too.
 */
import { assert } from '../base/assert.ts';
import { KernelHeap } from './kernel-heap.ts';

const HINT = 'make training.batchSize, training.pullEvery or training.pullAhead smaller';

/** Memories by their buffer: an array tells by it where it is. */
const memories = new WeakMap<ArrayBufferLike, ArrayMemory>();

export class ArrayMemory {
  #heap: KernelHeap | undefined;
  /** What becomes unreachable without having been given back, as after an error, is free again. */
  readonly #lost = new FinalizationRegistry((address: number) => this.heap.free(address));

  /** The memory is made when it is first used. */
  get heap(): KernelHeap {
    if (this.#heap === undefined) {
      this.#heap = KernelHeap.fixed(HINT);
      memories.set(this.#heap.bytes.buffer, this);
    }
    return this.#heap;
  }

  /** An array with any content. Keep the array itself, not only a part of it. Throws `OutOfMemory`. */
  floats(length: number): Float32Array<ArrayBuffer> {
    const address = this.heap.allocate(4 * length);
    return this.#handOut(new Float32Array(this.#buffer, address, length));
  }

  /** The same for u32. */
  words(length: number): Uint32Array<ArrayBuffer> {
    const address = this.heap.allocate(4 * length);
    return this.#handOut(new Uint32Array(this.#buffer, address, length));
  }

  /** The same for bytes. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    const address = this.heap.allocate(length);
    return this.#handOut(new Uint8Array(this.#buffer, address, length));
  }

  /** Takes back an array that was handed out here, to which nothing refers any longer. */
  free(array: Float32Array | Uint32Array | Uint8Array): void {
    assert(array.buffer === this.#buffer, 'an array is given back where it came from');
    this.#lost.unregister(array);
    this.heap.free(array.byteOffset);
  }

  get #buffer(): ArrayBuffer {
    return this.heap.bytes.buffer as ArrayBuffer;
  }

  #handOut<T extends Float32Array | Uint32Array | Uint8Array>(array: T): T {
    this.#lost.register(array, array.byteOffset, array);
    return array;
  }
}

/** The memory that an array is in; undefined for ordinary arrays. */
export const memoryOf = (array: ArrayBufferView): ArrayMemory | undefined => memories.get(array.buffer);
