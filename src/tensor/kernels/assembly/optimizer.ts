// Optimizers over a span of n floats: values, then its slots of n floats each, as rows and blocks lay them out. All in
// f32 except the step sizes of Adam. Four at a time and, for the tail, one at a time, in the same operations in the
// same order: test/tensor/reference.ts has them in plain form. Gradients and moments that are tiny become 0 (tiny.ts).
// Values need no such rule but where AdamW shrinks them: any other value is a sum of steps, each a rate times a
// gradient or moment that is not tiny.
//
// Each table and dense parameter has an optimizer of its own, a descriptor in memory (optimizer-layout.ts) whose
// address every function takes as `o`. Each loop reads what it needs of it beforehand: for all that the engine knows, a
// store may change it.

import {
  ADAGRAD,
  ADAM,
  ADAMW,
  FTRL,
  MOMENTUM,
  O_BETA1,
  O_BETA2,
  O_EPSILON,
  O_FTRL_BETA,
  O_INITIAL_ACCUMULATOR,
  O_INVERSE_ALPHA,
  O_KEEP,
  O_KIND,
  O_L2,
  O_LAMBDA1,
  O_LAMBDA2,
  O_LEARNING_RATE,
  O_MOMENTUM,
  O_RATE,
  O_SLOTS,
  O_STEPS,
  SGD,
} from './optimizer-layout';
import { dropTiny, TINY, TINY_GRADIENT, tinyKept, tinyGradients, zeroBelow, zeroBelow4 } from './tiny';

/** Slots of n floats that follow the values. */
@inline export function slotCount(o: usize): u32 {
  return load<u32>(o, O_SLOTS);
}

/** Whether rows and blocks count their updates. */
@inline export function countsSteps(o: usize): bool {
  return load<u32>(o, O_STEPS) != 0;
}

/** Sets the slots of fresh values. */
export function startSlots(o: usize, values: usize, n: u32): void {
  const slots = slotCount(o);
  if (slots == 0) return;
  const bytes = n << 2;
  const first = values + bytes;
  const kind = load<u32>(o, O_KIND);
  if (kind == ADAGRAD) {
    const initial = load<f32>(o, O_INITIAL_ACCUMULATOR);
    for (let i: u32 = 0; i < n; i++) store<f32>(first + (i << 2), initial);
    return;
  }
  memory.fill(first, 0, slots * bytes);
  if (kind == FTRL) startFtrl(o, values, first, n);
}

/**
 * FTRL derives the value from z. A value that starts away from 0 gets the z that gives it, so that the initializer
 * counts; the paper's start (value 0, z 0) is the special case.
 */
function startFtrl(o: usize, values: usize, z: usize, n: u32): void {
  const scale = load<f32>(o, O_FTRL_BETA) * load<f32>(o, O_INVERSE_ALPHA) + load<f32>(o, O_LAMBDA2);
  const lambda1 = load<f32>(o, O_LAMBDA1);
  for (let i: u32 = 0; i < n; i++) {
    const value = load<f32>(values + (i << 2));
    if (value != 0) store<f32>(z + (i << 2), -(value * scale + copysign<f32>(lambda1, value)));
  }
}

/**
 * One update of n values at `w` and their slots by the gradient at `g`; `step` holds the count of updates, if they
 * count.
 */
export function update(o: usize, w: usize, g: usize, n: u32, step: usize): void {
  switch (load<u32>(o, O_KIND)) {
    case SGD:
      if (load<f32>(o, O_L2) == 0) sgd(o, w, g, n);
      else sgdWithL2(o, w, g, n);
      break;
    case MOMENTUM:
      heavyBall(o, w, g, n);
      break;
    case ADAGRAD:
      adagrad(o, w, g, n);
      break;
    case ADAM:
      adam(o, w, g, n, step);
      break;
    case ADAMW:
      adam(o, w, g, n, step);
      dropTiny(n, w);
      break;
    default:
      ftrl(o, w, g, n);
  }
}

/** Without L2 a tiny gradient changes nothing that could become tiny. */
@inline function sgd(o: usize, w: usize, g: usize, n: u32): void {
  const rate = load<f32>(o, O_RATE);
  const rates = f32x4.splat(rate);
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const at = w + (i << 2);
    v128.store(at, f32x4.sub(v128.load(at), f32x4.mul(rates, v128.load(g + (i << 2)))));
  }
  for (; i < n; i++) {
    const at = w + (i << 2);
    store<f32>(at, load<f32>(at) - rate * load<f32>(g + (i << 2)));
  }
}

@inline function sgdWithL2(o: usize, w: usize, g: usize, n: u32): void {
  const rate = load<f32>(o, O_RATE);
  const l2 = load<f32>(o, O_L2);
  const rates = f32x4.splat(rate);
  const l2s = f32x4.splat(l2);
  const least = tinyGradients();
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const at = w + (i << 2);
    const value = v128.load(at);
    const gradient = zeroBelow4(f32x4.add(v128.load(g + (i << 2)), f32x4.mul(l2s, value)), least);
    v128.store(at, f32x4.sub(value, f32x4.mul(rates, gradient)));
  }
  for (; i < n; i++) {
    const at = w + (i << 2);
    const value = load<f32>(at);
    const gradient = zeroBelow(load<f32>(g + (i << 2)) + l2 * value, TINY_GRADIENT);
    store<f32>(at, value - rate * gradient);
  }
}

/**
 * Polyak 1964 in the form of PyTorch and Paddle: velocity = momentum × velocity + gradient; value −= rate × velocity.
 */
@inline function heavyBall(o: usize, w: usize, g: usize, n: u32): void {
  const rate = load<f32>(o, O_RATE);
  const l2 = load<f32>(o, O_L2);
  const momentum = load<f32>(o, O_MOMENTUM);
  const rates = f32x4.splat(rate);
  const l2s = f32x4.splat(l2);
  const least = tinyGradients();
  const momenta = f32x4.splat(momentum);
  const slot = n << 2;
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const at = w + (i << 2);
    const value = v128.load(at);
    const gradient = f32x4.add(v128.load(g + (i << 2)), f32x4.mul(l2s, value));
    const velocity = zeroBelow4(f32x4.add(f32x4.mul(momenta, v128.load(at + slot)), gradient), least);
    v128.store(at + slot, velocity);
    v128.store(at, f32x4.sub(value, f32x4.mul(rates, velocity)));
  }
  for (; i < n; i++) {
    const at = w + (i << 2);
    const value = load<f32>(at);
    const gradient = load<f32>(g + (i << 2)) + l2 * value;
    const velocity = zeroBelow(momentum * load<f32>(at + slot) + gradient, TINY_GRADIENT);
    store<f32>(at + slot, velocity);
    store<f32>(at, value - rate * velocity);
  }
}

/** Duchi, Hazan & Singer 2011: accumulator += gradient²; value −= rate × gradient / (√accumulator + ε). */
@inline function adagrad(o: usize, w: usize, g: usize, n: u32): void {
  const rate = load<f32>(o, O_RATE);
  const l2 = load<f32>(o, O_L2);
  const epsilon = load<f32>(o, O_EPSILON);
  const rates = f32x4.splat(rate);
  const l2s = f32x4.splat(l2);
  const least = tinyGradients();
  const epsilons = f32x4.splat(epsilon);
  const slot = n << 2;
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const at = w + (i << 2);
    const value = v128.load(at);
    const gradient = zeroBelow4(f32x4.add(v128.load(g + (i << 2)), f32x4.mul(l2s, value)), least);
    const sum = f32x4.add(v128.load(at + slot), f32x4.mul(gradient, gradient));
    v128.store(at + slot, sum);
    const change = f32x4.div(f32x4.mul(rates, gradient), f32x4.add(f32x4.sqrt(sum), epsilons));
    v128.store(at, f32x4.sub(value, change));
  }
  for (; i < n; i++) {
    const at = w + (i << 2);
    const value = load<f32>(at);
    const gradient = zeroBelow(load<f32>(g + (i << 2)) + l2 * value, TINY_GRADIENT);
    const sum = load<f32>(at + slot) + gradient * gradient;
    store<f32>(at + slot, sum);
    store<f32>(at, value - (rate * gradient) / (sqrt<f32>(sum) + epsilon));
  }
}

/** base^exponent by squaring: multiplications only, in an order that the exponent fixes. */
function power(base: f64, exponent: u32): f64 {
  let result = 1.0;
  let factor = base;
  for (let left = exponent; left != 0; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return result;
}

/**
 * Kingma & Ba 2015 with bias correction, in the form of its section 2: the corrections of both moments go into the step
 * size and into the root. AdamW (Loshchilov & Hutter 2019) first shrinks the value by rate × weight decay; `keep` is 1
 * in Adam.
 */
@inline function adam(o: usize, w: usize, g: usize, n: u32, step: usize): void {
  const learningRate = load<f64>(o, O_LEARNING_RATE);
  const beta1 = load<f64>(o, O_BETA1);
  const beta2 = load<f64>(o, O_BETA2);
  const l2 = load<f32>(o, O_L2);
  const epsilon = load<f32>(o, O_EPSILON);
  const keep = load<f32>(o, O_KEEP);
  const count = load<u32>(step);
  const t = count + <u32>(count != u32.MAX_VALUE);
  store<u32>(step, t);
  const stepSize = <f32>(learningRate / (1.0 - power(beta1, t)));
  const rootScale = <f32>(1.0 / sqrt<f64>(1.0 - power(beta2, t)));
  const b1 = <f32>beta1;
  const b2 = <f32>beta2;
  const a1 = <f32>(1.0 - beta1);
  const a2 = <f32>(1.0 - beta2);
  // Filled outside of the loop by hand: the engine would fill the vectors again in each turn.
  const l2s = f32x4.splat(l2);
  const least = tinyGradients();
  const tiny = tinyKept();
  const b1s = f32x4.splat(b1);
  const b2s = f32x4.splat(b2);
  const a1s = f32x4.splat(a1);
  const a2s = f32x4.splat(a2);
  const rootScales = f32x4.splat(rootScale);
  const epsilons = f32x4.splat(epsilon);
  const stepSizes = f32x4.splat(stepSize);
  const keeps = f32x4.splat(keep);
  const slot = n << 2;
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const at = w + (i << 2);
    const value = v128.load(at);
    const gradient = f32x4.add(v128.load(g + (i << 2)), f32x4.mul(l2s, value));
    const m = zeroBelow4(f32x4.add(f32x4.mul(b1s, v128.load(at + slot)), f32x4.mul(a1s, gradient)), least);
    const square = f32x4.mul(gradient, gradient);
    const v = zeroBelow4(f32x4.add(f32x4.mul(b2s, v128.load(at + 2 * slot)), f32x4.mul(a2s, square)), tiny);
    v128.store(at + slot, m);
    v128.store(at + 2 * slot, v);
    const root = f32x4.add(f32x4.mul(f32x4.sqrt(v), rootScales), epsilons);
    const change = f32x4.div(f32x4.mul(stepSizes, m), root);
    v128.store(at, f32x4.sub(f32x4.mul(value, keeps), change));
  }
  for (; i < n; i++) {
    const at = w + (i << 2);
    const value = load<f32>(at);
    const gradient = load<f32>(g + (i << 2)) + l2 * value;
    const m = zeroBelow(b1 * load<f32>(at + slot) + a1 * gradient, TINY_GRADIENT);
    const v = zeroBelow(b2 * load<f32>(at + 2 * slot) + a2 * (gradient * gradient), TINY);
    store<f32>(at + slot, m);
    store<f32>(at + 2 * slot, v);
    store<f32>(at, value * keep - (stepSize * m) / (sqrt<f32>(v) * rootScale + epsilon));
  }
}

/**
 * FTRL-proximal (McMahan et al. 2013, algorithm 1): σ = (√(n + g²) − √n) / α; z += g − σ w; n += g²;
 * w = 0 where |z| ≤ λ1, else −(z − sign(z) λ1) / ((β + √n) / α + λ2). Slots: z, then n.
 */
@inline function ftrl(o: usize, w: usize, g: usize, count: u32): void {
  const inverseAlpha = load<f32>(o, O_INVERSE_ALPHA);
  const lambda1 = load<f32>(o, O_LAMBDA1);
  const ftrlBeta = load<f32>(o, O_FTRL_BETA);
  const lambda2 = load<f32>(o, O_LAMBDA2);
  const inverse = f32x4.splat(inverseAlpha);
  const threshold = f32x4.splat(lambda1);
  const betas = f32x4.splat(ftrlBeta);
  const lambda2s = f32x4.splat(lambda2);
  const signBit = i32x4.splat(0x80000000);
  const least = tinyGradients();
  const slot = count << 2;
  let i: u32 = 0;
  for (; i + 4 <= count; i += 4) {
    const at = w + (i << 2);
    const gradient = zeroBelow4(v128.load(g + (i << 2)), least);
    const n0 = v128.load(at + 2 * slot);
    const n1 = f32x4.add(n0, f32x4.mul(gradient, gradient));
    const root = f32x4.sqrt(n1);
    const sigma = f32x4.mul(f32x4.sub(root, f32x4.sqrt(n0)), inverse);
    const z = f32x4.sub(f32x4.add(v128.load(at + slot), gradient), f32x4.mul(sigma, v128.load(at)));
    v128.store(at + slot, z);
    v128.store(at + 2 * slot, n1);
    const over = f32x4.sub(z, v128.bitselect(z, threshold, signBit));
    const scale = f32x4.add(f32x4.mul(f32x4.add(betas, root), inverse), lambda2s);
    const value = f32x4.neg(f32x4.div(over, scale));
    v128.store(at, v128.andnot(value, f32x4.le(f32x4.abs(z), threshold)));
  }
  for (; i < count; i++) {
    const at = w + (i << 2);
    const gradient = zeroBelow(load<f32>(g + (i << 2)), TINY_GRADIENT);
    const n0 = load<f32>(at + 2 * slot);
    const n1 = n0 + gradient * gradient;
    const root = sqrt<f32>(n1);
    const sigma = (root - sqrt<f32>(n0)) * inverseAlpha;
    const z = load<f32>(at + slot) + gradient - sigma * load<f32>(at);
    store<f32>(at + slot, z);
    store<f32>(at + 2 * slot, n1);
    const over = z - copysign<f32>(lambda1, z);
    const value = -(over / ((ftrlBeta + root) * inverseAlpha + lambda2));
    store<f32>(at, abs<f32>(z) <= lambda1 ? 0 : value);
  }
}
