// Texts to the values of columns, whatever format they are in. `formats/text/values.ts` has the plain form.

import { isExact, MINUS, numberIn, PLUS, SURE_DIGITS } from './ascii';
import {
  Field,
  Frame,
  GROUP_HASHED,
  GROUP_WHOLE,
  LABEL_NUMBER,
  LABEL_TEXT,
  LABEL_TEXT_BYTES,
  LabelText,
  LIST,
  NO_GROUP,
  NUMBER,
  NUMBER_NEEDED,
  SINGLE,
  TEXT,
  WEIGHT,
} from './frame';
import { foldedId, hash64 } from './hash64';

/** A group with at most this many digits is below 2^64 - 1. */
const GROUP_DIGITS: usize = 19;
/** Numbers from here on are not compared: different texts may be the same f64. */
const MOST_LABEL_NUMBER: f64 = 9007199254740992;

/** A delimiter is not blank, whichever byte it is. */
@inline export function isBlankBut(byte: u32, delimiter: u32): bool {
  return byte <= 32 && (byte == 32 || byte == 9 || byte == 13) && byte != delimiter;
}

/**
 * The text in [from, to) to the column of its field; false when it is bad, or for the plain form. `isMissing`: it
 * counts as none. A byte behind the text may be read.
 */
@inline export function take(frame: Frame, field: Field, from: usize, to: usize, isMissing: bool, record: u32): bool {
  const place4 = <usize>record << 2;
  const place8 = <usize>record << 3;
  const length = to - from;
  switch (field.kind) {
    case NUMBER:
    case NUMBER_NEEDED: {
      let value: f32 = NaN;
      if (!isMissing) {
        value = <f32>numberIn(from, to, frame.point);
        if (!(abs(value) < Infinity)) return false;
      } else if (field.kind == NUMBER_NEEDED) return false;
      store<f32>(<usize>field.out + place4, value);
      break;
    }
    case SINGLE: {
      const seed = field.seed;
      const id = isMissing ? field.missingId : foldedId(hash64(from, length, seed), seed, field.buckets);
      store<u64>(<usize>field.out + place8, id);
      break;
    }
    case LIST: {
      store<u32>(<usize>field.out + place4, frame.idCount);
      if (!isMissing && !takeList(frame, field, from, to)) return false;
      store<u32>(<usize>field.outEnds + place4, frame.idCount);
      break;
    }
    case LABEL_NUMBER: {
      const label = isMissing ? <f32>NaN : numberLabel(frame, from, to);
      if (label != label) return false;
      store<f32>(<usize>field.out + place4, label);
      break;
    }
    case LABEL_TEXT: {
      const label = isMissing ? <f32>NaN : textLabel(frame, from, to);
      if (label != label) return false;
      store<f32>(<usize>field.out + place4, label);
      break;
    }
    case WEIGHT: {
      const weight = isMissing ? NaN : numberIn(from, to, frame.point);
      if (!(weight >= 0 && <f32>weight < Infinity)) return false;
      store<f32>(<usize>field.out + place4, <f32>weight);
      break;
    }
    case GROUP_WHOLE: {
      let group = NO_GROUP;
      if (!isMissing) {
        group = groupIn(from, to);
        if (group == NO_GROUP) return false;
      }
      store<u64>(<usize>field.out + place8, group);
      break;
    }
    case GROUP_HASHED: {
      store<u64>(<usize>field.out + place8, isMissing ? NO_GROUP : hash64(from, length, field.seed));
      break;
    }
    case TEXT: {
      store<u32>(<usize>field.out + place4, <u32>from - frame.spansFrom);
      store<u32>(<usize>field.outEnds + place4, <u32>(isMissing ? from : to) - frame.spansFrom);
      break;
    }
    default: // IGNORED
      break;
  }
  return true;
}

/** Whether it is one of the texts of what is missing, of which one has its length (63: or more). */
export function isMissingText(frame: Frame, from: usize, length: usize): bool {
  let entry = <usize>frame.missing;
  for (let left = frame.missingCount; left > 0; left--) {
    if (<usize>load<u32>(entry, 4) == length && isSame(<usize>load<u32>(entry), from, length)) return true;
    entry += 8;
  }
  return false;
}

function isSame(a: usize, b: usize, length: usize): bool {
  for (let i: usize = 0; i < length; i++) {
    if (load<u8>(a + i) != load<u8>(b + i)) return false;
  }
  return true;
}

/** NaN when it is bad, or for the plain form. */
function numberLabel(frame: Frame, from: usize, to: usize): f32 {
  const value = numberIn(from, to, frame.point);
  if (frame.labelRule == 2) {
    const label = <f32>value;
    return abs(label) < Infinity ? label : NaN;
  }
  if (!isExact) return NaN;
  if (frame.labelRule == 0) return value == 1 ? 1 : value == 0 || value == -1 ? 0 : NaN;
  return floor(value) == value && value >= 0 && value < <f64>frame.classes ? <f32>value : NaN;
}

/** NaN when it is bad, or for the plain form. */
function textLabel(frame: Frame, from: usize, to: usize): f32 {
  const length = to - from;
  const mask = frame.labelMask;
  let place = <u32>hash64(from, length, 0) & mask;
  while (true) {
    const text = changetype<LabelText>(<usize>frame.labelTexts + <usize>place * LABEL_TEXT_BYTES);
    if (text.isUsed == 0) break;
    if (<usize>text.length == length && isSame(<usize>text.from, from, length)) return text.label;
    place = (place + 1) & mask;
  }
  return frame.labelsAreNumbers == 0 ? frame.labelOther : labelByNumber(frame, from, to);
}

/** Texts of the job that are the same number have the same label, or it is NaN. */
function labelByNumber(frame: Frame, from: usize, to: usize): f32 {
  // How numbers begin: digits, signs, a decimal point.
  const first = from < to ? <u32>load<u8>(from) : 0;
  if (first - 48 > 9 && first != MINUS && first != PLUS && first != frame.point) return frame.labelOther;
  const number = numberIn(from, to, frame.point);
  if (!(abs(number) < MOST_LABEL_NUMBER) || !isExact) return NaN;
  const end = <usize>frame.labelTexts + (<usize>frame.labelMask + 1) * LABEL_TEXT_BYTES;
  for (let at = <usize>frame.labelTexts; at < end; at += LABEL_TEXT_BYTES) {
    const text = changetype<LabelText>(at);
    if (text.isUsed != 0 && text.number == number) return text.label;
  }
  return frame.labelOther;
}

/** `NO_GROUP` when it is bad, or for the plain form. */
function groupIn(from: usize, to: usize): u64 {
  if (to - from - 1 >= GROUP_DIGITS) return NO_GROUP;
  let group: u64 = 0;
  for (let at = from; at < to; at++) {
    const digit = <u32>load<u8>(at) - 48;
    if (digit > 9) return NO_GROUP;
    group = group * 10 + digit;
  }
  return group;
}

/** Adds its ids to those of the frame; false when one is bad or for the plain form, or there are too many. */
function takeList(frame: Frame, field: Field, from: usize, to: usize): bool {
  const delimiter = frame.delimiter;
  const separator = field.separator;
  const most = frame.idCount + field.most;
  let at = from;
  while (at <= to) {
    let first = at;
    while (at < to && load<u8>(at) != separator) at++;
    let last = at;
    at++;
    while (first < last && isBlankBut(load<u8>(first), delimiter)) first++;
    while (last > first && isBlankBut(load<u8>(last - 1), delimiter)) last--;
    if (first != last && !takeId(frame, field, first, last, most)) return false;
  }
  return true;
}

/** Adds the id of a value of a list; `most`: ids there may be then. */
@inline export function takeId(frame: Frame, field: Field, from: usize, to: usize, most: u32): bool {
  const count = frame.idCount;
  if (count == most) return false;
  if (field.isWhole != 0 && !isWhole(from, to, field.isHashed != 0)) return false;
  const seed = field.seed;
  const id = field.isHashed != 0 ? foldedId(hash64(from, to - from, seed), seed, field.buckets) : wholeNumber;
  store<u64>(<usize>frame.ids + (<usize>count << 3), id);
  frame.idCount = count + 1;
  return true;
}

/** What `isWhole` found. */
let wholeNumber: u64 = 0;

/** Whether there is a whole number of few digits in [from, to), and, if so wanted, as such a number is printed. */
function isWhole(from: usize, to: usize, asPrinted: bool): bool {
  const sign = <u32>load<u8>(from);
  const isNegative = sign == MINUS;
  const digitsFrom = from + usize(isNegative || sign == PLUS);
  const digits = to - digitsFrom;
  if (digits - 1 >= SURE_DIGITS) return false;
  if (asPrinted && (sign == PLUS || (load<u8>(digitsFrom) == 48 && to - from > 1))) return false;
  let whole: u64 = 0;
  for (let at = digitsFrom; at < to; at++) {
    const digit = <u32>load<u8>(at) - 48;
    if (digit > 9) return false;
    whole = whole * 10 + digit;
  }
  wholeNumber = isNegative ? 0 - whole : whole;
  return true;
}
