/** The body of a chunk: of each record its length in four bytes, and its bytes. */
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { LIMITS } from '../../../../base/limits.ts';
import { type ChunkHeader, COMPRESSORS, type Compressor, encodeHeader, LENGTH_BYTES } from './header.ts';
import { decodeFrames, encodeFrames } from './snappy-frames.ts';

const COMPRESS: Readonly<Record<Compressor, (body: Uint8Array) => Uint8Array>> = {
  none: (body) => body,
  snappy: encodeFrames,
  gzip: (body) => gzipSync(body),
};

/** Throws when it is not compressed so, or gives more than `most` bytes. */
const DECOMPRESS: Readonly<Record<Compressor, (packed: Uint8Array, most: number) => Uint8Array>> = {
  none: (packed) => packed,
  snappy: decodeFrames,
  gzip: (packed, most) => gunzipSync(packed, { maxOutputLength: most }),
};

/** A whole chunk, with its header. */
export function encodeChunk(records: readonly Uint8Array[], compressor: Compressor): Buffer {
  const body = Buffer.allocUnsafe(records.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0));
  let at = 0;
  for (const record of records) {
    at = body.writeUInt32LE(record.length, at);
    body.set(record, at);
    at += record.length;
  }
  const packed = COMPRESS[compressor](body);
  const number = COMPRESSORS.indexOf(compressor);
  const header = { crc32: crc32(packed), compressor: number, bytes: packed.length, records: records.length };
  return Buffer.concat([encodeHeader(header), packed]);
}

/** Undefined when these are the bytes that its header means. */
export function faultOf({ bytes, crc32: expected }: ChunkHeader, packed: Uint8Array): string | undefined {
  if (packed.length < bytes) {
    return cutOff(bytes, packed.length);
  }
  const found = crc32(packed);
  return found === expected ? undefined : `its CRC-32 is ${hex(found)}, expected ${hex(expected)}`;
}

export const cutOff = (expected: number, found: number): string =>
  `it is cut off: expected ${expected} bytes after its header, got ${found}`;

const hex = (crc: number): string => `0x${crc.toString(16).padStart(8, '0')}`;

/** What is wrong with it, when bytes that are as they were written are not a body as its header says. */
export function decodeBody(
  header: ChunkHeader,
  packed: Uint8Array,
  most: number = LIMITS.recordioChunkBytes,
): Uint8Array | string {
  const compressor = COMPRESSORS[header.compressor];
  if (compressor === undefined) {
    const known = COMPRESSORS.map((name, number) => `${number} (${name})`).join(', ');
    return `its compressor is ${header.compressor}, expected ${known}`;
  }
  let body: Uint8Array;
  try {
    body = DECOMPRESS[compressor](packed, most);
  } catch (error) {
    return `its ${compressor} data cannot be decompressed: ${(error as Error).message}`;
  }
  let records = 0;
  let end = 0;
  for (const record of recordsOf(body)) {
    records += 1;
    end = record.end;
    if (records > header.records) return `it has more than ${header.records} records`;
  }
  if (end !== body.length) return `its records end at byte ${end} of ${body.length}`;
  return records === header.records ? body : `it has ${records} records, expected ${header.records}`;
}

/** Records of a body, by their positions in it. */
export interface BodyRange {
  readonly body: Uint8Array;
  readonly from: number;
  /** Exclusive; may be behind the last one. */
  readonly to: number;
}

/** Where the records of a body are; those that are whole. */
export function* recordsOf(body: Uint8Array): Generator<{ readonly start: number; readonly end: number }> {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  for (let at = 0; at + LENGTH_BYTES <= body.length; ) {
    const start = at + LENGTH_BYTES;
    at = start + view.getUint32(at, true);
    if (at > body.length) return;
    yield { start, end: at };
  }
}
