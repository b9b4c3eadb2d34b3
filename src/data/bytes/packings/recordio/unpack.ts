/** RecordIO as a packing of text: each record becomes a line. */
import { PaddletError } from '../../../../base/errors.ts';
import { markBytes, NEWLINE } from '../../../ascii.ts';
import type { Packing } from '../packing.ts';
import { type BodyRange, recordsOf } from './body.ts';
import { beginsChunk } from './header.ts';
import { type ScannedChunk, scanChunks } from './scan.ts';

const SPACE = 32;
const BRACES = { open: 123, close: 125 };

export const recordioPacking: Packing = {
  // No text begins with these control characters, and neither do idx, Parquet and columns files.
  begins: beginsChunk,
  async *unpack(packed, { path, turn, onCorruptChunk }) {
    try {
      for await (const chunk of scanChunks(packed, { turn })) {
        if (chunk.body !== undefined) yield linesOf({ body: chunk.body, from: 0, to: Number.POSITIVE_INFINITY });
        else if (onCorruptChunk === undefined) throw corruptChunk(path, chunk);
        else onCorruptChunk({ message: describeFault(chunk), records: chunk.header?.records ?? 0 });
      }
    } finally {
      await packed.close();
    }
  },
};

export const describeFault = ({ number, offset, fault }: ScannedChunk): string =>
  `chunk ${number}, at byte ${offset}: ${fault}`;

export const corruptChunk = (path: string, chunk: ScannedChunk): PaddletError =>
  new PaddletError('DataInvalid', `${path}: ${describeFault(chunk)}`, {
    hint: 'fetch or write the file again, or skip such chunks with data.corruptChunks: skip',
  });

/** Each record as a line. */
export function linesOf({ body, from, to }: BodyRange): Uint8Array {
  // The length of a record takes more room than its line break.
  const text = Buffer.allocUnsafe(body.length);
  let length = 0;
  let position = 0;
  for (const { start, end } of recordsOf(body)) {
    if (position >= to) break;
    if (position++ < from) continue;
    const line = text.subarray(length, length + end - start);
    line.set(body.subarray(start, end));
    length += line.length;
    const firstBreak = line.indexOf(NEWLINE);
    const isEnded = line.at(-1) === NEWLINE;
    if (firstBreak >= 0 && firstBreak < line.length - 1 && isObject(line)) {
      onOneLine(isEnded ? line.subarray(0, -1) : line);
    }
    if (!isEnded) text[length++] = NEWLINE;
  }
  return text.subarray(0, length);
}

/**
 * JSON over several lines: between its texts, which have no line break, a space means the same as one. Several objects,
 * one a line, stay lines: within an object none begins on a line behind the end of another, as a comma is between them.
 */
function isObject(line: Uint8Array): boolean {
  let last: number | undefined;
  let isNewLine = false;
  for (let at = markBytes(line); at < line.length; at++) {
    const byte = line[at]!;
    if (byte === NEWLINE) isNewLine = true;
    if (byte <= SPACE) continue;
    if (byte !== BRACES.open && last === undefined) return false;
    if (byte === BRACES.open && last === BRACES.close && isNewLine) return false;
    last = byte;
    isNewLine = false;
  }
  return last === BRACES.close;
}

function onOneLine(line: Uint8Array): void {
  for (let at = line.indexOf(NEWLINE); at >= 0; at = line.indexOf(NEWLINE, at + 1)) line[at] = SPACE;
}
