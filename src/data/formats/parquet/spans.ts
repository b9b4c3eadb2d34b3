/** Texts, and what is made of a few bytes each. */
import type { Encoding } from 'hyparquet';
import { LIMITS } from '../../../base/limits.ts';
import { decodeDeltas } from './delta.ts';
import { Fault } from './fault.ts';
import { refined } from './refined.ts';
import type { Leaf } from './schema.ts';
import { fixedBytes, spreadWords, unknownEncoding, type ValueBuilder, type Values } from './values.ts';

export class SpanBuilder implements ValueBuilder {
  readonly #leaf: Leaf;
  readonly #width: number | undefined;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #bytes: Uint8Array;
  #used = 0;
  count = 0;

  constructor(leaf: Leaf, width: number | undefined, capacity: number, bytes: number) {
    this.#leaf = leaf;
    this.#width = width;
    this.#starts = new Uint32Array(capacity);
    this.#ends = new Uint32Array(capacity);
    this.#bytes = new Uint8Array(bytes);
  }

  append(encoding: Encoding, bytes: Uint8Array, count: number): void {
    const width = this.#width;
    if (encoding === 'DELTA_BYTE_ARRAY') this.#appendPrefixed(bytes, count);
    else if (width !== undefined) this.#appendFixed(fixedBytes(encoding, bytes, count, width), width, count);
    else if (encoding === 'PLAIN') this.#appendPlain(bytes, count);
    else if (encoding === 'DELTA_LENGTH_BYTE_ARRAY') this.#appendLengths(bytes, count);
    else throw unknownEncoding(encoding);
    this.count += count;
  }

  spread(present: Uint8Array, values: number): void {
    for (const array of [this.#starts, this.#ends]) spreadWords(array, 1, this.count - values, values, present);
    this.count += present.length - values;
  }

  finish(): Values {
    const [starts, ends] = [this.#starts.subarray(0, this.count), this.#ends.subarray(0, this.count)];
    return refined(this.#leaf, { kind: 'bytes', bytes: this.#bytes.subarray(0, this.#used), starts, ends });
  }

  /** The page as it is, with the lengths in it: copying each text would take several times as long. */
  #appendPlain(bytes: Uint8Array, count: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const [starts, ends, first, base, last] = [this.#starts, this.#ends, this.count, this.#used, bytes.length - 4];
    let at = 0;
    for (let number = 0; number < count; number++) {
      if (at > last) throw new Fault(`it has ${number} of ${count} values`);
      const start = at + 4;
      at = start + view.getUint32(at, true);
      if (at > bytes.length) throw new Fault(`value ${number} is longer than what is left`);
      starts[first + number] = base + start;
      ends[first + number] = base + at;
    }
    this.#keep(bytes.subarray(0, at));
  }

  #appendFixed(bytes: Uint8Array, width: number, count: number): void {
    for (let number = 0, at = this.#used; number < count; number++, at += width) {
      this.#starts[this.count + number] = at;
      this.#ends[this.count + number] = at + width;
    }
    this.#keep(bytes);
  }

  #appendLengths(bytes: Uint8Array, count: number): void {
    const lengths = new Int32Array(count);
    const data = bytes.subarray(decodeDeltas(bytes, 0, lengths));
    let at = 0;
    for (let number = 0; number < count; number++) {
      this.#starts[this.count + number] = this.#used + at;
      at += lengths[number]!;
      if (lengths[number]! < 0 || at > data.length) throw new Fault(`value ${number} is longer than what is left`);
      this.#ends[this.count + number] = this.#used + at;
    }
    this.#keep(data.subarray(0, at));
  }

  /** Each value begins as the one before it does. */
  #appendPrefixed(bytes: Uint8Array, count: number): void {
    const [prefixes, suffixes] = [new Int32Array(count), new Int32Array(count)];
    const data = bytes.subarray(decodeDeltas(bytes, decodeDeltas(bytes, 0, prefixes), suffixes));
    let [total, length, from] = [0, 0, 0];
    for (let number = 0; number < count; number++) {
      const [prefix, suffix] = [prefixes[number]!, suffixes[number]!];
      from += suffix;
      if (prefix < 0 || suffix < 0 || prefix > length || from > data.length) {
        throw new Fault(`value ${number} is longer than what it is made of`);
      }
      length = prefix + suffix;
      if (this.#width !== undefined && length !== this.#width) throw new Fault(`value ${number} has ${length} bytes`);
      total += length;
    }
    this.#reserve(total);
    const all = this.#bytes;
    from = 0;
    for (let number = 0, before = 0; number < count; number++) {
      const [prefix, suffix, at] = [prefixes[number]!, suffixes[number]!, this.#used];
      all.copyWithin(at, before, before + prefix);
      all.set(data.subarray(from, from + suffix), at + prefix);
      from += suffix;
      before = at;
      this.#used += prefix + suffix;
      this.#starts[this.count + number] = at;
      this.#ends[this.count + number] = this.#used;
    }
  }

  #keep(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  #reserve(count: number): void {
    const needed = this.#used + count;
    if (needed > LIMITS.parquetChunkBytes) {
      throw new Fault(`its column has more than ${LIMITS.parquetChunkBytes} bytes`);
    }
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.min(2 * needed, LIMITS.parquetChunkBytes));
    larger.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = larger;
  }
}
