/** Booleans, and numbers that are in the file as they are in memory. */
import type { Encoding } from 'hyparquet';
import { decodeDeltas } from './delta.ts';
import { Fault } from './fault.ts';
import { decodeHybrid } from './hybrid.ts';
import type { Leaf, Storage } from './schema.ts';
import { fixedBytes, lengthAt, type Numbers, spreadWords, unknownEncoding, type ValueBuilder } from './values.ts';

export class Booleans implements ValueBuilder {
  readonly #array: Uint8Array;
  count = 0;

  constructor(capacity: number) {
    this.#array = new Uint8Array(capacity);
  }

  append(encoding: Encoding, bytes: Uint8Array, count: number): void {
    const [array, first] = [this.#array, this.count];
    if (encoding === 'PLAIN') {
      if (8 * bytes.length < count) throw new Fault(`it has ${bytes.length} bytes of ${count} booleans`);
      for (let number = 0; number < count; number++) array[first + number] = (bytes[number >> 3]! >> (number & 7)) & 1;
    } else if (encoding === 'RLE') {
      const length = lengthAt(bytes, 0);
      decodeHybrid(bytes.subarray(4, 4 + length), 1, array, first, count);
    } else throw unknownEncoding(encoding);
    this.count += count;
  }

  spread(present: Uint8Array, values: number): void {
    spreadWords(this.#array, 1, this.count - values, values, present);
    this.count += present.length - values;
  }

  finish(): Numbers {
    return { kind: 'bool', array: this.#array.subarray(0, this.count) };
  }
}

/**
 * Gathers numbers with a fixed width of 4 or 8 bytes in the file. The array has the same width, except for decimals.
 */
export class NumberBuilder implements ValueBuilder {
  readonly #storage: Storage;
  readonly #width: 4 | 8;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  count = 0;

  constructor({ storage }: Leaf, width: 4 | 8, capacity: number) {
    this.#storage = storage;
    this.#width = width;
    this.#bytes = new Uint8Array(capacity * width);
  }

  append(encoding: Encoding, bytes: Uint8Array, count: number): void {
    const at = this.count * this.#width;
    const into = this.#bytes.subarray(at, at + count * this.#width);
    if (encoding === 'DELTA_BINARY_PACKED' && !this.#storage.startsWith('f')) {
      const array = this.#width === 4 ? Int32Array : BigInt64Array;
      decodeDeltas(bytes, 0, new array(into.buffer, into.byteOffset, count));
    } else into.set(fixedBytes(encoding, bytes, count, this.#width));
    this.count += count;
  }

  spread(present: Uint8Array, values: number): void {
    const words = new Uint32Array(this.#bytes.buffer);
    spreadWords(words, this.#width === 8 ? 2 : 1, this.count - values, values, present);
    this.count += present.length - values;
  }

  finish(): Numbers {
    const { buffer } = this.#bytes;
    const [kind, count] = [this.#storage, this.count];
    switch (kind) {
      case 'i32':
        return { kind, array: new Int32Array(buffer, 0, count) };
      case 'u32':
        return { kind, array: new Uint32Array(buffer, 0, count) };
      case 'f32':
        return { kind, array: new Float32Array(buffer, 0, count) };
      case 'f64':
        return { kind, array: new Float64Array(buffer, 0, count) };
      case 'u64':
        return { kind, array: new BigUint64Array(buffer, 0, count) };
      default: {
        const array =
          this.#width === 8
            ? new BigInt64Array(buffer, 0, count)
            : BigInt64Array.from(new Int32Array(buffer, 0, count), BigInt);
        return { kind: 'i64', array };
      }
    }
  }
}
