// Decimal numbers in text, up to where they are needed as f32: `ascii.ts` of `src/data` has the plain form.

export const NEWLINE: u32 = 10;
export const SPACE: u32 = 32;
export const HASH: u32 = 35;
export const PLUS: u32 = 43;
export const MINUS: u32 = 45;
export const POINT: u32 = 46;
export const COLON: u32 = 58;

/** Digits of a number that are read exactly: below 10^19 every u64 has room. */
const MOST_DIGITS: usize = 19;
/** Digits of a whole number that surely fit in an i64, and of one that is exact in f64. */
export const SURE_DIGITS: usize = 18;
const EXACT_DIGITS: usize = 15;
/** Powers of ten that are exact in f64. */
const EXACT_POWER: i32 = 22;
/** Whole numbers up to here are exact in f64. */
const EXACT_WHOLE: u64 = 1 << 53;
/** 2^-50, far more than a result can be off that was rounded three times (each 2^-53). */
const MARGIN: f64 = 8.881784197001252e-16;

const POWERS = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
]);

@inline function power(exponent: i32): f64 {
  return load<f64>(POWERS + (<usize>exponent << 3));
}

/** Space, tab, carriage return: what separates the tokens of a line. */
@inline export function isBlank(byte: u32): bool {
  return byte == SPACE || byte == 9 || byte == 13;
}

/** Whether a token ends here, in a text that ends in a line break. */
@inline export function isEnd(byte: u32): bool {
  return byte <= HASH && (byte == SPACE || byte == NEWLINE || byte == HASH || byte == 9 || byte == 13);
}

/** Where the number read last ended. */
export let numberEnd: usize = 0;
/** Whether it is the correctly rounded f64; otherwise only its f32 is right. */
export let isExact: bool = false;

/**
 * The number in the token at `from`, which may end at a `stop`, too, such that its f32 is that of the correctly rounded
 * f64. NaN when it is not a number, not one that ends with the token, or one for the plain form: too long, too large or
 * small, or too near to the middle of two f32.
 */
export function parseNumber(from: usize, stop: u32 = NEWLINE, point: u32 = POINT): f64 {
  let at = from;
  let byte = <u32>load<u8>(at);
  const isNegative = byte == MINUS;
  if (isNegative || byte == PLUS) byte = load<u8>(++at);
  let mantissa: u64 = 0;
  const digitsFrom = at;
  for (let digit = byte - 48; digit <= 9; digit = byte - 48) {
    mantissa = mantissa * 10 + digit;
    byte = load<u8>(++at);
  }
  let digits = at - digitsFrom;
  let scale: i32 = 0;
  if (byte == point) {
    byte = load<u8>(++at);
    const fractionFrom = at;
    for (let digit = byte - 48; digit <= 9; digit = byte - 48) {
      mantissa = mantissa * 10 + digit;
      byte = load<u8>(++at);
    }
    digits += at - fractionFrom;
    scale = -<i32>(at - fractionFrom);
  }
  if (digits == 0 || (digits > MOST_DIGITS && significantDigits(digitsFrom, at, point) > MOST_DIGITS)) return NaN;
  if ((byte | 32) == 101) {
    byte = load<u8>(++at);
    const isDown = byte == MINUS;
    if (isDown || byte == PLUS) byte = load<u8>(++at);
    const exponentFrom = at;
    let exponent: i32 = 0;
    for (let digit = byte - 48; digit <= 9 && at - exponentFrom < 4; digit = byte - 48) {
      exponent = exponent * 10 + <i32>digit;
      byte = load<u8>(++at);
    }
    if (at == exponentFrom) return NaN;
    scale += isDown ? -exponent : exponent;
  }
  if (!isEnd(byte) && byte != stop) return NaN;
  numberEnd = at;
  const value = scaled(mantissa, scale);
  return isNegative ? -value : value;
}

/** Digits in [from, to) from the first one on that is not 0. */
function significantDigits(from: usize, to: usize, point: u32): usize {
  let at = from;
  let hasPoint = false;
  while (at < to && (load<u8>(at) == 48 || load<u8>(at) == point)) at++;
  const first = at;
  for (; at < to; at++) hasPoint = hasPoint || load<u8>(at) == point;
  return to - first - usize(hasPoint);
}

/** The number in all of [from, to), as `parseNumber`. */
export function numberIn(from: usize, to: usize, point: u32): f64 {
  const isNegative = load<u8>(from) == MINUS;
  const digitsFrom = from + usize(isNegative);
  let at = digitsFrom;
  let mantissa: u64 = 0;
  while (at < to) {
    const digit = <u32>load<u8>(at) - 48;
    if (digit > 9) break;
    mantissa = mantissa * 10 + digit;
    at++;
  }
  isExact = true;
  if (at == to && at - digitsFrom - 1 < SURE_DIGITS) {
    const value = <f64>(<i64>mantissa);
    return isNegative ? -value : value;
  }
  if (at < to && load<u8>(at) == point && to - digitsFrom <= EXACT_DIGITS + 1) {
    const fractionFrom = ++at;
    while (at < to) {
      const digit = <u32>load<u8>(at) - 48;
      if (digit > 9) break;
      mantissa = mantissa * 10 + digit;
      at++;
    }
    if (at == to && to - digitsFrom > 1) {
      // Two exact numbers and one rounding (Clinger 1990).
      const value = <f64>(<i64>mantissa) / power(<i32>(to - fractionFrom));
      return isNegative ? -value : value;
    }
  }
  const value = parseNumber(from, load<u8>(to), point);
  return value == value && numberEnd == to ? value : NaN;
}

function scaled(mantissa: u64, scale: i32): f64 {
  isExact = true;
  if (mantissa <= EXACT_WHOLE) {
    // Two exact numbers and one rounding (Clinger 1990).
    const whole = <f64>(<i64>mantissa);
    if (scale == 0) return whole;
    if (scale < 0 && scale >= -EXACT_POWER) return whole / power(-scale);
    if (scale > 0 && scale <= EXACT_POWER) return whole * power(scale);
  }
  isExact = false;
  const distance = abs(scale);
  if (distance > 2 * EXACT_POWER) return NaN;
  const first = min(distance, EXACT_POWER);
  const second = distance - first;
  const rounded = <f64>mantissa;
  const value = scale < 0 ? rounded / power(first) / power(second) : rounded * power(first) * power(second);
  return <f32>(value * (1.0 - MARGIN)) == <f32>(value * (1.0 + MARGIN)) ? value : NaN;
}
