/** Numbers in text, read from bytes; the usual path makes no strings. */

/** 10^0 … 10^15, all exact in f64. */
const POWERS = Float64Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
const EXACT_DIGITS = 15;
// Digits before the point and behind it are matched in one way only: else a long text would take quadratic time.
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

export const NEWLINE = 10;
export const SPACE = 32;
export const HASH = 35;
export const COLON = 58;
/** The byte order mark that some editors put before UTF-8. */
export const BOM = [0xef, 0xbb, 0xbf];
/** Number of bytes of the byte order mark at the beginning of a text; 0 without one. */
export const markBytes = (text: Uint8Array): number => (BOM.every((byte, at) => text[at] === byte) ? BOM.length : 0);

/** Space, tab, carriage return: what separates the tokens of a line. */
export const isBlank = (byte: number): boolean => byte === 32 || byte === 9 || byte === 13;

/**
 * The number in bytes [from, to), correctly rounded to f64, or NaN when it is none. Decimal notation only: no hex, no
 * `Infinity`, no blanks. Up to 15 digits without an exponent are exact integers divided by an exact power of ten, which
 * IEEE 754 rounds correctly (Clinger 1990); the rest goes through `Number`, which rounds correctly too.
 */
export function parseDecimal(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  let negative = false;
  const first = bytes[at];
  if (first === 45 || first === 43) {
    negative = first === 45;
    at++;
  }
  let mantissa = 0;
  let point = -1;
  const digitsFrom = at;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (digit === -2 && point < 0) point = at;
    else return parseSlowly(bytes, from, to);
  }
  const digits = to - digitsFrom - (point < 0 ? 0 : 1);
  if (digits === 0 || digits > EXACT_DIGITS) return parseSlowly(bytes, from, to);
  const value = point < 0 ? mantissa : mantissa / POWERS[to - point - 1]!;
  return negative ? -value : value;
}

function parseSlowly(bytes: Uint8Array, from: number, to: number): number {
  const text = textOf(bytes, from, to);
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}

/** A 64-bit unsigned number as two halves. One object is reused by its owner: nothing is allocated per number. */
export interface U64Halves {
  low: number;
  high: number;
}

/** Reads the decimal digits in [from, to) as u64 into `into`; false when it is empty, not digits only, or ≥ 2^64. */
export function parseU64(bytes: Uint8Array, from: number, to: number, into: U64Halves): boolean {
  if (from >= to) return false;
  let low = 0;
  let high = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit < 0 || digit > 9) return false;
    low = low * 10 + digit;
    const carry = Math.floor(low / 4294967296);
    low -= carry * 4294967296;
    high = high * 10 + carry;
    if (high > 4294967295) return false;
  }
  into.low = low;
  into.high = high;
  return true;
}

/** Bytes as Latin-1 text. */
export const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');

const QUOTED_BYTES = 40;

/** Latin-1 text for a message: shows bytes that are not printable ASCII as `\xc2\xa0`. */
export const shownBytes = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** A token for a message: cut off when long. */
export function quote(bytes: Uint8Array, from: number, to: number): string {
  const text = shownBytes(textOf(bytes, from, Math.min(to, from + QUOTED_BYTES)));
  return `"${text}${to - from > QUOTED_BYTES ? '…' : ''}"`;
}
