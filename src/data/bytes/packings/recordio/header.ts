/** The header of a chunk: 20 bytes, five little-endian numbers of 32 bits. */
import { LIMITS } from '../../../../base/limits.ts';

export const HEADER_BYTES = 20;
/** Bytes of the length that each record has in the body of a chunk. */
export const LENGTH_BYTES = 4;
const MAGIC = 0x01020304;
export const MAGIC_TEXT = Buffer.of(4, 3, 2, 1);

/** Compressors; the index is the number in the header. */
export const COMPRESSORS = ['none', 'snappy', 'gzip'] as const;
export type Compressor = (typeof COMPRESSORS)[number];

export interface ChunkHeader {
  /** CRC-32 of the body as it is in the file. */
  readonly crc32: number;
  /** A number of `COMPRESSORS`, unless another program knows more of them. */
  readonly compressor: number;
  /** Bytes of the body as it is in the file. */
  readonly bytes: number;
  readonly records: number;
}

export const beginsChunk = (bytes: Uint8Array): boolean => MAGIC_TEXT.every((byte, at) => bytes[at] === byte);

export function encodeHeader({ crc32, compressor, bytes, records }: ChunkHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  for (const [at, value] of [MAGIC, crc32, compressor, bytes, records].entries()) header.writeUInt32LE(value, 4 * at);
  return header;
}

/** What is wrong with it otherwise. `bytes`: as many as a header has, or all that there are. */
export function decodeHeader(bytes: Uint8Array): ChunkHeader | string {
  if (!beginsChunk(bytes)) {
    const found = Buffer.from(bytes.subarray(0, MAGIC_TEXT.length)).toString('hex');
    return `expected the bytes ${MAGIC_TEXT.toString('hex')}, which begin a chunk, got ${found}`;
  }
  if (bytes.length < HEADER_BYTES) return `its header is cut off: expected ${HEADER_BYTES} bytes, got ${bytes.length}`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const [crc32 = 0, compressor = 0, size = 0, records = 0] = [4, 8, 12, 16].map((at) => view.getUint32(at, true));
  if (size > LIMITS.recordioChunkBytes) {
    return `its header says ${size} bytes, expected at most ${LIMITS.recordioChunkBytes}`;
  }
  if (records > LIMITS.recordioChunkRecords) {
    return `its header says ${records} records, expected at most ${LIMITS.recordioChunkRecords}`;
  }
  return { crc32, compressor, bytes: size, records };
}
