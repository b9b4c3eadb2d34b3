// Lines of text with columns, whatever the text of a line is: records one by one, until one is for the plain form.

import { NEWLINE } from './ascii';
import { findEither, parseCsvRecord, parseInteraction } from './csv';
import { DONE, Frame, FULL, UNUSUAL } from './frame';
import { parseJsonRecord } from './json';
import { isBlankBut } from './values';

/** What the text of a line is. */
const CSV: u32 = 0;
const JSON: u32 = 1;
const INTERACTIONS: u32 = 2;

export function parseCsv(frame: Frame): u32 {
  return readLines(frame, CSV);
}

export function parseJson(frame: Frame): u32 {
  return readLines(frame, JSON);
}

export function parseInteractions(frame: Frame): u32 {
  return readLines(frame, INTERACTIONS);
}

/** Reads records until one of the three. Inlined, each form has a separate loop. */
@inline
function readLines(frame: Frame, form: u32): u32 {
  const end = <usize>frame.end;
  const quota = frame.quota;
  const notBlank = frame.notBlank;
  const comment = frame.comment;
  const newlines = i8x16.splat(<i8>NEWLINE);
  let at = <usize>frame.at;
  let line = frame.line;
  let records: u32 = 0;
  let status = DONE;
  while (at < end) {
    let from = at;
    let byte = <u32>load<u8>(from);
    while (isBlankBut(byte, notBlank)) byte = load<u8>(++from);
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
    const next =
      form == JSON
        ? parseJsonRecord(frame, from, records)
        : form == CSV
          ? parseCsvRecord(frame, from, records)
          : parseInteraction(frame, from, records);
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
