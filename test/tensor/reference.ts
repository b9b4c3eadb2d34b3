/**
 * The tensor core in plain form: one float at a time, rounded to f32 after each operation, rows in a Map. The kernels
 * must give the same bits.
 */

import { mix64 } from '../../src/base/mix64.ts';
import { xavierBound } from '../../src/tensor/initializer.ts';
import { cos, log, sin } from '../../src/tensor/math.ts';
import type { OptimizerSpec } from '../../src/tensor/optimizer.ts';
import { fnv1a64 } from '../../src/tensor/shard-hash.ts';
import type { Initializer } from '../../src/tensor/spec.ts';

const f = Math.fround;
const root = (x: number): number => f(Math.sqrt(x));
const zeroBelow = (bound: number, x: number): number => (Math.abs(x) < bound ? 0 : x);
/** What is kept or passed on. */
export const kept = (x: number): number => zeroBelow(2 ** -100, x);
/** Gradients and first moments, as optimizers use them. */
const felt = (x: number): number => zeroBelow(2 ** -50, x);

/** Values of one row or block with their optimizer state. */
export interface State {
  readonly values: Float32Array;
  /** In the optimizer's order. */
  readonly slots: readonly Float32Array[];
  step: number;
}

/** One after the other. */
export function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((count, { length }) => count + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Words of Philox4x32-10 (Salmon et al. 2011) in exact integer arithmetic. */
export function philoxReference(counter: readonly number[], key: readonly [number, number]): number[] {
  let [c0, c1, c2, c3] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
  let [k0, k1] = key.map(BigInt) as [bigint, bigint];
  const low = (x: bigint): bigint => x & 0xffff_ffffn;
  for (let round = 0; round < 10; round++) {
    const p0 = 0xd251_1f53n * c0;
    const p1 = 0xcd9e_8d57n * c2;
    [c0, c1, c2, c3] = [(p1 >> 32n) ^ c1 ^ k0, low(p1), (p0 >> 32n) ^ c3 ^ k1, low(p0)];
    k0 = low(k0 + 0x9e37_79b9n);
    k1 = low(k1 + 0xbb67_ae85n);
  }
  return [c0, c1, c2, c3].map(Number);
}

interface Position {
  readonly name: string;
  readonly seed: number;
  /** For xavier: the shape, [1, width] for a table. */
  readonly shape: readonly number[];
  /** The row's id, or undefined for a dense parameter. */
  readonly id: bigint | undefined;
  /** Column of the row, or element of the dense parameter. */
  readonly element: number;
}

/** One first value. */
export function initialValue(initializer: Initializer, position: Position): number {
  const { element, id } = position;
  if (initializer.type === 'zeros') return 0;
  if (initializer.type === 'constant') return f(initializer.value);
  const key = mix64(fnv1a64(position.name) ^ mix64(BigInt(position.seed)));
  const group = Math.floor(element / 4);
  const counter = id === undefined ? [group, 0, 0, 2] : [Number(id & 0xffff_ffffn), Number(id >> 32n), group, 1];
  const words = philoxReference(counter, [Number(key & 0xffff_ffffn), Number(key >> 32n)]);
  if (initializer.type === 'normal') {
    const pair = element % 4 < 2 ? 0 : 2;
    const radius = Math.sqrt(-2 * log((words[pair]! + 1) * 2 ** -32));
    const angle = 6.283185307179586 * (words[pair + 1]! * 2 ** -32);
    const wave = element % 2 === 0 ? cos(angle) : sin(angle);
    return f(initializer.mean + initializer.stddev * (radius * wave));
  }
  const bound = xavierBound(position.shape);
  const [low, high] = initializer.type === 'xavier' ? [-bound, bound] : [initializer.low, initializer.high];
  const fraction = (words[element % 4]! >>> 8) * 2 ** -24;
  return f(f(low) + f(fraction * f(high - low)));
}

/** Slots of fresh values, in the optimizer's order. */
export function freshSlots(optimizer: OptimizerSpec, values: Float32Array): Float32Array[] {
  const zeros = (): Float32Array => new Float32Array(values.length);
  switch (optimizer.type) {
    case 'sgd':
      return [];
    case 'momentum':
      return [zeros()];
    case 'adagrad':
      return [zeros().fill(optimizer.initialAccumulator)];
    case 'adam':
    case 'adamw':
      return [zeros(), zeros()];
    case 'ftrl': {
      const scale = f(f(f(optimizer.beta) * f(1 / optimizer.alpha)) + f(optimizer.lambda2));
      const z = values.map((w) => (w === 0 ? 0 : f(-f(f(w * scale) + f(Math.sign(w) * f(optimizer.lambda1))))));
      return [z, zeros()];
    }
  }
}

export function freshState(optimizer: OptimizerSpec, values: Float32Array): State {
  return { values, slots: freshSlots(optimizer, values), step: 0 };
}

function power(base: number, exponent: number): number {
  let result = 1;
  let factor = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= factor;
    factor *= factor;
  }
  return result;
}

type Adam = Extract<OptimizerSpec, { type: 'adam' | 'adamw' }>;
type Ftrl = Extract<OptimizerSpec, { type: 'ftrl' }>;

function adamElement(o: Adam, { values: w, slots, step: t }: State, i: number, gradient: number): void {
  const [m, v] = slots as [Float32Array, Float32Array];
  const decay = o.type === 'adamw' ? f(1 - o.learningRate * o.weightDecay) : 1;
  const g = o.type === 'adam' ? f(gradient + f(f(o.l2) * w[i]!)) : f(gradient + f(0 * w[i]!));
  const stepSize = f(o.learningRate / (1 - power(o.beta1, t)));
  const rootScale = f(1 / Math.sqrt(1 - power(o.beta2, t)));
  m[i] = felt(f(f(f(o.beta1) * m[i]!) + f(f(1 - o.beta1) * g)));
  v[i] = kept(f(f(f(o.beta2) * v[i]!) + f(f(1 - o.beta2) * f(g * g))));
  const change = f(f(stepSize * m[i]!) / f(f(root(v[i]!) * rootScale) + f(o.epsilon)));
  w[i] = f(f(w[i]! * decay) - change);
  if (o.type === 'adamw') w[i] = kept(w[i]!);
}

function ftrlElement(o: Ftrl, { values: w, slots }: State, i: number, gradient: number): void {
  const [z, n] = slots as [Float32Array, Float32Array];
  const inverse = f(1 / o.alpha);
  const g = felt(gradient);
  const sum = f(n[i]! + f(g * g));
  const sigma = f(f(root(sum) - root(n[i]!)) * inverse);
  z[i] = f(f(z[i]! + g) - f(sigma * w[i]!));
  n[i] = sum;
  const over = f(z[i]! - (z[i]! < 0 || Object.is(z[i], -0) ? -f(o.lambda1) : f(o.lambda1)));
  const scale = f(f(f(f(o.beta) + root(sum)) * inverse) + f(o.lambda2));
  w[i] = Math.abs(z[i]!) <= f(o.lambda1) ? 0 : f(-f(over / scale));
}

/** One update by `gradient`. */
export function updateReference(o: OptimizerSpec, state: State, gradient: Float32Array): void {
  const { values: w, slots } = state;
  state.step += 1;
  for (let i = 0; i < w.length; i++) {
    if (o.type === 'adam' || o.type === 'adamw') {
      adamElement(o, state, i, gradient[i]!);
      continue;
    }
    if (o.type === 'ftrl') {
      ftrlElement(o, state, i, gradient[i]!);
      continue;
    }
    const g = f(gradient[i]! + f(f(o.l2) * w[i]!));
    if (o.type === 'sgd') {
      w[i] = f(w[i]! - f(f(o.learningRate) * (f(o.l2) === 0 ? gradient[i]! : felt(g))));
    } else if (o.type === 'momentum') {
      slots[0]![i] = felt(f(f(f(o.momentum) * slots[0]![i]!) + g));
      w[i] = f(w[i]! - f(f(o.learningRate) * slots[0]![i]!));
    } else {
      slots[0]![i] = f(slots[0]![i]! + f(felt(g) * felt(g)));
      w[i] = f(w[i]! - f(f(f(o.learningRate) * felt(g)) / f(root(slots[0]![i]!) + f(o.epsilon))));
    }
  }
}
