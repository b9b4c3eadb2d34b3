/**
 * Snappy blocks (google/snappy, format_description.txt). What decompresses them is a kernel of hyparquet's makers; it
 * is told nothing of the size of its output: it believes the data.
 */
import { snappyUncompressor } from 'hysnappy';

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

const LEAST_MATCH = 4;
const LONGEST_COPY = 64;
const TABLE_BITS = 13;
const TAG = { literal: 0, copy2: 2 };

/** Of at most 64 KiB. Greedy, with copies of one form: as good as is needed for lines of text. */
export function compressedSnappy(bytes: Uint8Array): Uint8Array {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Literals take three bytes more at most, and a copy is no longer than what it stands for.
  const output = Buffer.allocUnsafe(8 + bytes.length + Math.ceil(bytes.length / LEAST_MATCH));
  let end = 0;
  for (let rest = bytes.length, isMore = true; isMore; rest >>>= 7) {
    isMore = rest > 127;
    output[end++] = (rest & 127) | (isMore ? 128 : 0);
  }
  const literal = (from: number, to: number): void => {
    const last = to - from - 1;
    if (last < 0) return;
    const extra = last < 60 ? 0 : last < 256 ? 1 : 2;
    output[end++] = TAG.literal | ((extra === 0 ? last : 59 + extra) << 2);
    if (extra > 0) end = output.writeUIntLE(last, end, extra);
    end += input.copy(output, end, from, to);
  };
  const seen = new Int32Array(1 << TABLE_BITS).fill(-1);
  let copied = 0;
  for (let at = 0; at + LEAST_MATCH <= input.length; ) {
    const word = input.readInt32LE(at);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - TABLE_BITS);
    const before = seen[slot]!;
    seen[slot] = at;
    if (before < 0 || input.readInt32LE(before) !== word) {
      at += 1;
      continue;
    }
    let length = LEAST_MATCH;
    while (length < LONGEST_COPY && at + length < input.length && input[before + length] === input[at + length]) {
      length += 1;
    }
    literal(copied, at);
    output[end++] = TAG.copy2 | ((length - 1) << 2);
    end = output.writeUInt16LE(at - before, end);
    at += length;
    copied = at;
  }
  literal(copied, input.length);
  return output.subarray(0, end);
}
