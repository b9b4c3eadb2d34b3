/**
 * Snappy blocks (google/snappy, format_description.txt). The kernels are of hyparquet's makers; the one that
 * decompresses gets no size for its output: it trusts the data.
 */
import { snappyCompressor, snappyUncompressor } from 'hysnappy';

/** Its memory never shrinks: one that has become so large is not kept. */
const KEPT_BYTES = 1 << 26;
let kept: ReturnType<typeof snappyUncompressor> | undefined;

/** `size`: what `snappyBytes` says, which the caller has bounded. Throws what the kernel throws. */
export function uncompressedSnappy(block: Uint8Array, size: number): Uint8Array {
  if (block.length + size > KEPT_BYTES) return snappyUncompressor()(block, size);
  kept ??= snappyUncompressor();
  return kept(block, size);
}

/** The size that a block says it has when it is decompressed. */
export function snappyBytes(block: Uint8Array): number {
  let said = 0;
  for (let at = 0; at < 5; at++) {
    const byte = block[at] ?? 0;
    said += (byte & 127) * 2 ** (7 * at);
    if (byte < 128) break;
  }
  return said;
}

let compressor: ReturnType<typeof snappyCompressor> | undefined;

/** Compresses at most 64 KiB, so that its memory stays small. */
export function compressedSnappy(bytes: Uint8Array): Uint8Array {
  compressor ??= snappyCompressor();
  return compressor(bytes);
}
