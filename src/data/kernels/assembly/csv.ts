// Lines of CSV text. `formats/csv/line-reader.ts` is the plain form, and reads each line that is unusual.

import { NEWLINE } from './ascii';
import { Field, FIELD_BYTES, Frame, IGNORED } from './frame';
import { isBlankBut, isMissingText, take } from './values';

/** The first `a` or `b` from there on; one follows. Up to 15 bytes after it are read. */
@inline export function findEither(from: usize, a: v128, b: v128): usize {
  let at = from;
  while (true) {
    const bytes = v128.load(at);
    const mask = i8x16.bitmask(v128.or(i8x16.eq(bytes, a), i8x16.eq(bytes, b)));
    if (mask != 0) return at + <usize>ctz(mask);
    at += 16;
  }
}

/** Where the line ends that begins at `start`; 0 when it is unusual. */
export function parseCsvRecord(frame: Frame, start: usize, record: u32): usize {
  return parseRecord(frame, start, record, false);
}

/** The same of interactions: the delimiter may be there twice or several times, and fields may follow the last one. */
export function parseInteraction(frame: Frame, start: usize, record: u32): usize {
  return parseRecord(frame, start, record, true);
}

/** Inlined, CSV has a loop without what is for interactions. */
@inline
function parseRecord(frame: Frame, start: usize, record: u32, isInteraction: bool): usize {
  const delimiter = frame.delimiter;
  const notBlank = isInteraction ? frame.notBlank : delimiter;
  const isDouble = isInteraction && frame.isDouble != 0;
  const quote = frame.quote;
  const missingLengths = frame.missingLengths;
  const delimiters = i8x16.splat(<i8>delimiter);
  const newlines = i8x16.splat(<i8>NEWLINE);
  let at = start;
  let entry = <usize>frame.fields;
  const lastEntry = entry + <usize>frame.fieldCount * FIELD_BYTES;
  while (true) {
    if (entry == lastEntry) return 0;
    const field = changetype<Field>(entry);
    entry += FIELD_BYTES;
    let byte = <u32>load<u8>(at);
    while (isBlankBut(byte, notBlank)) byte = load<u8>(++at);
    // Blanks that divide, and no field behind them.
    if (isInteraction && byte == NEWLINE && notBlank != delimiter) return 0;
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
      while (isBlankBut(byte, notBlank)) byte = load<u8>(++at);
      // Another quote is among what must not follow.
      if (byte != delimiter && byte != NEWLINE) return 0;
    } else {
      to = findEither(from, delimiters, newlines);
      while (isDouble && load<u8>(to) == delimiter && load<u8>(to + 1) != delimiter) {
        to = findEither(to + 1, delimiters, newlines);
      }
      at = to;
      byte = load<u8>(to);
      while (to > from && isBlankBut(load<u8>(to - 1), notBlank)) to--;
    }
    const length = to - from;
    const isMissing = <bool>((missingLengths >> <u64>min<usize>(length, 63)) & 1) && isMissingText(frame, from, length);
    if (!take(frame, field, from, to, isMissing, record)) return 0;
    if (byte == NEWLINE) return entry == lastEntry ? at + 1 : 0;
    if (isInteraction && entry == lastEntry) return findEither(at, newlines, newlines) + 1;
    at += isDouble ? 2 : 1;
  }
}
