/** LZ4 blocks (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md): Node has no decoder of them. */
import { Fault } from './fault.ts';

const LEAST_MATCH = 4;
const HADOOP_HEAD_BYTES = 8;
/** Up to this many bytes are copied one by one, which is faster than a call. */
const SHORT = 24;

/** Decompresses one block. Throws a `Fault` unless it has `size` bytes. */
export function decompressedLz4(bytes: Uint8Array, size: number): Uint8Array {
  const into = new Uint8Array(size);
  let [at, to] = [0, 0];
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; length += byte) byte = bytes[at++] ?? 0;
    return length;
  };
  while (at < bytes.length) {
    const token = bytes[at++]!;
    const literals = lengthOf(token >> 4);
    if (at + literals > bytes.length || to + literals > size) throw new Fault('LZ4 data is cut off or too long');
    if (literals > SHORT) into.set(bytes.subarray(at, at + literals), to);
    else for (let byte = 0; byte < literals; byte++) into[to + byte] = bytes[at + byte]!;
    at += literals;
    to += literals;
    // The last sequence has no match.
    if (at === bytes.length) break;
    const distance = bytes[at]! | ((bytes[at + 1] ?? 0) << 8);
    at += 2;
    const match = lengthOf(token & 15) + LEAST_MATCH;
    if (distance === 0 || distance > to || to + match > size) throw new Fault('an LZ4 match is outside of the block');
    // A match may go on into what it makes.
    if (match > SHORT && distance >= match) into.copyWithin(to, to - distance, to - distance + match);
    else for (let byte = 0; byte < match; byte++) into[to + byte] = into[to + byte - distance]!;
    to += match;
  }
  if (to !== size) throw new Fault(`LZ4 data has ${to} bytes, and its header says ${size}`);
  return into;
}

/** What old writers call LZ4: blocks behind their sizes, as Hadoop has them, or a block alone. */
export function decompressedHadoopLz4(bytes: Uint8Array, size: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocks: Uint8Array[] = [];
  let [at, to] = [0, 0];
  while (at + HADOOP_HEAD_BYTES <= bytes.length) {
    const [made, stored] = [view.getUint32(at), view.getUint32(at + 4)];
    at += HADOOP_HEAD_BYTES;
    if (stored > bytes.length - at || made > size - to) return decompressedLz4(bytes, size);
    blocks.push(decompressedLz4(bytes.subarray(at, at + stored), made));
    at += stored;
    to += made;
  }
  return at === bytes.length && to === size ? Buffer.concat(blocks) : decompressedLz4(bytes, size);
}
