/** Integers as differences in packed blocks (DELTA_BINARY_PACKED), and the texts whose lengths are such integers. */
import { Fault } from './fault.ts';

/** More than what one step reads behind its first byte. */
const LOAD_BYTES = 16;

/** 32-bit ones wrap as they do in 32 bits. */
export type Deltas = Int32Array | BigInt64Array;

/** Decodes `into.length` integers; returns where they end. Throws a `Fault`. */
export function decodeDeltas(bytes: Uint8Array, at: number, into: Deltas): number {
  const reader = new DeltaReader(bytes, at);
  const blockValues = reader.small();
  const minis = reader.small();
  const count = reader.small();
  const miniValues = blockValues / minis;
  if (count !== into.length) throw new Fault(`it has ${count} integers, not ${into.length}`);
  if (blockValues === 0 || minis === 0 || !Number.isInteger(miniValues / 8)) {
    throw new Fault('its blocks of integers are of an impossible size');
  }
  // The difference of two 32-bit integers may have 33 bits: sums wrap.
  let value = reader.zigzag();
  if (count > 0) store(into, 0, value);
  for (let done = 1; done < count; ) {
    const least = reader.zigzag();
    const widths = reader.take(minis);
    for (let mini = 0; mini < minis && done < count; mini++) {
      const width = widths[mini]!;
      if (width > 64) throw new Fault(`a difference cannot have ${width} bits`);
      const values = Math.min(miniValues, count - done);
      const packed = loadable(reader.take((miniValues * width) / 8), width);
      const isSmall = into instanceof Int32Array;
      value = isSmall
        ? small(packed, least, value, into, done, values)
        : large(packed, least, value, into, done, values);
      done += values;
    }
  }
  return reader.at;
}

/** Packed integers of `width` bits, from a byte of the view on. */
interface Packed {
  readonly view: DataView;
  readonly at: number;
  readonly width: number;
}

/** Loads of 32 bits may go past the end of the integers: that must not be the end of the memory, too. */
function loadable(bytes: Uint8Array, width: number): Packed {
  const { buffer, byteOffset, length } = bytes;
  if (byteOffset + length + LOAD_BYTES <= buffer.byteLength) {
    return { view: new DataView(buffer), at: byteOffset, width };
  }
  const copy = new Uint8Array(length + LOAD_BYTES);
  copy.set(bytes);
  return { view: new DataView(copy.buffer), at: 0, width };
}

function store(into: Deltas, at: number, value: bigint): void {
  if (into instanceof Int32Array) into[at] = Number(BigInt.asIntN(32, value));
  else into[at] = BigInt.asIntN(64, value);
}

/** Decodes differences of 32-bit integers, for which only the low half counts. */
function small(packed: Packed, least: bigint, before: bigint, into: Int32Array, first: number, count: number): bigint {
  const low = Number(BigInt.asIntN(32, least));
  const { view, at, width } = packed;
  const lowBits = Math.min(width, 32);
  let value = Number(BigInt.asIntN(32, before));
  for (let number = 0; number < count; number++) {
    value = (value + low + bitsAt(view, at, number * width, lowBits)) | 0;
    into[first + number] = value;
  }
  return BigInt(value);
}

/** As two halves: a bigint for each step would cost several times as much. */
function large(
  packed: Packed,
  least: bigint,
  before: bigint,
  into: BigInt64Array,
  first: number,
  count: number,
): bigint {
  const halves = new Uint32Array(into.buffer, into.byteOffset, 2 * into.length);
  const [leastLow, leastHigh] = [Number(least & 0xffff_ffffn), Number((least >> 32n) & 0xffff_ffffn)];
  const { view, at, width } = packed;
  const [lowBits, highBits] = [Math.min(width, 32), Math.max(0, width - 32)];
  let low = Number(before & 0xffff_ffffn);
  let high = Number((before >> 32n) & 0xffff_ffffn);
  for (let number = 0, to = 2 * first; number < count; number++, to += 2) {
    const bit = number * width;
    const sum = low + leastLow + (bitsAt(view, at, bit, lowBits) >>> 0);
    low = sum >>> 0;
    // The carry may be 2.
    high = (high + leastHigh + bitsAt(view, at, bit + 32, highBits) + (sum - low) / 0x1_0000_0000) >>> 0;
    halves[to] = low;
    halves[to + 1] = high;
  }
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
}

/** Up to 32 bits, as a signed number if there are 32. The view continues after them. */
function bitsAt(view: DataView, at: number, bit: number, width: number): number {
  const from = at + (bit >>> 3);
  const shift = bit & 7;
  const low = view.getUint32(from, true) >>> shift;
  const value = shift === 0 ? low : low | (view.getUint8(from + 4) << (32 - shift));
  return width === 32 ? value | 0 : value & ((1 << width) - 1);
}

class DeltaReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) throw new Fault('its integers are cut off');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new Fault('an integer does not end');
  }

  small(): number {
    const value = this.#varint();
    if (value > 0x7fff_ffffn) throw new Fault(`it cannot have ${value} integers`);
    return Number(value);
  }

  zigzag(): bigint {
    const value = this.#varint();
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  }

  take(count: number): Uint8Array {
    if (count > this.#bytes.length - this.at) throw new Fault('its integers are cut off');
    this.at += count;
    return this.#bytes.subarray(this.at - count, this.at);
  }
}
