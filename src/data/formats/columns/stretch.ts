/** Reads the blocks of a columns file, some at a time, so that the event loop turns between them. */
import { LIMITS } from '../../../base/limits.ts';
import { type Block, decodeBlock, HEAD_BYTES, headOf } from './block.ts';
import { Fault } from './records.ts';

const SLICE_BYTES = 1 << 20;

export interface BlockStretch {
  readonly from: number;
  readonly to: number;
  /** Shorter only where the file ends. */
  readonly read: (offset: number, bytes: number) => Promise<Uint8Array>;
}

export interface ReadBlock {
  readonly block: Block;
  readonly bytes: Buffer;
  readonly offset: number;
}

/** Throws a `Fault` when the stretch is not whole blocks. */
export async function* blocksIn({ from, to, read }: BlockStretch): AsyncGenerator<ReadBlock> {
  for (let at = from; at < to; ) {
    let slice = bufferOf(await read(at, Math.min(SLICE_BYTES, to - at)));
    if (slice.length < HEAD_BYTES) throw new Fault('the file ends within a block');
    const first = headOf(slice);
    if (first === undefined || first.bytes > LIMITS.recordBytes || first.bytes > to - at) {
      throw new Fault(`byte ${at} is not the start of a block`);
    }
    if (first.bytes > slice.length) slice = bufferOf(await read(at, first.bytes));
    let start = 0;
    while (slice.length - start >= HEAD_BYTES) {
      const head = headOf(slice.subarray(start));
      if (head === undefined) throw new Fault(`byte ${at + start} is not the start of a block`);
      if (start + head.bytes > slice.length) break;
      const bytes = slice.subarray(start, start + head.bytes);
      const block = decodeBlock(bytes);
      if (block === undefined) throw new Fault(`the check sum of the block at byte ${at + start} differs`);
      yield { block, bytes, offset: at + start };
      start += head.bytes;
    }
    if (start === 0) throw new Fault('the file ends within a block');
    at += start;
  }
}

/** At an address that is a multiple of eight. */
function bufferOf(bytes: Uint8Array): Buffer {
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return Buffer.from(aligned.buffer, aligned.byteOffset, aligned.length);
}
