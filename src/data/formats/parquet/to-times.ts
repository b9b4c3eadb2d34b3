/** Values of a Parquet column as times of records: ms since 1970 in UTC; what is finer is cut off. */
import { FIRST_MS, LAST_MS } from '../../columns/time.ts';
import { Times } from '../../columns/times.ts';
import type { Target, ValuePlan } from '../text/plan.ts';
import { textsOf } from './canonical.ts';
import type { Leaf } from './schema.ts';
import type { Taken } from './taken.ts';
import { mayBeMissing } from './to-numbers.ts';
import { countOf, type Values } from './values.ts';

const DAY_MS = 86_400_000;
const PER_MS = { ms: 1n, us: 1000n, ns: 1_000_000n } as const;

export function timesOf(target: Target & { kind: 'text' }, leaf: Leaf, values: Values, plan: ValuePlan): Taken {
  return (mayBeMissing(plan) ? undefined : instantsOf(target, leaf, values)) ?? byText(target, leaf, values, plan);
}

/** Times of timestamps and dates that state an instant; undefined for other values. */
function instantsOf({ column }: Target & { kind: 'text' }, { meaning }: Leaf, values: Values): Taken | undefined {
  const isInstant = (meaning.kind === 'timestamp' && meaning.isUtc) || column.zone === 'UTC';
  if (!isInstant || values.kind === 'bytes') return undefined;
  const { array } = values;
  const floats = new Float64Array(array.length);
  if (meaning.kind === 'date') {
    for (let at = 0; at < array.length; at++) floats[at] = DAY_MS * Number(array[at]!);
  } else if (meaning.kind === 'timestamp' && (values.kind === 'i64' || values.kind === 'u64')) {
    const perMs = PER_MS[meaning.unit];
    for (let at = 0; at < floats.length; at++) {
      const value = values.array[at]!;
      const rest = value % perMs;
      floats[at] = Number((value - (rest < 0n ? rest + perMs : rest)) / perMs);
    }
  } else return undefined;
  return floats.every((ms) => ms >= FIRST_MS && ms <= LAST_MS) ? { floats, faults: new Map() } : undefined;
}

/** As the times of CSV, by the format of the column; timestamps and dates by ISO 8601, whatever that is. */
function byText({ column, slot }: Target & { kind: 'text' }, leaf: Leaf, values: Values, plan: ValuePlan): Taken {
  const count = countOf(values);
  const textAt = textsOf(leaf, values);
  const [starts, ends] = [new Uint32Array(count), new Uint32Array(count)];
  const parts: Uint8Array[] = [];
  let end = 0;
  for (let at = 0; at < count; at++) {
    starts[at] = end;
    const text = textAt(at);
    const isMissing = text === undefined || plan.missing.some((missing) => Buffer.compare(missing, text) === 0);
    if (!isMissing) {
      parts.push(text);
      end += text.length;
    }
    ends[at] = end;
  }
  const read = { records: count, texts: [{ starts, ends }], bytes: Buffer.concat(parts) };
  const isOwn = leaf.meaning.kind === 'timestamp' || leaf.meaning.kind === 'date';
  const times = isOwn ? new Times({ ...column, format: 'iso' }, slot, { decimal: '.' }) : plan.times!;
  const floats = times.of(read);
  const faults = new Map<number, string>();
  floats.forEach((ms, at) => {
    if (Number.isNaN(ms)) faults.set(at, times.faultOf(read, at));
  });
  return { floats, faults };
}
