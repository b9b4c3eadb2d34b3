/**
 * Writes and reads the headers of hot messages without the library (docs/decisions/0101): straight to and from the
 * bytes of a frame, with what is expected next compared, not looked up. The code for each message is made from its
 * table of fields (`messages/hot-messages.ts`) by `scripts/generate-headers.ts`. Written bytes are those that the
 * library (`cbor.ts`) makes of the same fields in this order; what is read is valid. Anything else, even if merely
 * unusual, is left to the library.
 */
import { Cursor } from './cursor.ts';
import type { FrameKind } from './frame-kind.ts';
import { HOT_HEADERS } from './generated/headers.ts';
import { isPlainMap, Pen } from './pen.ts';

/**
 * Writes a header from `at` on and returns where it ends; undefined, with anything behind `at`, when the library has to
 * write it or `into` is too short.
 */
export function writeHotHeader(kind: FrameKind, header: unknown, into: Uint8Array, at: number): number | undefined {
  if (!isPlainMap(header)) return undefined;
  for (const { type, write } of HOT_HEADERS[kind]) {
    if (type !== header.type) continue;
    const pen = new Pen(into, at);
    write(pen, header);
    return pen.end;
  }
  return undefined;
}

/** A valid header, or undefined when the library has to read it. */
export function readHotHeader(kind: FrameKind, bytes: Uint8Array, from: number, to: number): unknown {
  const cursor = new Cursor(bytes, from, to);
  const pairs = cursor.openMap();
  for (const { opening, read } of HOT_HEADERS[kind]) {
    if (!cursor.meets(opening)) continue;
    const header = read(cursor, pairs);
    return cursor.isAtEnd ? header : undefined;
  }
  return undefined;
}
