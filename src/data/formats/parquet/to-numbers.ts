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
  const missing = missingNumbers(plan);
  const floats = missing && doublesOf(leaf, values);
  if (missing === undefined || floats === undefined) return undefined;
  if (missing.size > 0 && leaf.meaning.kind !== 'boolean') {
    // The text of a decimal has all of its places: 1.00 is not 1.
    if (leaf.meaning.kind === 'decimal') return undefined;
    for (let at = 0; at < floats.length; at++) if (missing.has(floats[at]!)) floats[at] = Number.NaN;
  }
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

/** The numbers whose texts mean that there is no value; undefined when that is not all that such texts may say. */
export function missingNumbers(plan: ValuePlan): ReadonlySet<number> | undefined {
  const texts = plan.missing.map((text) => textOf(text, 0, text.length)).filter((text) => SPOKEN.test(text));
  const numbers = texts.map(Number);
  // No value has a text that differs from the text of its number.
  const areAll = numbers.every((number, at) => Number.isSafeInteger(number) && String(number) === texts[at]);
  return areAll ? new Set(numbers) : undefined;
}

/** How texts of numbers, truth values and times begin. */
const SPOKEN = /^[-\dItf]/;

/** Whether such a value may be a text of what is missing. */
export const mayBeMissing = ({ missing }: ValuePlan): boolean =>
  missing.some((text) => SPOKEN.test(textOf(text, 0, text.length)));

/** As the decimal text of each value would be read. */
function doublesOf({ meaning }: Leaf, values: Numbers): Float64Array | undefined {
  const doubles = new Float64Array(values.array.length);
  const scale = meaning.kind === 'decimal' ? meaning.scale : 0;
  if (scale > EXACT_POWER) return undefined;
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
