// Elementary functions in f64. They rest on AssemblyScript's own library (musl's algorithms), which is compiled into
// this module: additions, multiplications, divisions, square roots and bit operations in a fixed order, so that the
// result is the same on every machine and under every version of the JavaScript engine. `Math.exp` of JavaScript is
// not.

export function exp(x: f64): f64 {
  return NativeMath.exp(x);
}

export function log(x: f64): f64 {
  return NativeMath.log(x);
}

export function log1p(x: f64): f64 {
  return NativeMath.log1p(x);
}

export function pow(x: f64, y: f64): f64 {
  return NativeMath.pow(x, y);
}

export function sin(x: f64): f64 {
  return NativeMath.sin(x);
}

export function cos(x: f64): f64 {
  return NativeMath.cos(x);
}

export function tanh(x: f64): f64 {
  return NativeMath.tanh(x);
}

/** 1 / (1 + e^-x), written so that neither side overflows. */
export function sigmoid(x: f64): f64 {
  if (x >= 0) return 1.0 / (1.0 + NativeMath.exp(-x));
  const e = NativeMath.exp(x);
  return e / (1.0 + e);
}
