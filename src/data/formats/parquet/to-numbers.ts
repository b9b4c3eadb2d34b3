/** Numbers of a Parquet column as numbers, labels or weights of records. */

import { textOf } from '../../ascii.ts';
import { isWeight, labelOf } from '../../labels.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import type { Leaf } from './schema.ts';
import type { Taken } from './taken.ts';
import type { Numbers, Values } from './values.ts';

/** Whole numbers up to here, and powers of ten, that are exact in f64. */
const EXACT_WHOLE = 2n ** 53n;
const EXACT_POWER = 22;

/** Undefined when a value may be missing by its text, or is faulty: then each is looked at. */
export function numbersOf(
  target: Target & { kind: 'number' | 'label' | 'weight' },
  leaf: Leaf,
  values: Values,
  plan: ValuePlan,
): Taken | undefined {
  if (values.kind === 'bytes' || (target.kind === 'label' && target.texts !== undefined)) return undefined;
  if (mayBeMissing(plan)) return undefined;
  const floats = doublesOf(leaf, values);
  if (floats === undefined) return undefined;
  const taken = new Float32Array(floats);
  for (let at = 0; at < taken.length; at++) {
    const value = floats[at]!;
    if (target.kind === 'number') {
      const isGood = Number.isFinite(taken[at]!) || (Number.isNaN(value) && target.column.missing !== 'error');
      if (!isGood) return undefined;
    } else if (target.kind === 'label') {
      taken[at] = labelOf(plan.labels, value);
      if (Number.isNaN(taken[at]!)) return undefined;
    } else if (!isWeight(value)) return undefined;
  }
  return { floats: taken, faults: new Map() };
}

/** Whether a number or a truth value may be a text of what is missing. */
export const mayBeMissing = ({ missing }: ValuePlan): boolean =>
  missing.some((text) => /^[-\dItf]/.test(textOf(text, 0, text.length)));

/** As the decimal text of each value would be read. */
function doublesOf({ meaning }: Leaf, values: Numbers): Float64Array | undefined {
  const doubles = new Float64Array(values.array.length);
  const scale = meaning.kind === 'decimal' ? meaning.scale : 0;
  if (scale < 0 || scale > EXACT_POWER) return undefined;
  const power = 10 ** scale;
  if (values.kind === 'i64' || values.kind === 'u64') {
    const { array } = values;
    for (let at = 0; at < array.length; at++) {
      const whole = array[at]!;
      if (scale > 0 && (whole > EXACT_WHOLE || whole < -EXACT_WHOLE)) return undefined;
      doubles[at] = scale > 0 ? Number(whole) / power : Number(whole);
    }
    return doubles;
  }
  const { array } = values;
  for (let at = 0; at < array.length; at++) doubles[at] = scale > 0 ? array[at]! / power : array[at]!;
  return doubles;
}
