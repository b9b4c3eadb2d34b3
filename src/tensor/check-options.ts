/** Refuses specifications that the kernels cannot represent: they may come from a model or a job file. */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { elementCount } from './blocks.ts';
import type { OptimizerSpec } from './optimizer.ts';
import type { Initializer, ParameterSpec } from './spec.ts';

function refuse(message: string): never {
  throw new PaddletError('JobInvalid', message);
}

function check(condition: boolean, message: string): void {
  if (!condition) refuse(message);
}

/** Finite, even after rounding to f32. */
const finite = (value: number): boolean => Number.isFinite(Math.fround(value));
const positive = (value: number): boolean => finite(value) && Math.fround(value) > 0;
const notNegative = (value: number): boolean => finite(value) && value >= 0;
const fraction = (value: number): boolean => value >= 0 && Math.fround(value) < 1;

function checkInitializer(name: string, initializer: Initializer): void {
  switch (initializer.type) {
    case 'zeros':
    case 'xavier':
      return;
    case 'constant':
      check(finite(initializer.value), `${name}: the initializer's value is not a finite number`);
      return;
    case 'uniform':
      check(
        finite(initializer.low) && finite(initializer.high - initializer.low) && initializer.low <= initializer.high,
        `${name}: the initializer's low and high are not a finite range`,
      );
      return;
    case 'normal':
      check(
        finite(initializer.mean) && notNegative(initializer.stddev),
        `${name}: the initializer's mean and stddev are not finite numbers, stddev ≥ 0`,
      );
      return;
    default:
      refuse(`${name}: unknown initializer`);
      return;
  }
}

/** Throws `JobInvalid`, naming the parameter. */
export function checkParameterSpec(spec: ParameterSpec): void {
  const names = new Set<string>();
  check(spec.dense.length + spec.sparse.length <= LIMITS.parameters, `more than ${LIMITS.parameters} parameters`);
  for (const { name, initializer } of [...spec.dense, ...spec.sparse]) {
    const bytes = Buffer.byteLength(name);
    check(bytes > 0 && bytes <= LIMITS.parameterNameBytes, `the name of parameter '${name}' is empty or too long`);
    check(!names.has(name), `two parameters have the name ${name}`);
    names.add(name);
    checkInitializer(name, initializer);
  }
  for (const dense of spec.dense) {
    check(
      dense.shape.every((size) => Number.isSafeInteger(size) && size >= 1) &&
        elementCount(dense) <= LIMITS.denseElements,
      `${dense.name}: shape [${dense.shape.join(', ')}] is not made of positive integers with at most ${LIMITS.denseElements} elements`,
    );
  }
  for (const { name, width } of spec.sparse) {
    check(
      Number.isInteger(width) && width >= 1 && width <= LIMITS.rowWidth,
      `${name}: width ${width} is not between 1 and ${LIMITS.rowWidth}`,
    );
  }
}

/**
 * Throws `JobInvalid`, naming the parameter: settings with which one update could divide by zero or overflow.
 */
export function checkOptimizerSpec(name: string, optimizer: OptimizerSpec): void {
  const say = (what: string): string => `${name}: optimizer ${optimizer.type}: ${what}`;
  if (optimizer.type === 'ftrl') {
    check(positive(optimizer.alpha) && finite(1 / optimizer.alpha), say('alpha must be a positive number'));
    check(notNegative(optimizer.beta), say('beta must be a number ≥ 0'));
    check(notNegative(optimizer.lambda1), say('lambda1 must be a number ≥ 0'));
    check(notNegative(optimizer.lambda2), say('lambda2 must be a number ≥ 0'));
    return;
  }
  check(notNegative(optimizer.learningRate), say('learningRate must be a number ≥ 0'));
  if (optimizer.type !== 'adamw') check(notNegative(optimizer.l2), say('l2 must be a number ≥ 0'));
  switch (optimizer.type) {
    case 'sgd':
      return;
    case 'momentum':
      check(fraction(optimizer.momentum), say('momentum must be in [0, 1)'));
      return;
    case 'adagrad':
      check(notNegative(optimizer.initialAccumulator), say('initialAccumulator must be a number ≥ 0'));
      check(notNegative(optimizer.epsilon), say('epsilon must be a number ≥ 0'));
      check(
        positive(optimizer.epsilon) || positive(optimizer.initialAccumulator),
        say('epsilon and initialAccumulator must not both be 0 in f32'),
      );
      return;
    case 'adam':
    case 'adamw':
      check(fraction(optimizer.beta1), say('beta1 must be in [0, 1)'));
      check(fraction(optimizer.beta2), say('beta2 must be in [0, 1)'));
      check(positive(optimizer.epsilon), say('epsilon must be positive in f32'));
      if (optimizer.type === 'adamw')
        check(notNegative(optimizer.weightDecay), say('weightDecay must be a number ≥ 0'));
      return;
    default:
      refuse(`${name}: unknown optimizer`);
      return;
  }
}

/** Assertions on numbers that come from this program, not from a user. */
export function checkShardCount(shards: number, seed: number): void {
  assert(Number.isInteger(shards) && shards >= 1 && shards <= LIMITS.shards, 'shards is between 1 and its limit');
  assert(Number.isSafeInteger(seed), 'seed is an integer');
}
