/** Says what is wrong with a gzip file, member by member: zlib itself does not tell where. */
import { crc32, createInflateRaw } from 'node:zlib';
import { PaddletError } from '../../../../base/errors.ts';
import { FileBlocks } from '../../file-blocks.ts';
import { inflateBytes } from '../inflate-bytes.ts';
import type { PackedSource } from '../packing.ts';

type Readable = NonNullable<PackedSource['file']>;

const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
const FLAGS = { headerCrc: 2, extra: 4, name: 8, comment: 16 };

/** How far a file is whole members (RFC 1952), with zeros after them. */
interface Whole {
  /** Bytes of the file: where something else begins. */
  readonly upTo: number;
  readonly inflated: number;
}

/** The error for a gzip file that zlib refused because of `cause`. */
export async function brokenGzip(path: string, file: Readable, cause: Error): Promise<PaddletError> {
  const { upTo, inflated } = await wholeMembers(file);
  const begins = new Uint8Array(3);
  const next = begins.subarray(0, await file.read(begins, upTo));
  const sound = `the data before that byte is complete (${inflated} decompressed bytes)`;
  if (upTo > 0 && !(next[0] === 31 && next[1] === 139 && next[2] === 8)) {
    const more = (await file.size()) - upTo;
    return new PaddletError(
      'DataInvalid',
      `${path}: ${more} bytes that are not gzip data follow at byte ${upTo}; ${sound}`,
      {
        cause,
        hint: `if no data is missing, remove these bytes: head -c ${upTo} OLD > NEW`,
      },
    );
  }
  const where = upTo === 0 ? '' : ` (in the part that begins at byte ${upTo}; ${sound})`;
  return new PaddletError('DataInvalid', `${path} is not a valid gzip file: ${cause.message}${where}`, {
    cause,
    hint: 'check the file with gzip -t, and fetch it again',
  });
}

async function wholeMembers(file: Readable): Promise<Whole> {
  let whole: Whole = { upTo: 0, inflated: 0 };
  const blocks = new FileBlocks(file);
  for (;;) {
    const member = await memberAt(file, blocks, whole.upTo);
    if (member === undefined) return whole;
    const upTo = (await blocks.afterZeros(member.upTo)) ?? member.upTo;
    whole = { upTo, inflated: whole.inflated + member.inflated };
  }
}

/** Undefined when there is none, or none that is whole. */
async function memberAt(file: Readable, blocks: FileBlocks, from: number): Promise<Whole | undefined> {
  const start = await dataStart(file, from);
  if (start === undefined) return undefined;
  const inflate = createInflateRaw();
  let inflated = 0;
  let crc = 0;
  try {
    for await (const block of inflateBytes(inflate, blocks.from(start))) {
      inflated += block.length;
      crc = crc32(block, crc);
    }
  } catch {
    return undefined;
  }
  const end = start + inflate.bytesWritten;
  const trailer = Buffer.alloc(TRAILER_BYTES);
  if ((await file.read(trailer, end)) < TRAILER_BYTES) return undefined;
  const isSound = trailer.readUInt32LE(0) === crc && trailer.readUInt32LE(4) === inflated % 2 ** 32;
  return isSound ? { upTo: end + TRAILER_BYTES, inflated } : undefined;
}

/** Where the compressed data of the member at `from` begins. */
async function dataStart(file: Readable, from: number): Promise<number | undefined> {
  const head = Buffer.alloc(1 << 16);
  const count = await file.read(head, from);
  if (count < HEADER_BYTES || head.readUIntBE(0, 3) !== 0x1f8b08) return undefined;
  const flags = head[3]!;
  let at = HEADER_BYTES;
  if (flags & FLAGS.extra) at += 2 + head.readUInt16LE(at);
  for (const flag of [FLAGS.name, FLAGS.comment]) if (flags & flag) at = head.indexOf(0, at) + 1;
  return from + at + (flags & FLAGS.headerCrc ? 2 : 0);
}
