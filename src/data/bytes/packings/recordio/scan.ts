/** Reads the chunks of a RecordIO file one after the other, past damage: a whole chunk that follows it counts. */
import { LIMITS } from '../../../../base/limits.ts';
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
/** A search waits for nothing else, so the event loop turns after this many places that look like chunks. */
const CHECKS_PER_TURN = 1 << 12;

export interface ScanOptions {
  /** Bytes that are checked in vain, beyond those that are passed, before the rest is given up. */
  readonly most?: number;
  /** Lets the event loop turn. */
  readonly turn?: (() => Promise<void>) | undefined;
}

export async function* scanChunks(
  input: ForwardBytes,
  { most = LIMITS.recordioSearchedBytes, turn }: ScanOptions = {},
): AsyncGenerator<ScannedChunk> {
  const scan: Scan = { input, offset: 0, inVain: 0, most, turn };
  for (let number = 1; (await input.peek(1)).length > 0; number++) {
    const { offset } = scan;
    if (isGivenUp(scan)) {
      yield {
        number,
        offset,
        fault: `more than ${most} bytes look like chunks but are not: paddlet does not search the rest`,
      };
      while ((await take(scan, SEARCHED_BYTES)) > 0);
      return;
    }
    const { bytes, ...chunk } = await chunkAt(scan);
    yield { number, offset, ...chunk };
    if (bytes === undefined) await passDamage(scan);
    else await take(scan, bytes);
  }
}

interface Scan {
  readonly input: ForwardBytes;
  readonly most: number;
  readonly turn: ScanOptions['turn'];
  /** Offset of the next byte. */
  offset: number;
  /** Bytes that were read as those of a chunk, but are not a chunk. */
  inVain: number;
}

/** Bytes that were made to look like many large chunks would be read for each of them. */
const isGivenUp = ({ offset, inVain, most }: Scan): boolean => inVain > most + offset;

async function take(scan: Scan, count: number): Promise<number> {
  const { length } = await scan.input.take(count);
  scan.offset += length;
  return length;
}

/** `bytes`: how many it has, unless its header may be damaged. */
async function chunkAt(
  scan: Scan,
): Promise<Pick<ScannedChunk, 'header' | 'body' | 'fault'> & { readonly bytes?: number }> {
  const { input } = scan;
  const header = decodeHeader(await input.peek(HEADER_BYTES));
  if (typeof header === 'string') return { fault: header };
  const end = HEADER_BYTES + header.bytes;
  const packed = (await input.peek(end)).subarray(HEADER_BYTES);
  const fault = faultOf(header, packed);
  if (fault !== undefined) {
    scan.inVain += packed.length;
    return { header, fault, ...((await endsAt(input, header)) ? { bytes: end } : {}) };
  }
  const body = decodeBody(header, packed);
  return typeof body === 'string' ? { header, fault: body, bytes: end } : { header, body, bytes: end };
}

/** Whether a body with a wrong check sum ends where its header says: the file ends there, or another header begins. */
async function endsAt(input: ForwardBytes, header: ChunkHeader): Promise<boolean> {
  if (COMPRESSORS[header.compressor] === undefined) return false;
  const end = HEADER_BYTES + header.bytes;
  const bytes = await input.peek(end + HEADER_BYTES);
  return bytes.length === end || (bytes.length > end && isPlausible(decodeHeader(bytes.subarray(end))));
}

const isPlausible = (header: ChunkHeader | string): header is ChunkHeader =>
  typeof header !== 'string' && COMPRESSORS[header.compressor] !== undefined;

/** Takes what is before the next whole chunk, or before where the search is given up, or all that is left. */
async function passDamage(scan: Scan): Promise<void> {
  const { input } = scan;
  await take(scan, 1);
  for (let checks = 1; !isGivenUp(scan); checks++) {
    const bytes = await input.peek(SEARCHED_BYTES);
    const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(MAGIC_TEXT);
    const isEnd = bytes.length < SEARCHED_BYTES;
    await take(scan, at >= 0 ? at : isEnd ? bytes.length : bytes.length - MAGIC_TEXT.length + 1);
    if (at < 0 && isEnd) return;
    if (at < 0 || checks % CHECKS_PER_TURN === 0) await scan.turn?.();
    if (at < 0) continue;
    const header = decodeHeader(await input.peek(HEADER_BYTES));
    if (isPlausible(header) && (await isWhole(input, header))) return;
    scan.inVain += HEADER_BYTES + (isPlausible(header) ? header.bytes : 0);
    await take(scan, 1);
  }
}

async function isWhole(input: ForwardBytes, header: ChunkHeader): Promise<boolean> {
  const chunk = await input.peek(HEADER_BYTES + header.bytes);
  return faultOf(header, chunk.subarray(HEADER_BYTES)) === undefined;
}
