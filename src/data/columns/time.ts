/**
 * Times as texts, read from bytes: ms since 1970 in UTC, whole; what is finer is cut off.
 * Years are 0000 to 9999, the calendar is the Gregorian one, also before it was introduced.
 */
import type { Dialect, TimeColumn } from './column.ts';
import { patternFault, patternOf } from './time-pattern.ts';
import { type Zone, zoneOf } from './time-zone.ts';

export const TIME_FORMATS = ['iso', 'unix', 'unixMs'] as const;

/** One of these, or a pattern. */
export const isTimeFormat = (format: string): boolean =>
  TIME_FORMATS.some((name) => name === format) || patternFault(format) === undefined;

/** The time in bytes [from, to); NaN when there is none. */
export type ReadTime = (bytes: Uint8Array, from: number, to: number) => number;

const DAY_MS = 86_400_000;
/** First and last millisecond of the years 0000 to 9999. */
export const FIRST_MS = -62_167_219_200_000;
export const LAST_MS = 253_402_300_799_999;
/** Bytes of year, month and day. */
const DATE_BYTES = 10;
/** Bytes of T or a blank, hours and minutes. */
const CLOCK_BYTES = 6;
const SECOND_BYTES = 3;
/** As in java.time. */
const MOST_OFFSET_MS = 18 * 3_600_000;
/** Whatever digits are put before it or behind it, the number is below 0. */
const NO_DIGIT = -1_000_000;
/** No day and no time of a day: parts are whole numbers of 31 bits, which cost nothing to pass. */
const NONE = -1_000_000_000;

const SPACE = 32;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const COLON = 58;
const T = 84;
const Z = 90;

export function timeReader(
  { format, zone }: Pick<TimeColumn, 'format' | 'zone'>,
  { decimal }: Pick<Dialect, 'decimal'>,
): ReadTime {
  const point = decimal === ',' ? COMMA : POINT;
  switch (format) {
    case 'iso':
      return isoReader(zoneOf(zone));
    case 'unix':
      return (bytes, from, to) => unixTime(bytes, from, to, point, 3);
    case 'unixMs':
      return (bytes, from, to) => unixTime(bytes, from, to, point, 0);
    default:
      return patternReader(format, zoneOf(zone));
  }
}

/** For messages: what a time has to be. */
export function expectedTime({ format }: Pick<TimeColumn, 'format'>): string {
  switch (format) {
    case 'iso':
      return 'a time such as 2024-12-31, 2024-12-31T23:59:59.999 or 2024-12-31T23:59:59Z';
    case 'unix':
      return 'seconds since 1970, of the years 0000 to 9999';
    case 'unixMs':
      return 'milliseconds since 1970, of the years 0000 to 9999';
    default:
      return `a time of the form ${format}`;
  }
}

/** Two digits as a number; below 0 when there are others. */
function two(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 48;
  const ones = bytes[at + 1]! - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : NO_DIGIT;
}

/** Days of a year before each of its months, 0-based. */
const BEFORE_MONTH = Int32Array.of(0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365);
/** Days before the year 1970, counted as below. */
const EPOCH_DAYS = 865_259;

/** Days since 1970; `NONE` when there is no such day. */
function daysOf(year: number, month: number, day: number): number {
  if (year < 0 || month < 1 || month > 12 || day < 1) return NONE;
  const isLeap = (year & 3) === 0 && (year % 100 !== 0 || year % 400 === 0);
  const before = BEFORE_MONTH[month - 1]!;
  const length = BEFORE_MONTH[month]! - before + (isLeap && month === 2 ? 1 : 0);
  if (day > length) return NONE;
  // Whole years before it, 400 more: none is below 0.
  const years = year + 399;
  const leaps = (years >> 2) - ((years / 100) | 0) + ((years / 400) | 0);
  return 365 * years + leaps + before + (isLeap && month > 2 ? 1 : 0) + day - 1 - EPOCH_DAYS;
}

/** `NONE` when there is no such time of a day. */
function msOfDay(hour: number, minute: number, second: number): number {
  const isTime = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  return isTime ? 1000 * (60 * (60 * hour + minute) + second) : NONE;
}

function isoReader(zone: Zone): ReadTime {
  return (bytes, from, to) => {
    if (to - from < DATE_BYTES || bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS) return Number.NaN;
    const year = 100 * two(bytes, from) + two(bytes, from + 2);
    const days = daysOf(year, two(bytes, from + 5), two(bytes, from + 8));
    if (days === NONE) return Number.NaN;
    let at = from + DATE_BYTES;
    if (at === to) return zone.toUtc(days * DAY_MS);
    if (to - at < CLOCK_BYTES || (bytes[at] !== T && bytes[at] !== SPACE) || bytes[at + 3] !== COLON) return Number.NaN;
    const clock = at;
    at += CLOCK_BYTES;
    const hasSeconds = to - at >= SECOND_BYTES && bytes[at] === COLON;
    let ms = msOfDay(two(bytes, clock + 1), two(bytes, clock + 4), hasSeconds ? two(bytes, at + 1) : 0);
    if (ms === NONE) return Number.NaN;
    if (hasSeconds) at += SECOND_BYTES;
    if (hasSeconds && at < to && bytes[at] === POINT) {
      const first = ++at;
      let unit = 100;
      for (; at < to; at++) {
        const digit = bytes[at]! - 48;
        if (digit < 0 || digit > 9) break;
        ms += unit * digit;
        unit = (unit / 10) | 0;
      }
      if (at === first) return Number.NaN;
    }
    if (at === to) return zone.toUtc(days * DAY_MS + ms);
    const offset = offsetIn(bytes, at, to);
    return offset === NONE ? Number.NaN : days * DAY_MS + ms - offset;
  };
}

/** Offset of `Z` or `±hh[:]mm` in ms; `NONE` if the text is not an offset. */
function offsetIn(bytes: Uint8Array, from: number, to: number): number {
  const sign = bytes[from];
  const length = to - from;
  if (sign === Z) return length === 1 ? 0 : NONE;
  const hasColon = length === 6 && bytes[from + 3] === COLON;
  if ((sign !== PLUS && sign !== MINUS) || (length !== 5 && !hasColon)) return NONE;
  const ms = msOfDay(two(bytes, from + 1), two(bytes, to - 2), 0);
  if (ms === NONE || ms > MOST_OFFSET_MS) return NONE;
  return sign === MINUS ? 0 - ms : ms;
}

/** A number whose unit is 10^`places` ms, digit by digit: fractions of seconds are not exact in f64. */
function unixTime(bytes: Uint8Array, from: number, to: number, point: number, places: number): number {
  const sign = bytes[from];
  let at = from < to && (sign === MINUS || sign === PLUS) ? from + 1 : from;
  const first = at;
  let ms = 0;
  let kept = -1;
  let isCut = false;
  for (; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) {
      if (kept < places) ms = 10 * ms + digit;
      else if (digit > 0) isCut = true;
      if (kept >= 0) kept++;
    } else if (bytes[at] === point && kept < 0 && at > first && at + 1 < to) kept = 0;
    else return Number.NaN;
  }
  if (at === first) return Number.NaN;
  for (let place = Math.max(0, kept); place < places; place++) ms *= 10;
  if (sign === MINUS) ms = 0 - ms - (isCut ? 1 : 0);
  return ms >= FIRST_MS && ms <= LAST_MS ? ms : Number.NaN;
}

function patternReader(format: string, zone: Zone): ReadTime {
  const { length, fields, literals } = patternOf(format);
  const { yyyy = 0, MM = 0, dd = 0, HH, mm, ss, SSS } = fields;
  return (bytes, from, to) => {
    if (to - from !== length) return Number.NaN;
    for (const { at, byte } of literals) if (bytes[from + at] !== byte) return Number.NaN;
    const partAt = (at: number | undefined): number => (at === undefined ? 0 : two(bytes, from + at));
    const year = 100 * two(bytes, from + yyyy) + two(bytes, from + yyyy + 2);
    const days = daysOf(year, two(bytes, from + MM), two(bytes, from + dd));
    const ms = msOfDay(partAt(HH), partAt(mm), partAt(ss));
    const part = SSS === undefined ? 0 : three(bytes, from + SSS);
    if (days === NONE || ms === NONE || part === NONE) return Number.NaN;
    return zone.toUtc(days * DAY_MS + ms + part);
  };
}

function three(bytes: Uint8Array, at: number): number {
  const last = bytes[at + 2]! - 48;
  const ms = 10 * two(bytes, at) + last;
  return ms >= 0 && last >= 0 && last <= 9 ? ms : NONE;
}
