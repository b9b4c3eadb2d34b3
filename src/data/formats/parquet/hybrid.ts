/** Runs of repeated and of bit-packed integers: levels, indexes of dictionaries, booleans. */
import { Fault } from './fault.ts';

/** Widest integer that one load of 32 bits always holds, wherever in a byte it begins. */
const ONE_LOAD_BITS = 25;

/**
 * Decodes `count` integers of `width` bits into `into`, from its index `first` on. `bytes`: all of the runs, and of
 * nothing else. Throws a `Fault` when there are fewer.
 */
export function decodeHybrid(
  bytes: Uint8Array,
  width: number,
  into: Uint8Array | Uint32Array,
  first: number,
  count: number,
): void {
  if (width > 32) throw new Fault(`its integers cannot have ${width} bits`);
  const end = first + count;
  let at = 0;
  for (let to = first; to < end; ) {
    let [head, shift] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Fault(`it has ${to - first} of ${count} levels or indexes`);
      head += (byte & 127) * shift;
      if (byte < 128) break;
      shift *= 128;
      if (shift > 2 ** 28) throw new Fault('the length of a run is too large');
    }
    const isPacked = head % 2 === 1;
    const length = Math.floor(head / 2);
    if (isPacked) {
      const values = Math.min(8 * length, end - to);
      // The last run may lack what pads it.
      if (at + Math.ceil((values * width) / 8) > bytes.length) throw new Fault('a run of integers is cut off');
      if (into instanceof Uint8Array) unpackLevels(bytes, at, width, into, to, values);
      else unpackIndexes(bytes, at, width, into, to, values);
      at += length * width;
      to += values;
    } else {
      const values = Math.min(length, end - to);
      const valueBytes = (width + 7) >> 3;
      if (at + valueBytes > bytes.length) throw new Fault('a run of integers is cut off');
      let value = 0;
      for (let byte = 0; byte < valueBytes; byte++) value += bytes[at + byte]! * 2 ** (8 * byte);
      if (value >= 2 ** width) throw new Fault(`an integer does not fit into ${width} bits`);
      into.fill(value, to, to + values);
      at += valueBytes;
      to += values;
    }
  }
}

function unpackLevels(
  bytes: Uint8Array,
  at: number,
  width: number,
  into: Uint8Array,
  first: number,
  count: number,
): void {
  if (width > 8) throw new Fault(`its levels cannot have ${width} bits`);
  const mask = 2 ** width - 1;
  for (let number = 0, bit = 0; number < count; number++, bit += width) {
    const byte = at + (bit >>> 3);
    into[first + number] = (((bytes[byte]! | (bytes[byte + 1]! << 8)) >>> (bit & 7)) & mask) as number;
  }
}

function unpackIndexes(
  bytes: Uint8Array,
  at: number,
  width: number,
  into: Uint32Array,
  first: number,
  count: number,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const mask = width === 32 ? 0xffff_ffff : 2 ** width - 1;
  // As many values as can be loaded without reading past the end of the bytes.
  const near = width === 0 ? count : Math.min(count, Math.max(0, Math.floor(((bytes.length - at - 4) * 8) / width)));
  let number = 0;
  if (width > 0 && width <= ONE_LOAD_BITS) {
    for (; number < near; number++) {
      const bit = number * width;
      into[first + number] = (view.getUint32(at + Math.floor(bit / 8), true) >>> (bit & 7)) & mask;
    }
  }
  for (; number < count; number++) {
    const bit = number * width;
    let value = 0;
    for (let have = 0; have < width; ) {
      const place = bit + have;
      const take = Math.min(8 - (place % 8), width - have);
      value += ((bytes[at + Math.floor(place / 8)]! >>> (place % 8)) & (2 ** take - 1)) * 2 ** have;
      have += take;
    }
    into[first + number] = value;
  }
}
