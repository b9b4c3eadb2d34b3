/**
 * Decompression of pages. zlib of Node is native code: it does gzip, zstd and brotli. Snappy is a kernel of
 * hyparquet's makers. Their LZ4 takes a stream that ends too early for one of zeros, so there is one here.
 */
import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { snappyBytes, uncompressedSnappy } from '../../bytes/snappy.ts';
import { Fault } from './fault.ts';
import { decompressedHadoopLz4, decompressedLz4 } from './lz4.ts';

type Decompress = (bytes: Uint8Array, size: number) => Uint8Array;

/** zlib allocates so much at once: the size is known, and pieces would be copied together. */
const bounded = (size: number) => ({ maxOutputLength: size, chunkSize: Math.max(size, constants.Z_MIN_CHUNK) });

const CODECS: Readonly<Partial<Record<CompressionCodec, Decompress>>> = {
  UNCOMPRESSED: (bytes) => bytes,
  SNAPPY: snappy,
  GZIP: (bytes, size) => gunzipSync(bytes, bounded(size)),
  ZSTD: (bytes, size) => zstdDecompressSync(bytes, bounded(size)),
  BROTLI: (bytes, size) => brotliDecompressSync(bytes, bounded(size)),
  LZ4: decompressedHadoopLz4,
  LZ4_RAW: decompressedLz4,
};

export const isKnownCodec = (codec: string): codec is CompressionCodec => Object.hasOwn(CODECS, codec);

/** `size`: of what comes out, which the caller has bounded. Throws a `Fault`. */
export function decompressed(codec: CompressionCodec, bytes: Uint8Array, size: number): Uint8Array {
  // Some writers compress nothing to nothing, which is not a valid stream.
  if (size === 0) return new Uint8Array(0);
  let result: Uint8Array;
  try {
    result = CODECS[codec]!(bytes, size);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`its ${codec} data cannot be decompressed: ${error instanceof Error ? error.message : error}`);
  }
  if (result.length !== size) throw new Fault(`it has ${result.length} bytes, and its header says ${size}`);
  return result;
}

function snappy(bytes: Uint8Array, size: number): Uint8Array {
  const said = snappyBytes(bytes);
  if (said !== size) throw new Fault(`its SNAPPY data has ${said} bytes, and its header says ${size}`);
  return uncompressedSnappy(bytes, size);
}
