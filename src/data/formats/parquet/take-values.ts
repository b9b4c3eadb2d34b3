/** The values of a Parquet column as a job wants them, each value once: what many records share is made once. */
import type { Target, ValuePlan } from '../text/plan.ts';
import { RecordValues } from '../text/values.ts';
import { textsOf } from './canonical.ts';
import type { Leaf } from './schema.ts';
import type { Taken } from './taken.ts';
import { idsOf } from './to-ids.ts';
import { numbersOf } from './to-numbers.ts';
import { timesOf } from './to-times.ts';
import { countOf, type Values } from './values.ts';

/** `isElement`: the values are those of lists of the file, which are not divided. */
export function takenOf(target: Target, leaf: Leaf, values: Values, plan: ValuePlan, isElement: boolean): Taken {
  return fastTaken(target, leaf, values, plan, isElement) ?? slowTaken(target, leaf, values, plan, isElement);
}

/** Undefined when a value needs to be looked at as a text. */
function fastTaken(target: Target, leaf: Leaf, values: Values, plan: ValuePlan, isElement: boolean): Taken | undefined {
  switch (target.kind) {
    case 'number':
    case 'label':
    case 'weight':
      return numbersOf(target, leaf, values, plan);
    case 'single':
    case 'group':
    case 'list':
      return idsOf(target, leaf, values, plan, isElement);
    case 'text':
      return timesOf(target, leaf, values, plan);
  }
}

/** Value by value, by its text: the plain form. */
function slowTaken(target: Target, leaf: Leaf, values: Values, plan: ValuePlan, isElement: boolean): Taken {
  const textAt = textsOf(leaf, values);
  const count = countOf(values);
  const reader = new RecordValues(plan);
  const { record } = reader;
  const faults = new Map<number, string>();
  const floats = new Float32Array(count);
  const halves = new Uint32Array(2 * count);
  const lists: number[][] = [];
  const isNumeric = target.kind === 'number' || target.kind === 'weight' || target.kind === 'label';
  for (let at = 0; at < count; at++) {
    reader.begin();
    const text = textAt(at);
    const reason = ((): string | undefined => {
      if (text === undefined) return isElement ? undefined : reader.takeNone(target);
      if (isElement && target.kind === 'list') return reader.takeList(target, [text]);
      if (reader.isMissing(text, 0, text.length)) return reader.takeNone(target);
      return reader.takePresent(target, (isNumeric ? numberText(target, values, at) : undefined) ?? text);
    })();
    if (reason !== undefined) faults.set(at, reason);
    if (target.kind === 'number') floats[at] = record.numbers[target.slot]!;
    else if (target.kind === 'label') floats[at] = record.label;
    else if (target.kind === 'weight') floats[at] = record.weight;
    else if (target.kind === 'group') halves.set([record.groupLow, record.groupHigh], 2 * at);
    else if (target.kind === 'single') halves.set(record.single.subarray(2 * target.slot, 2 * target.slot + 2), 2 * at);
    else if (target.kind === 'list') lists.push(record.lists[target.slot]!.slice());
  }
  return target.kind === 'list' ? { lists, faults } : { floats, halves, faults };
}

/** Truth is 1, unless a label goes by texts; -0 stays what it is. */
function numberText(target: Target, values: Values, at: number): Uint8Array | undefined {
  if (target.kind === 'label' && target.texts !== undefined) return undefined;
  if (values.kind === 'bool') return Buffer.from(values.array[at] === 0 ? '0' : '1');
  return values.kind !== 'bytes' && Object.is(values.array[at], -0) ? Buffer.from('-0') : undefined;
}
