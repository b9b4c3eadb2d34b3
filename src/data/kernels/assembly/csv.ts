// Lines of CSV text. `formats/csv/parser.ts` is the plain form, and reads each line that is unusual.

import { isExact, MINUS, NEWLINE, numberIn, PLUS, SURE_DIGITS } from './ascii';
import { foldedId, hash64 } from './hash64';

/** As of a record without a group. */
const NO_GROUP: u64 = u64.MAX_VALUE;

/** What a call is given and what it leaves, at an address; `formats/csv/kernel-memory.ts` has the same numbers. */
@unmanaged
class Frame {
  /** The text: where the next line begins, and its end, after a line break. */
  at: u32;
  end: u32;
  /** Lines before the one at `at`. */
  line: u32;
  /** Records still to be read. */
  quota: u32;
  /** Where the text begins, and where it ended before it was given its last line break. */
  textFrom: u32;
  textTo: u32;
  /** A `Field` for each of a line. */
  fields: u32;
  fieldCount: u32;
  /** Above 255 where there is none. */
  delimiter: u32;
  quote: u32;
  comment: u32;
  /** The decimal point. */
  point: u32;
  /** Texts of what is missing: `missingCount` times its address and its length, in u32. */
  missing: u32;
  missingCount: u32;
  /** 0: ±1 or 0; 1: a class; 2: any number. */
  labelRule: u32;
  classes: u32;
  /** `LabelText`s, at their hash or the next free place; `labelMask` is their number less one. */
  labelTexts: u32;
  labelMask: u32;
  /** Of a text that is not among them; NaN when it is bad. */
  labelOther: f32;
  /** Of each record: its line, where it begins and where it ends in the text. */
  lines: u32;
  starts: u32;
  ends: u32;
  /** Ids of all lists, and how many there are. */
  ids: u32;
  idCount: u32;
  /** What was read. */
  records: u32;
  /** From where the spans of texts count. */
  spansFrom: u32;
  /** Bit n: a text of what is missing has n bytes; bit 63: 63 or more. */
  missingLengths: u64;
}

/** What becomes of a field. */
@unmanaged
class Field {
  kind: u32;
  /** Where its values are put, that of the first record first. */
  out: u32;
  /** `LIST`: `out` has where the ids of each record begin, this where they end. `TEXT`: the same of bytes. */
  outEnds: u32;
  /** `LIST`: the byte between ids, above 255 where there is none; at most so many ids. */
  separator: u32;
  most: u32;
  /** `LIST`: whether they are whole numbers, whether these are hashed. */
  isWhole: u32;
  isHashed: u32;
  reserved: u32;
  seed: u64;
  /** `SINGLE`: of what is missing. */
  missingId: u64;
  /** 0: none. */
  buckets: u64;
}

const FIELD_BYTES: usize = offsetof<Field>();

@unmanaged
class LabelText {
  from: u32;
  length: u32;
  label: f32;
  isUsed: u32;
}

const LABEL_TEXT_BYTES: usize = offsetof<LabelText>();

/** What a `Field` is. */
const IGNORED: u32 = 0;
const NUMBER: u32 = 1;
const NUMBER_NEEDED: u32 = 2;
const SINGLE: u32 = 3;
const LIST: u32 = 4;
const LABEL_NUMBER: u32 = 5;
const LABEL_TEXT: u32 = 6;
const WEIGHT: u32 = 7;
const GROUP_WHOLE: u32 = 8;
const GROUP_HASHED: u32 = 9;
const TEXT: u32 = 10;

/** All lines are read. */
const DONE: u32 = 0;
/** As many records as wanted are read, and another one comes at `at`. */
const FULL: u32 = 1;
/** The line at `at` is bad, or for the plain form. */
const UNUSUAL: u32 = 2;

/** A group of so many digits is below 2^64 - 1. */
const GROUP_DIGITS: usize = 19;

/** A delimiter is not blank, whichever byte it is. */
@inline function isBlankBut(byte: u32, delimiter: u32): bool {
  return byte <= 32 && (byte == 32 || byte == 9 || byte == 13) && byte != delimiter;
}

/** The first `a` or `b` from there on; one follows. Up to 15 bytes after it are read. */
@inline function findEither(from: usize, a: v128, b: v128): usize {
  let at = from;
  while (true) {
    const bytes = v128.load(at);
    const mask = i8x16.bitmask(v128.or(i8x16.eq(bytes, a), i8x16.eq(bytes, b)));
    if (mask != 0) return at + <usize>ctz(mask);
    at += 16;
  }
}

/** Reads records until one of the three. */
export function parseCsv(frame: Frame): u32 {
  const end = <usize>frame.end;
  const quota = frame.quota;
  const delimiter = frame.delimiter;
  const comment = frame.comment;
  const newlines = i8x16.splat(<i8>NEWLINE);
  let at = <usize>frame.at;
  let line = frame.line;
  let records: u32 = 0;
  let status = DONE;
  while (at < end) {
    let from = at;
    let byte = <u32>load<u8>(from);
    while (isBlankBut(byte, delimiter)) byte = load<u8>(++from);
    if (byte == NEWLINE || byte == comment) {
      at = findEither(from, newlines, newlines) + 1;
      line++;
      continue;
    }
    if (records == quota) {
      status = FULL;
      break;
    }
    const idsBefore = frame.idCount;
    const next = parseRecord(frame, from, records);
    if (next == 0) {
      frame.idCount = idsBefore;
      status = UNUSUAL;
      break;
    }
    const place = <usize>records << 2;
    store<u32>(<usize>frame.lines + place, line);
    store<u32>(<usize>frame.starts + place, <u32>at - frame.textFrom);
    store<u32>(<usize>frame.ends + place, min(<u32>next, frame.textTo) - frame.textFrom);
    line++;
    records++;
    at = next;
  }
  frame.at = <u32>at;
  frame.line = line;
  frame.records = records;
  return status;
}

/** Where the line ends that begins at `start`; 0 when it is unusual. */
function parseRecord(frame: Frame, start: usize, record: u32): usize {
  const delimiter = frame.delimiter;
  const quote = frame.quote;
  const missingLengths = frame.missingLengths;
  const delimiters = i8x16.splat(<i8>delimiter);
  const newlines = i8x16.splat(<i8>NEWLINE);
  const place4 = <usize>record << 2;
  const place8 = <usize>record << 3;
  let at = start;
  let entry = <usize>frame.fields;
  const lastEntry = entry + <usize>frame.fieldCount * FIELD_BYTES;
  while (true) {
    if (entry == lastEntry) return 0;
    const field = changetype<Field>(entry);
    entry += FIELD_BYTES;
    let byte = <u32>load<u8>(at);
    while (isBlankBut(byte, delimiter)) byte = load<u8>(++at);
    let from = at;
    let to: usize;
    if (byte == quote) {
      from++;
      const quotes = i8x16.splat(<i8>quote);
      to = findEither(from, quotes, newlines);
      if (field.kind == IGNORED) {
        while (load<u8>(to) == quote && load<u8>(to + 1) == quote) to = findEither(to + 2, quotes, newlines);
      }
      if (load<u8>(to) == NEWLINE) return 0;
      at = to + 1;
      byte = load<u8>(at);
      while (isBlankBut(byte, delimiter)) byte = load<u8>(++at);
      // Another quote is among what must not follow.
      if (byte != delimiter && byte != NEWLINE) return 0;
    } else {
      to = findEither(from, delimiters, newlines);
      at = to;
      byte = load<u8>(to);
      while (to > from && isBlankBut(load<u8>(to - 1), delimiter)) to--;
    }
    const length = to - from;
    const isMissing = <bool>((missingLengths >> <u64>min<usize>(length, 63)) & 1) && isMissingText(frame, from, length);
    switch (field.kind) {
      case NUMBER:
      case NUMBER_NEEDED: {
        let value: f32 = NaN;
        if (!isMissing) {
          value = <f32>numberIn(from, to, frame.point);
          if (!(abs(value) < Infinity)) return 0;
        } else if (field.kind == NUMBER_NEEDED) return 0;
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
        if (!isMissing && !parseList(frame, field, from, to)) return 0;
        store<u32>(<usize>field.outEnds + place4, frame.idCount);
        break;
      }
      case LABEL_NUMBER: {
        const label = isMissing ? <f32>NaN : numberLabel(frame, from, to);
        if (label != label) return 0;
        store<f32>(<usize>field.out + place4, label);
        break;
      }
      case LABEL_TEXT: {
        const label = isMissing ? <f32>NaN : textLabel(frame, from, length);
        if (label != label) return 0;
        store<f32>(<usize>field.out + place4, label);
        break;
      }
      case WEIGHT: {
        const weight = isMissing ? NaN : numberIn(from, to, frame.point);
        if (!(weight >= 0 && <f32>weight < Infinity)) return 0;
        store<f32>(<usize>field.out + place4, <f32>weight);
        break;
      }
      case GROUP_WHOLE: {
        let group = NO_GROUP;
        if (!isMissing) {
          group = groupIn(from, to);
          if (group == NO_GROUP) return 0;
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
    if (byte == NEWLINE) return entry == lastEntry ? at + 1 : 0;
    at++;
  }
}

/** Whether it is one of the texts of what is missing, of which one has its length (63: or more). */
function isMissingText(frame: Frame, from: usize, length: usize): bool {
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

function textLabel(frame: Frame, from: usize, length: usize): f32 {
  const mask = frame.labelMask;
  let place = <u32>hash64(from, length, 0) & mask;
  while (true) {
    const text = changetype<LabelText>(<usize>frame.labelTexts + <usize>place * LABEL_TEXT_BYTES);
    if (text.isUsed == 0) return frame.labelOther;
    if (<usize>text.length == length && isSame(<usize>text.from, from, length)) return text.label;
    place = (place + 1) & mask;
  }
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
function parseList(frame: Frame, field: Field, from: usize, to: usize): bool {
  const delimiter = frame.delimiter;
  const separator = field.separator;
  const seed = field.seed;
  let count = frame.idCount;
  const most = count + field.most;
  let at = from;
  while (at <= to) {
    let first = at;
    while (at < to && load<u8>(at) != separator) at++;
    let last = at;
    at++;
    while (first < last && isBlankBut(load<u8>(first), delimiter)) first++;
    while (last > first && isBlankBut(load<u8>(last - 1), delimiter)) last--;
    if (first == last) continue;
    if (count == most) return false;
    let id: u64;
    if (field.isWhole != 0 && !isWhole(first, last, field.isHashed != 0)) return false;
    if (field.isHashed != 0) id = foldedId(hash64(first, last - first, seed), seed, field.buckets);
    else id = wholeNumber;
    store<u64>(<usize>frame.ids + (<usize>count << 3), id);
    count++;
  }
  frame.idCount = count;
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
