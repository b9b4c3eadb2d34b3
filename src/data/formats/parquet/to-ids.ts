/** Texts and whole numbers of a Parquet column as ids, many at once. */
import { halvesOf, missingId } from '../../columns/hash.ts';
import { idsOfTexts, idsOfWholes } from '../../kernels/value-ids.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import type { Leaf } from './schema.ts';
import type { Taken } from './taken.ts';
import { mayBeMissing } from './to-numbers.ts';
import type { Numbers, Spans, Values } from './values.ts';

type OfIds = Target & { kind: 'single' | 'group' | 'list' };

const MOST_U32 = 2 ** 32 - 1;

/** Undefined when each value has to be looked at. */
export function idsOf(
  target: OfIds,
  { meaning }: Leaf,
  values: Values,
  plan: ValuePlan,
  isElement: boolean,
): Taken | undefined {
  const buckets = target.kind === 'group' ? undefined : target.column.buckets;
  if (values.kind === 'bytes') {
    const isText = meaning.kind === 'string' || meaning.kind === 'binary';
    return isText ? idsOfSpans(target, values, plan, isElement, buckets) : undefined;
  }
  if (meaning.kind !== 'integer' || (mayBeMissing(plan) && !isElement)) return undefined;
  const wide = wideOf(values);
  if (wide === undefined) return undefined;
  const { seed } = target;
  if (seed !== undefined) return { halves: idsOfWholes(wide, seed, buckets), faults: new Map() };
  const halves = new Uint32Array(wide.buffer, wide.byteOffset, 2 * wide.length);
  // A group is a whole number from 0 to 2^64-2.
  const isFaulty = (high: number, at: number): boolean =>
    values.kind === 'u64' || values.kind === 'u32'
      ? high === MOST_U32 && halves[2 * at] === MOST_U32
      : high > 0x7fff_ffff;
  if (target.kind === 'group') {
    for (let at = 0; at < wide.length; at++) if (isFaulty(halves[2 * at + 1]!, at)) return undefined;
  }
  return { halves, faults: new Map() };
}

function idsOfSpans(
  target: OfIds,
  values: Spans,
  plan: ValuePlan,
  isElement: boolean,
  buckets: number | undefined,
): Taken | undefined {
  const { seed } = target;
  if (seed === undefined) return undefined;
  // Its text has to be divided, or to be a whole number.
  if (target.kind === 'list' && (!isElement || target.column.ids === 'integer')) return undefined;
  const halves = idsOfTexts(values, seed, buckets);
  const empty = target.kind === 'list' ? new Uint8Array(values.starts.length) : undefined;
  const missing = halvesOf(missingId(seed));
  const none: readonly [number, number] = target.kind === 'group' ? [MOST_U32, MOST_U32] : missing;
  for (const at of isElement ? emptySpans(values) : missingSpans(values, plan)) {
    halves.set(none, 2 * at);
    if (empty !== undefined) empty[at] = 1;
  }
  return { halves, faults: new Map(), ...(empty && { empty }) };
}

function* emptySpans({ starts, ends }: Spans): Generator<number> {
  for (let at = 0; at < starts.length; at++) if (starts[at] === ends[at]) yield at;
}

/** Those that are a text of what is missing. */
function* missingSpans({ bytes, starts, ends }: Spans, { missing }: ValuePlan): Generator<number> {
  const lengths = new Set(missing.map(({ length }) => length));
  for (let at = 0; at < starts.length; at++) {
    const [start, end] = [starts[at]!, ends[at]!];
    if (!lengths.has(end - start)) continue;
    const isOne = missing.some(
      (text) => text.length === end - start && text.every((byte, place) => bytes[start + place] === byte),
    );
    if (isOne) yield at;
  }
}

/** In 64 bits each. */
function wideOf(values: Numbers): BigInt64Array | BigUint64Array | undefined {
  switch (values.kind) {
    case 'i64':
    case 'u64':
      return values.array;
    case 'i32': {
      const halves = new Int32Array(2 * values.array.length);
      values.array.forEach((value, at) => {
        halves[2 * at] = value;
        halves[2 * at + 1] = value >> 31;
      });
      return new BigInt64Array(halves.buffer);
    }
    case 'u32': {
      const halves = new Uint32Array(2 * values.array.length);
      values.array.forEach((value, at) => {
        halves[2 * at] = value;
      });
      return new BigUint64Array(halves.buffer);
    }
    default:
      return undefined;
  }
}
