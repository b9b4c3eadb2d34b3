/**
 * Floats as text, in JavaScript's notation, with the fewest digits (at least six) that give the same f32 again. A large
 * table has a hundred million of them, so the usual ones are written digit by digit; those that rounding could get
 * wrong are left to the engine.
 */

const FEWEST_DIGITS = 6;
const MOST_DIGITS = 9;
/** Powers of ten that a double holds exactly: one multiplication or division by them rounds once. */
const POWERS = Array.from({ length: 23 }, (_, power) => 10 ** power);
/** Products are off by less than this, so rounding them is sure unless they are closer than this to a half. */
const DOUBT = 1e-5;
const ZERO = 48;
const MINUS = 45;
const POINT = 46;
/** No number is longer: a sign, 9 digits, a point, six zeros; or an exponent. */
export const LONGEST_FLOAT = 24;

export function floatText(value: number): string {
  if (Number.isInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  for (let digits = FEWEST_DIGITS; digits < MOST_DIGITS; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(MOST_DIGITS)));
}

/** Writes an f32; there is room for LONGEST_FLOAT bytes. Where the next byte goes. */
export function writeFloat(bytes: Uint8Array, at: number, value: number): number {
  if (value === 0 && !Object.is(value, -0)) {
    bytes[at] = ZERO;
    return at + 1;
  }
  const size = Math.abs(value);
  // Outside, exponents are written, or powers of ten are not exact.
  if (!(size >= 1e-6 && size < 1e9)) return writeText(bytes, at, floatText(value));
  if (Number.isInteger(size)) {
    if (value < 0) bytes[at++] = MINUS;
    return writeDecimal(bytes, at, size, 0);
  }
  let exponent = Math.floor(Math.log10(size));
  if (scaled(size, exponent) >= 10) exponent += 1;
  else if (scaled(size, exponent) < 1) exponent -= 1;
  for (let digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
    const shift = digits - 1 - exponent;
    const exact = shift >= 0 ? size * POWERS[shift]! : size / POWERS[-shift]!;
    const whole = Math.floor(exact);
    const rest = exact - whole;
    if (Math.abs(rest - 0.5) < DOUBT) break;
    const rounded = rest < 0.5 ? whole : whole + 1;
    const back = shift >= 0 ? rounded / POWERS[shift]! : rounded * POWERS[-shift]!;
    if (Math.fround(back) !== size) continue;
    if (value < 0) bytes[at++] = MINUS;
    return writeDecimal(bytes, at, rounded, shift);
  }
  return writeText(bytes, at, floatText(value));
}

const scaled = (size: number, exponent: number): number =>
  exponent >= 0 ? size / POWERS[exponent]! : size * POWERS[-exponent]!;

/** `whole` × 10^-shift, without needless zeros. */
function writeDecimal(bytes: Uint8Array, at: number, whole: number, shift: number): number {
  let left = whole;
  let places = shift;
  while (places > 0 && left % 10 === 0) {
    left /= 10;
    places -= 1;
  }
  for (; places < 0; places++) left *= 10;
  let digits = 1;
  while (digits < POWERS.length && left >= POWERS[digits]!) digits += 1;
  // Digits before the point: at least a zero.
  const length = places === 0 ? digits : Math.max(digits, places + 1) + 1;
  const end = at + length;
  let to = end - 1;
  for (let written = 0; to >= at; written++, to--) {
    if (places > 0 && written === places) {
      bytes[to--] = POINT;
    }
    bytes[to] = ZERO + (left % 10);
    left = Math.floor(left / 10);
  }
  return end;
}

export function writeText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}
