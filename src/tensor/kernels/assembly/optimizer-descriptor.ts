// Making the descriptor of an optimizer. Each function returns its address, 0 when there is no room.

import { allocate } from './memory';
import {
  ADAGRAD,
  ADAM,
  ADAMW,
  COUNTER,
  FTRL,
  MOMENTUM,
  O_BETA1,
  O_BETA2,
  O_EPSILON,
  O_FTRL_BETA,
  O_FULL_RATE,
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
  O_SIZE,
  O_SLOTS,
  O_STEPS,
  O_WEIGHT_DECAY,
  SGD,
} from './optimizer-layout';

function create(kind: u32, slots: u32, countsSteps: bool, rate: f64, weightDecay: f64): u32 {
  const o = allocate(O_SIZE);
  if (o == 0) return 0;
  memory.fill(o, 0, O_SIZE);
  store<u32>(o, kind, O_KIND);
  store<u32>(o, slots, O_SLOTS);
  store<u32>(o, <u32>countsSteps, O_STEPS);
  store<f64>(o, rate, O_FULL_RATE);
  store<f64>(o, weightDecay, O_WEIGHT_DECAY);
  scaleRate(o, 1);
  return o;
}

/** Multiplies the learning rate until the next call. FTRL has none. */
export function scaleRate(o: usize, scale: f64): void {
  const learningRate = load<f64>(o, O_FULL_RATE) * scale;
  store<f64>(o, learningRate, O_LEARNING_RATE);
  store<f32>(o, <f32>learningRate, O_RATE);
  store<f32>(o, <f32>(1.0 - learningRate * load<f64>(o, O_WEIGHT_DECAY)), O_KEEP);
}

export function createSgd(rate: f64, l2: f64): u32 {
  const o = create(SGD, 0, false, rate, 0);
  if (o != 0) store<f32>(o, <f32>l2, O_L2);
  return o;
}

export function createMomentum(rate: f64, momentum: f64, l2: f64): u32 {
  const o = create(MOMENTUM, 1, false, rate, 0);
  if (o == 0) return 0;
  store<f32>(o, <f32>momentum, O_MOMENTUM);
  store<f32>(o, <f32>l2, O_L2);
  return o;
}

export function createAdagrad(rate: f64, initialAccumulator: f64, epsilon: f64, l2: f64): u32 {
  const o = create(ADAGRAD, 1, false, rate, 0);
  if (o == 0) return 0;
  store<f32>(o, <f32>initialAccumulator, O_INITIAL_ACCUMULATOR);
  store<f32>(o, <f32>epsilon, O_EPSILON);
  store<f32>(o, <f32>l2, O_L2);
  return o;
}

export function createAdam(rate: f64, beta1: f64, beta2: f64, epsilon: f64, l2: f64): u32 {
  const o = create(ADAM, 2, true, rate, 0);
  if (o == 0) return 0;
  setMoments(o, beta1, beta2, epsilon);
  store<f32>(o, <f32>l2, O_L2);
  return o;
}

export function createAdamw(rate: f64, beta1: f64, beta2: f64, epsilon: f64, weightDecay: f64): u32 {
  const o = create(ADAMW, 2, true, rate, weightDecay);
  if (o != 0) setMoments(o, beta1, beta2, epsilon);
  return o;
}

/** An optimizer that only counts updates, for candidates (admission.ts). */
export function createCounter(): u32 {
  return create(COUNTER, 0, true, 0, 0);
}

function setMoments(o: u32, beta1: f64, beta2: f64, epsilon: f64): void {
  store<f64>(o, beta1, O_BETA1);
  store<f64>(o, beta2, O_BETA2);
  store<f32>(o, <f32>epsilon, O_EPSILON);
}

export function createFtrl(alpha: f64, beta: f64, lambda1: f64, lambda2: f64): u32 {
  const o = create(FTRL, 2, false, 0, 0);
  if (o == 0) return 0;
  store<f32>(o, <f32>(1.0 / alpha), O_INVERSE_ALPHA);
  store<f32>(o, <f32>beta, O_FTRL_BETA);
  store<f32>(o, <f32>lambda1, O_LAMBDA1);
  store<f32>(o, <f32>lambda2, O_LAMBDA2);
  return o;
}
