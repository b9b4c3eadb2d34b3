/** Numbers that are some bytes in the file: decimals, INT96, floats of 16 bits. */
import { LIMITS } from '../../../base/limits.ts';
import { Fault } from './fault.ts';
import type { Leaf } from './schema.ts';
import type { Spans, Values } from './values.ts';

const JULIAN_DAY_OF_1970 = 2_440_588;
const MICROSECONDS_A_DAY = 86_400_000_000n;

/** Throws a `Fault`. */
export function refined({ physical, storage, meaning }: Leaf, spans: Spans): Values {
  const { bytes, starts, ends } = spans;
  if (meaning.kind === 'decimal') {
    const long = starts.findIndex((start, at) => ends[at]! - start > LIMITS.parquetDecimalBytes);
    if (long >= 0) throw new Fault(`value ${long} is a decimal of ${ends[long]! - starts[long]!} bytes`);
  }
  if (storage === 'bytes') return spans;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (meaning.kind === 'float') {
    const array = Float32Array.from(starts, (start, at) => (ends[at]! > start ? view.getFloat16(start, true) : 0));
    return { kind: 'f32', array };
  }
  const array = new BigInt64Array(starts.length);
  const halves = new Uint32Array(array.buffer);
  for (let at = 0; at < array.length; at++) {
    const [start, end] = [starts[at]!, ends[at]!];
    if (start === end) continue;
    if (physical !== 'INT96' && end - start <= 8) {
      storeShort(bytes, start, end, halves, 2 * at);
      continue;
    }
    const value = physical === 'INT96' ? microsecondsAt(view, start) : unscaledOf(bytes.subarray(start, end));
    if (BigInt.asIntN(64, value) !== value) throw new Fault(`value ${at} does not fit into 64 bits`);
    array[at] = value;
  }
  return { kind: 'i64', array };
}

/** As `unscaledOf`, in halves: a bigint for each value would take twenty times as long. */
function storeShort(bytes: Uint8Array, start: number, end: number, halves: Uint32Array, to: number): void {
  let low = bytes[start]! >= 128 ? -1 : 0;
  let high = low;
  for (let at = start; at < end; at++) {
    high = (high << 8) | (low >>> 24);
    low = (low << 8) | bytes[at]!;
  }
  halves[to] = low;
  halves[to + 1] = high;
}

/** Microseconds since 1970 of an INT96, which has the nanoseconds of a day and the Julian number of the day. */
function microsecondsAt(view: DataView, at: number): bigint {
  const days = BigInt(view.getUint32(at + 8, true) - JULIAN_DAY_OF_1970);
  return days * MICROSECONDS_A_DAY + view.getBigUint64(at, true) / 1000n;
}

/** The integer that the bytes of a decimal are: two's complement, highest byte first. */
export function unscaledOf(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  const value = BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`);
  return BigInt.asIntN(8 * bytes.length, value);
}
