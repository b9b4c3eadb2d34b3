// Lines of JSON (RFC 8259): an object each. `formats/jsonl/line-reader.ts` is the plain form, and reads each line that
// is unusual: a key twice, a number with decimals where a text is wanted, a very long line. What is no JSON is unusual,
// too, but for NaN and Infinity, which Python writes: every byte of a line is looked at. That it is UTF-8 is known
// beforehand. Escapes in keys and in values that are read are replaced in place: the memory has a copy of the text.

import { isBlank, MINUS, NEWLINE, PLUS, POINT } from './ascii';
import { Field, Frame, Key, KEY_BYTES, LABEL_NUMBER, LIST, NUMBER, NUMBER_NEEDED, WEIGHT } from './frame';
import { hash64 } from './hash64';
import { isMissingText, take, takeId } from './values';

const QUOTE: u32 = 34;
const COMMA: u32 = 44;
const ZERO: u32 = 48;
const COLON: u32 = 58;
const OPEN_BRACKET: u32 = 91;
const BACKSLASH: u32 = 92;
const CLOSE_BRACKET: u32 = 93;
const OPEN_BRACE: u32 = 123;
const CLOSE_BRACE: u32 = 125;
/** First letters of Infinity and NaN. */
const BIG_I: u32 = 73;
const BIG_N: u32 = 78;
/** The letters of Infinity behind the first, as seven of eight bytes. */
const AFTER_I: u64 = 0x7974696e69666e;
const SEVEN_BYTES: u64 = 0xffffffffffffff;
/** Letters of the three literals. */
const E: u32 = 101;
const F: u32 = 102;
const N: u32 = 110;
const T: u32 = 116;
const U: u32 = 117;
/** `true`, `null`, and the first four bytes of `false`. */
const TRUE: u32 = 0x65757274;
const NULL: u32 = 0x6c6c756e;
const BEGIN_OF_FALSE: u32 = 0x736c6166;
/** Objects and arrays in one another: of more the plain form says whether they are JSON. */
const MOST_DEPTH: u32 = 32;
/** A longer line may have too many values: the plain form counts them. */
const MOST_BYTES: usize = 1 << 20;
/** Truth as a number. */
const DIGITS = memory.data<u8>([48, 49]);

@inline function afterBlanks(from: usize): usize {
  let at = from;
  while (isBlank(load<u8>(at))) at++;
  return at;
}

/** Where the line ends that begins at `start`; 0 when it is unusual. */
export function parseJsonRecord(frame: Frame, start: usize, record: u32): usize {
  // If no column has a field, all records are bad.
  if (load<u8>(start) != OPEN_BRACE || frame.fieldCount == 0) return 0;
  frame.stamp++;
  if (frame.stamp == 0) forgetStamps(frame);
  frame.taken = 0;
  const end = readObject(frame, changetype<Key>(<usize>frame.keys), start + 1, record);
  if (end == 0) return 0;
  const at = afterBlanks(end);
  if (load<u8>(at) != NEWLINE || at - start >= MOST_BYTES) return 0;
  return frame.taken == frame.leafCount || takeAbsent(frame, record) ? at + 1 : 0;
}

/** After 2^32 records the numbers begin again: no key may have one of them. */
function forgetStamps(frame: Frame): void {
  for (let key: u32 = 0; key < frame.keyCount; key++) {
    changetype<Key>(<usize>frame.keys + <usize>key * KEY_BYTES).stamp = 0;
  }
  frame.stamp = 1;
}

/** What the record has no key for. */
function takeAbsent(frame: Frame, record: u32): bool {
  const stamp = frame.stamp;
  let entry = <usize>frame.keys;
  for (let left = frame.keyCount; left > 0; left--) {
    const key = changetype<Key>(entry);
    entry += KEY_BYTES;
    if (key.field == 0 || key.stamp == stamp) continue;
    if (!take(frame, changetype<Field>(<usize>key.field), frame.at, frame.at, true, record)) return false;
  }
  return true;
}

/** The object whose first key comes at `start`, or its end. Where it ends; 0 when it is unusual. */
function readObject(frame: Frame, object: Key, start: usize, record: u32): usize {
  let at = afterBlanks(start);
  if (load<u8>(at) == CLOSE_BRACE) return at + 1;
  // Where it says which key will probably come.
  let guess = changetype<usize>(object) + offsetof<Key>('first');
  while (true) {
    if (load<u8>(at) != QUOTE) return 0;
    const from = at + 1;
    const to = textEnd(from);
    if (to == 0) return 0;
    at = afterBlanks(behindText);
    if (load<u8>(at) != COLON) return 0;
    at = afterBlanks(at + 1);
    let key = changetype<Key>(<usize>load<u32>(guess));
    if (changetype<usize>(key) == 0 || !isKey(key, from, to - from)) {
      key = findKey(frame, object, from, to - from);
      if (changetype<usize>(key) != 0) store<u32>(guess, <u32>changetype<usize>(key));
    }
    if (changetype<usize>(key) == 0) at = skipValue(at, 1);
    else {
      if (key.stamp == frame.stamp) return 0;
      key.stamp = frame.stamp;
      guess = changetype<usize>(key) + offsetof<Key>('next');
      at = readValue(frame, key, at, record);
    }
    if (at == 0) return 0;
    at = afterBlanks(at);
    const byte = <u32>load<u8>(at);
    if (byte != COMMA) return byte == CLOSE_BRACE ? at + 1 : 0;
    at = afterBlanks(at + 1);
  }
}

@inline function isKey(key: Key, from: usize, length: usize): bool {
  return <usize>key.length == length && memory.compare(<usize>key.from, from, length) == 0;
}

/** Null when it is not read. */
function findKey(frame: Frame, object: Key, from: usize, length: usize): Key {
  const parent = <u32>changetype<usize>(object);
  let place = <u32>hash64(from, length, <u64>parent) & frame.keyMask;
  while (true) {
    const key = changetype<Key>(<usize>load<u32>(<usize>frame.keyPlaces + (<usize>place << 2)));
    if (changetype<usize>(key) == 0 || (key.parent == parent && isKey(key, from, length))) return key;
    place = (place + 1) & frame.keyMask;
  }
}

/** The value of a key that is read. Where it ends; 0 when it is unusual. */
function readValue(frame: Frame, key: Key, start: usize, record: u32): usize {
  const byte = <u32>load<u8>(start);
  if (key.field == 0) {
    if (byte == OPEN_BRACE) return readObject(frame, key, start + 1, record);
    // What is in an object that is null is missing.
    return isNone(byte, start) ? noneEnd(start) : 0;
  }
  const field = changetype<Field>(<usize>key.field);
  if (byte == OPEN_BRACKET) return readArray(frame, field, start + 1, record);
  let from = start;
  let to: usize;
  let end: usize;
  if (byte == QUOTE) {
    from++;
    to = textEnd(from);
    end = behindText;
  } else if (isNone(byte, start)) {
    to = noneEnd(start);
    end = to;
  } else if (byte == T || byte == F) {
    to = literalEnd(start);
    end = to;
  } else {
    to = numberTo(start);
    end = to;
    if (to != 0 && !isWholeNumber && (!takesNumber(field.kind) || frame.numbersMayMiss != 0)) return 0;
  }
  if (to == 0) return 0;
  const length = to - from;
  const isMissing =
    isNone(byte, start) ||
    (<bool>((frame.missingLengths >> <u64>min<usize>(length, 63)) & 1) && isMissingText(frame, from, length));
  if ((byte == T || byte == F) && takesNumber(field.kind)) {
    from = DIGITS + usize(byte == T);
    to = from + 1;
  }
  if (!take(frame, field, from, to, isMissing, record)) return 0;
  frame.taken++;
  return end;
}

@inline function takesNumber(kind: u32): bool {
  return kind == NUMBER || kind == NUMBER_NEEDED || kind == WEIGHT || kind == LABEL_NUMBER;
}

/** The array whose first value comes at `start`, or its end: a list of ids. Where it ends; 0 when it is unusual. */
function readArray(frame: Frame, field: Field, start: usize, record: u32): usize {
  // A list without a separator has one value.
  if (field.kind != LIST || field.separator > 255) return 0;
  store<u32>(<usize>field.out + (<usize>record << 2), frame.idCount);
  const most = frame.idCount + field.most;
  let at = afterBlanks(start);
  let isEnd = load<u8>(at) == CLOSE_BRACKET;
  if (isEnd) at++;
  while (!isEnd) {
    const byte = <u32>load<u8>(at);
    let from = at;
    let to: usize;
    if (byte == QUOTE) {
      from++;
      to = textEnd(from);
      at = behindText;
    } else if (isNone(byte, at)) {
      // Left out: its text is empty.
      at = noneEnd(at);
      from = at;
      to = at;
    } else if (byte == T || byte == F) {
      to = literalEnd(at);
      at = to;
    } else {
      to = numberTo(at);
      at = to;
      if (!isWholeNumber) return 0;
    }
    if (to == 0) return 0;
    if (from != to && !takeId(frame, field, from, to, most)) return 0;
    at = afterBlanks(at);
    const after = <u32>load<u8>(at);
    isEnd = after == CLOSE_BRACKET;
    if (!isEnd && after != COMMA) return 0;
    at++;
    if (!isEnd) at = afterBlanks(at);
  }
  store<u32>(<usize>field.outEnds + (<usize>record << 2), frame.idCount);
  frame.taken++;
  return at;
}

/** Behind the quote that ends the text read last. */
let behindText: usize = 0;

/**
 * Where the text that begins at `from` ends; 0 if it has no end, or is not a text. Up to 15 bytes after it are read.
 */
@inline function textEnd(from: usize): usize {
  const stop = stringStop(from);
  const byte = <u32>load<u8>(stop);
  behindText = stop + 1;
  return byte == QUOTE ? stop : byte == BACKSLASH ? unescapedEnd(stop) : 0;
}

/** The same from its first backslash on. What escapes stand for is never longer than they are. */
function unescapedEnd(start: usize): usize {
  let at = start;
  let to = start;
  while (true) {
    const stop = stringStop(at);
    memory.copy(to, at, stop - at);
    to += stop - at;
    const byte = <u32>load<u8>(stop);
    if (byte == QUOTE) {
      behindText = stop + 1;
      return to;
    }
    if (byte != BACKSLASH) return 0;
    const escape = <u32>load<u8>(stop, 1);
    at = stop + 2;
    if (escape == U) {
      let code = hexAt(at);
      at += 4;
      if (code - 0xd800 < 0x400 && load<u8>(at) == BACKSLASH && load<u8>(at, 1) == U) {
        const low = hexAt(at + 2);
        if (low - 0xdc00 >= 0x400) return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
      // Half a character, or no hexadecimal number.
      if (code - 0xd800 < 0x800 || code == NO_HEX) return 0;
      to = storeUtf8(to, code);
    } else {
      if (!isEscape(escape)) return 0;
      store<u8>(to, escape == 98 ? 8 : escape == F ? 12 : escape == N ? 10 : escape == 114 ? 13 : escape == T ? 9 : escape);
      to++;
    }
  }
}

const NO_HEX: u32 = 0xffffffff;

/** Code of four hexadecimal digits; `NO_HEX` if one of the bytes is not a digit. */
function hexAt(from: usize): u32 {
  let code: u32 = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = <u32>load<u8>(at);
    if (!isHex(byte)) return NO_HEX;
    code = (code << 4) + (byte <= 57 ? byte - ZERO : (byte | 32) - 87);
  }
  return code;
}

/** Behind the one to four bytes. */
function storeUtf8(at: usize, code: u32): usize {
  if (code < 0x80) {
    store<u8>(at, code);
    return at + 1;
  }
  const bytes: usize = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  let left = code;
  for (let place = at + bytes - 1; place > at; place--) {
    store<u8>(place, 0x80 | (left & 0x3f));
    left >>= 6;
  }
  store<u8>(at, ((0xf00 >> <u32>bytes) & 0xff) | left);
  return at + bytes;
}

/** The first quote, backslash or control character. */
@inline function stringStop(from: usize): usize {
  const quotes = i8x16.splat(<i8>QUOTE);
  const backslashes = i8x16.splat(<i8>BACKSLASH);
  const blanks = i8x16.splat(32);
  let at = from;
  while (true) {
    const bytes = v128.load(at);
    const isQuote = i8x16.eq(bytes, quotes);
    const isBackslash = i8x16.eq(bytes, backslashes);
    const mask = i8x16.bitmask(v128.or(v128.or(isQuote, isBackslash), i8x16.lt_u(bytes, blanks)));
    if (mask != 0) return at + <usize>ctz(mask);
    at += 16;
  }
}

/** Whether the value that begins with that byte has to be `null`, or what counts as it. */
@inline function isNone(byte: u32, at: usize): bool {
  return byte == N || byte == BIG_N || byte == BIG_I || (byte == MINUS && <u32>load<u8>(at, 1) == BIG_I);
}

/** Where `null`, `NaN`, `Infinity` or `-Infinity` ends; 0 for anything else. */
function noneEnd(start: usize): usize {
  const byte = <u32>load<u8>(start);
  if (byte == N) return literalEnd(start);
  if (byte == BIG_N) return load<u8>(start, 1) == 97 && load<u8>(start, 2) == BIG_N ? start + 3 : 0;
  const at = byte == MINUS ? start + 1 : start;
  return (load<u64>(at, 1) & SEVEN_BYTES) == AFTER_I ? at + 8 : 0;
}

/** Where `true`, `false` or `null` ends; 0 for anything else. What follows a value is checked elsewhere. */
function literalEnd(at: usize): usize {
  const four = load<u32>(at);
  if (four == TRUE || four == NULL) return at + 4;
  return four == BEGIN_OF_FALSE && load<u8>(at, 4) == E ? at + 5 : 0;
}

/** Whether the number that ended last has neither decimals nor an exponent, and is not -0. */
let isWholeNumber: bool = false;

/** Where the number that begins at `from` ends; 0 if it is not a number. */
function numberTo(from: usize): usize {
  let at = from;
  const isNegative = load<u8>(at) == MINUS;
  if (isNegative) at++;
  const digitsFrom = at;
  at = digitsTo(at);
  if (at == digitsFrom) return 0;
  const beginsWithZero = load<u8>(digitsFrom) == ZERO;
  if (beginsWithZero && at - digitsFrom > 1) return 0;
  isWholeNumber = !(isNegative && beginsWithZero);
  if (load<u8>(at) == POINT) {
    isWholeNumber = false;
    const decimals = ++at;
    at = digitsTo(at);
    if (at == decimals) return 0;
  }
  if ((<u32>load<u8>(at) | 32) == E) {
    isWholeNumber = false;
    at++;
    const sign = <u32>load<u8>(at);
    if (sign == MINUS || sign == PLUS) at++;
    const digits = at;
    at = digitsTo(at);
    if (at == digits) return 0;
  }
  return at;
}

@inline function digitsTo(from: usize): usize {
  let at = from;
  while (<u32>load<u8>(at) - ZERO <= 9) at++;
  return at;
}

/** Where a value that is not read ends; 0 if it is not JSON, or is nested too deeply. */
function skipValue(start: usize, depth: u32): usize {
  const byte = <u32>load<u8>(start);
  if (byte == QUOTE) return skipText(start + 1);
  if (byte == T || byte == F) return literalEnd(start);
  if (isNone(byte, start)) return noneEnd(start);
  if (byte != OPEN_BRACE && byte != OPEN_BRACKET) return numberTo(start);
  if (depth == MOST_DEPTH) return 0;
  const isObject = byte == OPEN_BRACE;
  const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  let at = afterBlanks(start + 1);
  if (load<u8>(at) == close) return at + 1;
  while (true) {
    if (isObject) {
      if (load<u8>(at) != QUOTE) return 0;
      at = skipText(at + 1);
      if (at == 0) return 0;
      at = afterBlanks(at);
      if (load<u8>(at) != COLON) return 0;
      at = afterBlanks(at + 1);
    }
    at = skipValue(at, depth + 1);
    if (at == 0) return 0;
    at = afterBlanks(at);
    const after = <u32>load<u8>(at);
    if (after == close) return at + 1;
    if (after != COMMA) return 0;
    at = afterBlanks(at + 1);
  }
}

/** Position after the quote that ends the text; 0 if the text does not end, or has an invalid escape. */
function skipText(from: usize): usize {
  let at = from;
  while (true) {
    at = stringStop(at);
    const byte = <u32>load<u8>(at);
    if (byte == QUOTE) return at + 1;
    if (byte != BACKSLASH) return 0;
    const escape = <u32>load<u8>(at, 1);
    at += 2;
    if (escape == U) {
      for (let digits = 4; digits > 0; digits--) {
        if (!isHex(load<u8>(at))) return 0;
        at++;
      }
    } else if (!isEscape(escape)) return 0;
  }
}

@inline function isHex(byte: u32): bool {
  return byte - ZERO <= 9 || (byte | 32) - 97 <= 5;
}

/** `"`, `\`, `/`, b, f, n, r, t. */
@inline function isEscape(byte: u32): bool {
  if (byte == QUOTE || byte == BACKSLASH || byte == 47 || byte == 98) return true;
  return byte == F || byte == N || byte == 114 || byte == T;
}
