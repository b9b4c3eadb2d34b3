/**
 * Elementary functions in fixed-point BigInt arithmetic, good to hundreds of bits: the truth that `math.ts` is held
 * to.
 */
const BITS = 1400n;
const ONE = 1n << BITS;

/** The exact value of a finite double, in fixed point (values below 2^-1400 do not occur in tests). */
export function fixed(x: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const mantissa = exponent === 0 ? fraction : fraction | (1n << 52n);
  const shift = BITS + BigInt(Math.max(exponent, 1) - 1075);
  const size = shift >= 0n ? mantissa << shift : mantissa >> -shift;
  return x < 0 || Object.is(x, -0) ? -size : size;
}

const multiply = (a: bigint, b: bigint): bigint => (a * b) >> BITS;
const divide = (a: bigint, b: bigint): bigint => (a << BITS) / b;

export function exactExp(x: bigint): bigint {
  const HALVINGS = 20n;
  const small = x >> HALVINGS;
  let term = ONE;
  let sum = ONE;
  for (let n = 1n; term !== 0n && term !== -1n; n++) {
    term = multiply(term, small) / n;
    sum += term;
  }
  for (let i = 0n; i < HALVINGS; i++) sum = multiply(sum, sum);
  return sum;
}

/** Halley's iteration on e^y = x; each step triples the good bits of the start. */
export function exactLog(x: bigint, start: number): bigint {
  let y = fixed(start);
  for (let i = 0; i < 3; i++) {
    const power = exactExp(y);
    y += divide(2n * (x - power), x + power);
  }
  return y;
}

function alternating(x: bigint, first: bigint, from: bigint): bigint {
  const square = multiply(x, x);
  let term = first;
  let sum = first;
  for (let n = from; term !== 0n && term !== -1n; n += 2n) {
    term = -multiply(term, square) / (n * (n + 1n));
    sum += term;
  }
  return sum;
}

export const exactSin = (x: bigint): bigint => alternating(x, x, 2n);
export const exactCos = (x: bigint): bigint => alternating(x, ONE, 1n);
export const exactPow = (x: number, y: number): bigint => exactExp(multiply(exactLog(fixed(x), Math.log(x)), fixed(y)));
export const exactLog1p = (x: number): bigint => exactLog(ONE + fixed(x), Math.log1p(x));
export const exactSigmoid = (x: number): bigint => divide(ONE, ONE + exactExp(fixed(-x)));

export function exactTanh(x: number): bigint {
  const square = exactExp(fixed(2 * x));
  return divide(square - ONE, square + ONE);
}

/** |got − truth| in units of the last place of `got`. */
export function ulpError(got: number, truth: bigint): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(got));
  const next = new DataView(new ArrayBuffer(8));
  next.setBigUint64(0, view.getBigUint64(0) + 1n);
  const unit = fixed(next.getFloat64(0)) - fixed(Math.abs(got));
  const off = fixed(got) - truth;
  return Number(((off < 0n ? -off : off) * 1000n) / unit) / 1000;
}
