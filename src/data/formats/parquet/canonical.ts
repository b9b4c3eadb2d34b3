/** The text of a value (docs/data.md): what has the same value has the same text in CSV, JSON lines and Parquet. */
import { unscaledOf } from './refined.ts';
import type { Leaf, TimeUnit } from './schema.ts';
import type { Values } from './values.ts';

/** The text of a value; undefined for a float that is NaN, which means a missing value. */
export type TextAt = (at: number) => Uint8Array | undefined;

const PER_SECOND: Readonly<Record<TimeUnit, bigint>> = { ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n };
const DECIMALS: Readonly<Record<TimeUnit, number>> = { ms: 3, us: 6, ns: 9 };
const DAY_MS = 86_400_000;
/** Maximum number of digits that an f32 needs. */
const F32_DIGITS = 9;

export function textsOf({ meaning }: Leaf, values: Values): TextAt {
  if (values.kind === 'bytes') {
    const { bytes, starts, ends } = values;
    const at = (value: number): Uint8Array => bytes.subarray(starts[value], ends[value]);
    if (meaning.kind === 'uuid') return (value) => Buffer.from(uuidText(at(value)));
    if (meaning.kind === 'decimal') return (value) => Buffer.from(decimalText(unscaledOf(at(value)), meaning.scale));
    return at;
  }
  const { array } = values;
  const asText =
    (textOf: (value: number | bigint) => string): TextAt =>
    (at) =>
      Buffer.from(textOf(array[at]!));
  switch (meaning.kind) {
    case 'boolean':
      return asText((value) => (Number(value) === 0 ? 'false' : 'true'));
    case 'decimal':
      return asText((value) => decimalText(BigInt(value), meaning.scale));
    case 'timestamp':
      return asText((value) => timestampText(BigInt(value), meaning.unit, meaning.isUtc));
    case 'time':
      return asText((value) => clockText(BigInt(value), meaning.unit));
    case 'date':
      return asText((value) => dayText(Number(value)));
    case 'float':
      return (at) => {
        const value = Number(array[at]!);
        if (Number.isNaN(value)) return undefined;
        return Buffer.from(floatText(values.kind === 'f32' ? shortest(value) : value));
      };
    default:
      return asText(String);
  }
}

/** A whole number is written with all its digits. */
const floatText = (value: number): string => (Number.isInteger(value) ? String(BigInt(value)) : String(value));

/** The number of fewest digits that is the same f32. */
function shortest(value: number): number {
  for (let digits = 1; digits < F32_DIGITS; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return rounded;
  }
  return Number(value.toPrecision(F32_DIGITS));
}

/** With its point: 1234 of scale 2 is 12.34. */
function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return String(unscaled);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Years that ISO 8601 has four digits for; others have a sign and six, as in ECMAScript. */
function dayText(days: number): string {
  const date = new Date(days * DAY_MS);
  return Number.isNaN(date.getTime()) ? `day ${days}` : date.toISOString().slice(0, -14);
}

/** Decimals of a second only as far as they are not 0. */
function timestampText(value: bigint, unit: TimeUnit, isUtc: boolean): string {
  const perDay = 86_400n * PER_SECOND[unit];
  const ofDay = ((value % perDay) + perDay) % perDay;
  return `${dayText(Number((value - ofDay) / perDay))}T${clockText(ofDay, unit)}${isUtc ? 'Z' : ''}`;
}

function clockText(value: bigint, unit: TimeUnit): string {
  const [seconds, rest] = [Number(value / PER_SECOND[unit]), value % PER_SECOND[unit]];
  const two = (number: number): string => String(number).padStart(2, '0');
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return rest === 0n ? clock : `${clock}.${String(rest).padStart(DECIMALS[unit], '0').replace(/0+$/, '')}`;
}

function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
