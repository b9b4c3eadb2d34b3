/** Texts and whole numbers of a Parquet column as ids, many at once. */
import { halvesOf, missingId } from '../../columns/hash.ts';
import { idsOfTexts, idsOfWholes } from '../../kernels/value-ids.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import type { Leaf } from './schema.ts';
import type { Taken } from './taken.ts';
import { missingNumbers } from './to-numbers.ts';
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
  // A text that has to be divided, as -5 by a minus sign.
  if (target.kind === 'list' && target.column.type === 'categories' && !isElement && target.column.separator === '-')
    return undefined;
  const missing = isElement ? NO_NUMBERS : missingNumbers(plan);
  if (meaning.kind !== 'integer' || missing === undefined) return undefined;
  const wide = wideOf(values);
  if (wide === undefined) return undefined;
  const { seed } = target;
  const none = [...missingAmong(values, missing)];
  if (seed !== undefined) return withNone(target, idsOfWholes(wide, seed, buckets), none);
  const halves = new Uint32Array(wide.buffer, wide.byteOffset, 2 * wide.length).slice();
  // A group is a whole number from 0 to 2^64-2.
  const isFaulty = (high: number, at: number): boolean =>
    values.kind === 'u64' || values.kind === 'u32'
      ? high === MOST_U32 && halves[2 * at] === MOST_U32
      : high > 0x7fff_ffff;
  if (target.kind === 'group') {
    for (let at = 0; at < wide.length; at++) if (isFaulty(halves[2 * at + 1]!, at)) return undefined;
  }
  return withNone(target, halves, none);
}

const NO_NUMBERS: ReadonlySet<number> = new Set();

function* missingAmong({ array }: Numbers, missing: ReadonlySet<number>): Generator<number> {
  if (missing.size === 0) return;
  for (let at = 0; at < array.length; at++) if (missing.has(Number(array[at]!))) yield at;
}

/** `none`: numbers of the values that mean a missing value. */
function withNone(target: OfIds, halves: Uint32Array, none: Iterable<number>): Taken {
  const empty = target.kind === 'list' ? new Uint8Array(halves.length / 2) : undefined;
  const [low, high] = target.kind === 'single' ? halvesOf(missingId(target.seed)) : NO_GROUP;
  for (const at of none) {
    halves[2 * at] = low;
    halves[2 * at + 1] = high;
    if (empty !== undefined) empty[at] = 1;
  }
  return { halves, faults: new Map(), ...(empty && { empty }) };
}

const NO_GROUP = [MOST_U32, MOST_U32] as const;

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
  const none = isElement ? emptySpans(values) : missingSpans(values, plan);
  return withNone(target, idsOfTexts(values, seed, buckets), none);
}

function* emptySpans({ starts, ends }: Spans): Generator<number> {
  for (let at = 0; at < starts.length; at++) if (starts[at] === ends[at]) yield at;
}

/** Values whose text means a missing value. */
function missingSpans({ bytes, starts, ends }: Spans, { missing }: ValuePlan): number[] {
  const longest = Math.max(-1, ...missing.map(({ length }) => length));
  const none: number[] = [];
  for (let at = 0; at < starts.length; at++) {
    const start = starts[at]!;
    const length = ends[at]! - start;
    if (length > longest) continue;
    const isOne = missing.some(
      (text) => text.length === length && text.every((byte, place) => bytes[start + place] === byte),
    );
    if (isOne) none.push(at);
  }
  return none;
}

/** The whole numbers as 64-bit integers. */
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
