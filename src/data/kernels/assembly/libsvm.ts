// Lines of LIBSVM, libFM and libffm text. `formats/libsvm/parser.ts` is the plain form, and reads each line that is
// unusual.

import { COLON, HASH, isBlank, isEnd, isExact, NEWLINE, numberEnd, parseNumber } from './ascii';

/** `qid:`, as it is in memory. */
const GROUP: u32 = 0x3a646971;
/** Group id of a record without a group. */
const NO_GROUP: u64 = u64.MAX_VALUE;

/** What a call is given and what it leaves, at an address; `kernels/sparse-kernel.ts` has the same numbers. */
@unmanaged
class Frame {
  /** The text: where the next line begins, and its end, after a line break. */
  at: u32;
  end: u32;
  /** Number of the line at `at`. */
  line: u32;
  /** Records still to be read. */
  quota: u32;
  /** The text, as it is counted: what follows its last byte is a line break that was added, if it lacked one. */
  textFrom: u32;
  textTo: u32;
  /** Room for `quota` f32, f32, u64, and u32 each: where the features of a record end, its line, its start and end. */
  labels: u32;
  weights: u32;
  groups: u32;
  featureEnds: u32;
  lines: u32;
  starts: u32;
  ends: u32;
  /** Room for a u64 and for an f32 every four bytes of text. */
  ids: u32;
  values: u32;
  /** 0: ±1 or 0; 1: a class; 2: any number. */
  labelRule: u32;
  classes: u32;
  /** Whether a weight may follow a label. */
  mayHaveWeight: u32;
  featuresPerRecord: u32;
  /** How many fields there are; 0 when features have none: `id:value` instead of `field:id:value`. */
  fieldsEnd: u32;
  /** Room for a u16 every four bytes of text, if features have fields. */
  fields: u32;
  /** What was read. */
  records: u32;
  features: u32;
  /** Whether a value, or a weight, was not 1, and whether a record had a group. */
  hasValues: u32;
  hasWeights: u32;
  hasGroups: u32;
}

/** All lines are read. */
const DONE: u32 = 0;
/** As many records as wanted are read, and another one comes at `at`. */
const FULL: u32 = 1;
/** The line at `at` is bad, or has numbers for the plain form. */
const UNUSUAL: u32 = 2;

/** Reads records until one of the three. */
export function parseLines(frame: Frame): u32 {
  const end = <usize>frame.end;
  const quota = frame.quota;
  const ids = <usize>frame.ids;
  const values = <usize>frame.values;
  const featuresPerRecord = frame.featuresPerRecord;
  const fieldsEnd = frame.fieldsEnd;
  const fields = <usize>frame.fields;
  let at = <usize>frame.at;
  let line = frame.line;
  let records: u32 = 0;
  let features: u32 = 0;
  let hasValues: u32 = 0;
  let hasWeights: u32 = 0;
  let hasGroups: u32 = 0;
  let status = DONE;
  while (at < end) {
    const start = at;
    let byte = <u32>load<u8>(at);
    while (isBlank(byte)) byte = load<u8>(++at);
    if (byte == NEWLINE || byte == HASH) {
      at = lineEnd(at) + 1;
      line++;
      continue;
    }
    if (records == quota) {
      at = start;
      status = FULL;
      break;
    }
    const label = parseLabel(at, frame);
    at = numberEnd;
    const featuresBefore = features;
    let isUnusual = label != label;
    let weight: f32 = 1;
    if (!isUnusual && load<u8>(at) == COLON) {
      weight = <f32>parseNumber(at + 1);
      at = numberEnd;
      isUnusual = !(weight >= 0 && weight < Infinity);
    }
    let group = NO_GROUP;
    if (!isUnusual) {
      while (isBlank(load<u8>(at))) at++;
      // At least a line break follows, so that four bytes are there; bytes of the next line cannot complete a `qid:`.
      if (load<u8>(at) == 113 && load<u32>(at) == GROUP) {
        at += 4;
        group = parseGroup(at);
        at = numberEnd;
        isUnusual = group == NO_GROUP;
      }
    }
    while (!isUnusual) {
      byte = load<u8>(at);
      while (isBlank(byte)) byte = load<u8>(++at);
      if (byte == NEWLINE) break;
      if (byte == HASH) {
        at = lineEnd(at);
        break;
      }
      if (fieldsEnd != 0) {
        const field = parseField(at);
        if (field >= fieldsEnd) {
          isUnusual = true;
          break;
        }
        store<u16>(fields + (<usize>features << 1), <u16>field);
        at = numberEnd + 1;
        byte = load<u8>(at);
      }
      let id: u64 = 0;
      const idFrom = at;
      for (let digit = byte - 48; digit <= 9; digit = byte - 48) {
        id = id * 10 + digit;
        byte = load<u8>(++at);
      }
      const digits = at - idFrom;
      if (digits - 1 > 18 && !fits(idFrom, digits, id)) {
        isUnusual = true;
        break;
      }
      if (byte != COLON) {
        isUnusual = true;
        break;
      }
      at++;
      let value: f32;
      byte = load<u8>(at);
      if (byte - 48 <= 9 && isEnd(load<u8>(at + 1))) {
        value = <f32>(byte - 48);
        at++;
      } else {
        value = <f32>parseNumber(at);
        at = numberEnd;
        if (!(abs(value) < Infinity)) {
          isUnusual = true;
          break;
        }
      }
      hasValues |= u32(value != 1);
      store<u64>(ids + (<usize>features << 3), id);
      store<f32>(values + (<usize>features << 2), value);
      features++;
    }
    if (isUnusual || features - featuresBefore > featuresPerRecord) {
      features = featuresBefore;
      at = start;
      status = UNUSUAL;
      break;
    }
    at++;
    store<f32>(<usize>frame.labels + (<usize>records << 2), label);
    store<f32>(<usize>frame.weights + (<usize>records << 2), weight);
    store<u64>(<usize>frame.groups + (<usize>records << 3), group);
    hasWeights |= u32(weight != 1);
    hasGroups |= u32(group != NO_GROUP);
    const place = <usize>records << 2;
    store<u32>(<usize>frame.featureEnds + place, features);
    store<u32>(<usize>frame.lines + place, line);
    store<u32>(<usize>frame.starts + place, <u32>start - frame.textFrom);
    store<u32>(<usize>frame.ends + place, min(<u32>at, frame.textTo) - frame.textFrom);
    line++;
    records++;
  }
  frame.at = <u32>at;
  frame.line = line;
  frame.records = records;
  frame.features = features;
  frame.hasValues = hasValues;
  frame.hasWeights = hasWeights;
  frame.hasGroups = hasGroups;
  return status;
}

function lineEnd(from: usize): usize {
  let at = from;
  while (load<u8>(at) != NEWLINE) at++;
  return at;
}

/** Whether this number of digits, none or more than 19, is a u64; `id` is the result of wrapped arithmetic. */
function fits(from: usize, digits: usize, id: u64): bool {
  // A number of 20 digits from 2^64 on, and below 2 · 10^19, wraps to less than 10^19.
  return digits == 20 && load<u8>(from) == 49 && id >= 10000000000000000000;
}

/** The number at `from`; `NO_GROUP` if it is not a number, or is left to the plain form. */
function parseGroup(from: usize): u64 {
  let group: u64 = 0;
  let at = from;
  let byte = <u32>load<u8>(at);
  for (let digit = byte - 48; digit <= 9; digit = byte - 48) {
    group = group * 10 + digit;
    byte = load<u8>(++at);
  }
  numberEnd = at;
  return at != from && at - from <= 19 && isEnd(byte) ? group : NO_GROUP;
}

/** The number at `from` before a colon; `u32.MAX_VALUE` if it is not a number, or is left to the plain form. */
function parseField(from: usize): u32 {
  let field: u32 = 0;
  let at = from;
  let byte = <u32>load<u8>(at);
  for (let digit = byte - 48; digit <= 9; digit = byte - 48) {
    field = field * 10 + digit;
    byte = load<u8>(++at);
  }
  numberEnd = at;
  return byte == COLON && at != from && at - from <= 9 ? field : u32.MAX_VALUE;
}

/** NaN for the plain form. */
function parseLabel(from: usize, frame: Frame): f32 {
  const value = parseNumber(from, frame.mayHaveWeight != 0 ? COLON : NEWLINE);
  if (frame.labelRule == 2) {
    const label = <f32>value;
    return abs(label) < Infinity ? label : NaN;
  }
  if (!isExact) return NaN;
  if (frame.labelRule == 0) return value == 1 ? 1 : value == 0 || value == -1 ? 0 : NaN;
  return floor(value) == value && value >= 0 && value < <f64>frame.classes ? <f32>value : NaN;
}
