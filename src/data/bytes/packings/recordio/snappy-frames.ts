/** The framing format of snappy (google/snappy, framing_format.txt): blocks of at most 64 KiB with their CRC-32C. */
import { maskedCrc32c } from '../../../../base/crc32c.ts';
import { compressedSnappy, snappyBytes, uncompressedSnappy } from '../../snappy.ts';

const BLOCK_BYTES = 1 << 16;
/**
 * Maximum number of frames in a stream: a hundred times what blocks of this size need. Some writers flush after each
 * record.
 */
const MOST_FRAMES = 2 ** 18;
const HEADER_BYTES = 4;
const CRC_BYTES = 4;
const KIND = { compressed: 0x00, plain: 0x01, identifier: 0xff };
/** From here on frames are skipped, if they are not known. */
const SKIPPABLE = 0x80;
const IDENTIFIER = Buffer.from('sNaPpY');

export function encodeFrames(bytes: Uint8Array): Buffer {
  const frames = [frameOf(KIND.identifier, IDENTIFIER)];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    const compressed = compressedSnappy(block);
    const isSmaller = compressed.length < block.length;
    const crc = Buffer.alloc(CRC_BYTES);
    crc.writeUInt32LE(maskedCrc32c(block));
    frames.push(frameOf(isSmaller ? KIND.compressed : KIND.plain, crc, isSmaller ? compressed : block));
  }
  return Buffer.concat(frames);
}

function frameOf(kind: number, ...data: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = kind;
  header.writeUIntLE(
    data.reduce((sum, { length }) => sum + length, 0),
    1,
    3,
  );
  return Buffer.concat([header, ...data]);
}

/** Throws when they are not valid, or give more than `most` bytes. */
export function decodeFrames(bytes: Uint8Array, most: number): Buffer {
  const input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const blocks: Uint8Array[] = [];
  let total = 0;
  let frames = 0;
  for (let at = 0; at < input.length; ) {
    frames += 1;
    if (frames > MOST_FRAMES) throw new Error(`it has more than ${MOST_FRAMES} frames`);
    const kind = input[at]!;
    const start = at + HEADER_BYTES;
    const end = start + (start > input.length ? 0 : input.readUIntLE(at + 1, 3));
    if (start > input.length || end > input.length) throw new Error(`the frame at byte ${at} is cut off`);
    const data = input.subarray(start, end);
    if (at === 0 && kind !== KIND.identifier) throw new Error('it does not begin as a snappy stream');
    if (kind === KIND.identifier && !data.equals(IDENTIFIER))
      throw new Error(`the frame at byte ${at} is not a stream start`);
    if (kind === KIND.compressed || kind === KIND.plain) {
      const block = blockOf(kind, data, at);
      total += block.length;
      if (total > most) throw new Error(`it has more than ${most} bytes`);
      if (block.length > 0) blocks.push(block);
    } else if (kind < SKIPPABLE) {
      throw new Error(`the frame at byte ${at} is of the unknown kind ${kind}`);
    }
    at = end;
  }
  return Buffer.concat(blocks);
}

function blockOf(kind: number, data: Buffer, at: number): Uint8Array {
  if (data.length < CRC_BYTES) throw new Error(`the frame at byte ${at} is too short`);
  const content = data.subarray(CRC_BYTES);
  const size = kind === KIND.plain ? content.length : snappyBytes(content);
  if (size > BLOCK_BYTES) throw new Error(`the frame at byte ${at} has ${size} bytes, expected at most ${BLOCK_BYTES}`);
  // The kernel does not take a block of nothing.
  const block = kind === KIND.plain || size === 0 ? content.subarray(0, size) : uncompressedSnappy(content, size);
  const [found, expected] = [maskedCrc32c(block), data.readUInt32LE(0)];
  if (found === expected) return block;
  throw new Error(`the CRC-32C of the frame at byte ${at} is ${found}, expected ${expected}`);
}
