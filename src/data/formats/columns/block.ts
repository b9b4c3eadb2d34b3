/** The bytes of a block of a columns file (docs/columns-file.md): some records, column by column. Little-endian. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { LIMITS } from '../../../base/limits.ts';

/** Most records of a block. */
export const BLOCK_RECORDS = 1024;
export const HEAD_BYTES = 32;
const ENTRY_BYTES = 16;
/** The check sum is of what follows it. */
const HEAD = { bytes: 0, crc32: 4, records: 8, good: 12, position: 16, sections: 24 } as const;

export const SECTION = {
  labels: 1,
  weights: 2,
  groups: 3,
  times: 4,
  numbers: 5,
  ids: 6,
  listEnds: 7,
  listIds: 8,
  badPositions: 9,
  badReasons: 10,
} as const;

export interface Section {
  readonly kind: number;
  /** Number of the column, among those of the file. */
  readonly column: number;
  readonly content: ArrayBufferView;
}

export interface BlockHead {
  readonly bytes: number;
  readonly records: number;
  /** Number of these records that are good. */
  readonly good: number;
  /** Position of the first record in the file. */
  readonly position: number;
}

export interface Block extends BlockHead {
  /** Undefined without such a section. Offsets and lengths are in bytes; they begin at a multiple of eight. */
  section(kind: number, column: number): { readonly offset: number; readonly length: number } | undefined;
}

const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** One without records ends a file: its position is the number of records. */
export function encodeBlock(
  { records, good, position }: Omit<BlockHead, 'bytes'>,
  sections: readonly Section[],
): Buffer {
  let at = HEAD_BYTES + ENTRY_BYTES * sections.length;
  const total = sections.reduce((sum, { content }) => sum + padded(content.byteLength), at);
  assert(total <= LIMITS.recordBytes, 'a block has at most the size of a record');
  const block = Buffer.alloc(total);
  block.writeUInt32LE(total, HEAD.bytes);
  block.writeUInt32LE(records, HEAD.records);
  block.writeUInt32LE(good, HEAD.good);
  block.writeUInt32LE(sections.length, HEAD.sections);
  block.writeBigUInt64LE(BigInt(position), HEAD.position);
  sections.forEach(({ kind, column, content }, number) => {
    const entry = HEAD_BYTES + ENTRY_BYTES * number;
    block.writeUInt16LE(kind, entry);
    block.writeUInt16LE(column, entry + 2);
    block.writeUInt32LE(at, entry + 4);
    block.writeUInt32LE(content.byteLength, entry + 8);
    block.set(new Uint8Array(content.buffer, content.byteOffset, content.byteLength), at);
    at += padded(content.byteLength);
  });
  block.writeUInt32LE(crc32(block.subarray(HEAD.records)), HEAD.crc32);
  return block;
}

/** `bytes`: at least `HEAD_BYTES` of a block. Undefined if they are not a block. */
export function headOf(bytes: Buffer): BlockHead | undefined {
  const total = bytes.readUInt32LE(HEAD.bytes);
  const position = bytes.readBigUInt64LE(HEAD.position);
  const [records, good] = [bytes.readUInt32LE(HEAD.records), bytes.readUInt32LE(HEAD.good)];
  const isFit = total >= HEAD_BYTES && total % 8 === 0 && position <= Number.MAX_SAFE_INTEGER;
  return isFit && records <= BLOCK_RECORDS && good <= records
    ? { bytes: total, records, good, position: Number(position) }
    : undefined;
}

/** `bytes`: of one block. Undefined when its check sum differs, or its sections are not within it. */
export function decodeBlock(bytes: Buffer): Block | undefined {
  const head = headOf(bytes);
  if (head === undefined || head.bytes !== bytes.length) return undefined;
  if (bytes.readUInt32LE(HEAD.crc32) !== crc32(bytes.subarray(HEAD.records))) return undefined;
  const sections = new Map<number, { offset: number; length: number }>();
  const count = bytes.readUInt32LE(HEAD.sections);
  const tableEnd = HEAD_BYTES + ENTRY_BYTES * count;
  if (tableEnd > bytes.length) return undefined;
  for (let entry = HEAD_BYTES; entry < tableEnd; entry += ENTRY_BYTES) {
    const [kind, column] = [bytes.readUInt16LE(entry), bytes.readUInt16LE(entry + 2)];
    const [offset, length] = [bytes.readUInt32LE(entry + 4), bytes.readUInt32LE(entry + 8)];
    if (offset % 8 !== 0 || offset < tableEnd || offset + length > bytes.length) return undefined;
    sections.set(keyOf(kind, column), { offset, length });
  }
  return { ...head, section: (kind, column) => sections.get(keyOf(kind, column)) };
}

const keyOf = (kind: number, column: number): number => kind * 65_536 + column;
