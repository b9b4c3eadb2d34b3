/** Reads the chunks of a RecordIO file one after the other, past damage: bytes that follow it and are a chunk count. */
import { LIMITS } from '../../../base/limits.ts';
import type { ForwardBytes } from '../../forward.ts';
import { decodeBody, faultOf } from './body.ts';
import { type ChunkHeader, COMPRESSORS, decodeHeader, HEADER_BYTES, MAGIC_TEXT } from './header.ts';

export interface ScannedChunk {
  /** From 1 on; a stretch of damage is one. */
  readonly number: number;
  readonly offset: number;
  /** Undefined when it is damaged. */
  readonly header?: ChunkHeader;
  /** Undefined when the chunk is corrupt. */
  readonly body?: Uint8Array;
  /** What is wrong with a corrupt one. */
  readonly fault?: string;
}

const SEARCHED_BYTES = 1 << 20;

export async function* scanChunks(input: ForwardBytes): AsyncGenerator<ScannedChunk> {
  let offset = 0;
  for (let number = 1; (await input.peek(1)).length > 0; number++) {
    const { bytes, ...chunk } = await chunkAt(input);
    yield { number, offset, ...chunk };
    offset += bytes === undefined ? await passDamage(input) : (await input.take(bytes)).length;
  }
}

/** `bytes`: how many it has, unless its header may be damaged. */
async function chunkAt(
  input: ForwardBytes,
): Promise<Pick<ScannedChunk, 'header' | 'body' | 'fault'> & { bytes?: number }> {
  const header = decodeHeader(await input.peek(HEADER_BYTES));
  if (typeof header === 'string') return { fault: header };
  const end = HEADER_BYTES + header.bytes;
  const packed = (await input.peek(end)).subarray(HEADER_BYTES);
  const fault = faultOf(header, packed);
  if (fault !== undefined) return { header, fault };
  const body = decodeBody(header, packed);
  return typeof body === 'string' ? { header, fault: body, bytes: end } : { header, body, bytes: end };
}

/** Takes what is before the next whole chunk, or all that is left, and returns how many bytes these are. */
async function passDamage(input: ForwardBytes): Promise<number> {
  let passed = (await input.take(1)).length;
  let checked = 0;
  for (;;) {
    const bytes = await input.peek(SEARCHED_BYTES);
    const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(MAGIC_TEXT);
    const isEnd = bytes.length < SEARCHED_BYTES;
    const before = at >= 0 ? at : isEnd ? bytes.length : bytes.length - MAGIC_TEXT.length + 1;
    passed += (await input.take(before)).length;
    if (at < 0 && isEnd) return passed;
    if (at < 0) continue;
    const header = decodeHeader(await input.peek(HEADER_BYTES));
    // Bytes that were made to look like many large chunks would be read for each of them.
    if (typeof header !== 'string' && checked <= LIMITS.recordioSearchedBytes) {
      if (await isWhole(input, header)) return passed;
      checked += header.bytes;
    }
    passed += (await input.take(1)).length;
  }
}

async function isWhole(input: ForwardBytes, header: ChunkHeader): Promise<boolean> {
  if (COMPRESSORS[header.compressor] === undefined) return false;
  const chunk = await input.peek(HEADER_BYTES + header.bytes);
  return faultOf(header, chunk.subarray(HEADER_BYTES)) === undefined;
}
