/**
 * The bytes of a block in the data cache: docs/data-cache.md. Little-endian; a header, a table of sections, and the
 * sections, each at a multiple of eight, so that a reader makes views of what it has read at once.
 */
import { crc32 } from 'node:zlib';
import { PaddletError } from '../../base/errors.ts';
import { takeMemory } from '../spare-memory.ts';

/** Raised when the bytes change; what a parser makes of data has a separate version. */
export const BLOCK_VERSION = 3;
const MAGIC = Buffer.from('PDLTDATA', 'latin1');
export const HEADER_BYTES = 128;
const ENTRY_BYTES = 24;
const INPUTS = 1;

/** Offsets in the header. */
const AT = {
  version: 8,
  crc32: 12,
  fileBytes: 16,
  kind: 24,
  sections: 28,
  key: 64,
  keyEnd: 96,
} as const;

/** Sections by number. Nothing writes `denseBytes` and `times` yet. */
export const SECTION = {
  sources: 1,
  notes: 2,
  labels: 3,
  badPositions: 4,
  runPositions: 5,
  runLines: 6,
  goods: 7,
  starts: 16,
  offsets: 17,
  rows: 18,
  values: 19,
  ids: 20,
  denseFloats: 32,
  denseBytes: 33,
  weights: 34,
  groups: 35,
  times: 36,
  fields: 37,
} as const;

/** What the header says of the block: u32 numbers, at these offsets. */
const COUNTS = { records: 32, good: 36, batchSize: 40, batches: 44, denseWidth: 48, inputs: 52 } as const;
export type Header = Readonly<Record<keyof typeof COUNTS, number>>;
const COUNT_NAMES = Object.keys(COUNTS) as (keyof Header)[];

/** `input`: which sparse input it is of. */
export type Section = readonly [kind: number, bytes: Uint8Array, input?: number];

/** By kind, and those of the inputs behind the first one by `INPUT_STEP` more for each. */
export type Sections = ReadonlyMap<number, Uint8Array>;
export const INPUT_STEP = 65_536;

const OF_INPUTS: readonly number[] = [
  SECTION.starts,
  SECTION.offsets,
  SECTION.rows,
  SECTION.values,
  SECTION.ids,
  SECTION.fields,
];
const RESERVED: readonly number[] = [SECTION.denseBytes, SECTION.times];
const KNOWN: ReadonlySet<number> = new Set(Object.values(SECTION).filter((kind) => !RESERVED.includes(kind)));

const roundUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);

/** `key`: 32 bytes. The memory is spare memory. */
export function packed(key: Uint8Array, header: Header, sections: readonly Section[]): Buffer<ArrayBuffer> {
  const tableEnd = HEADER_BYTES + ENTRY_BYTES * sections.length;
  const total = sections.reduce((sum, [, bytes]) => sum + roundUp(bytes.length), tableEnd);
  const file = Buffer.from(takeMemory(total), 0, total);
  file.fill(0, 0, tableEnd);
  MAGIC.copy(file);
  file.writeUInt32LE(BLOCK_VERSION, AT.version);
  file.writeBigUInt64LE(BigInt(total), AT.fileBytes);
  file.writeUInt32LE(INPUTS, AT.kind);
  file.writeUInt32LE(sections.length, AT.sections);
  for (const name of COUNT_NAMES) file.writeUInt32LE(header[name], COUNTS[name]);
  file.set(key, AT.key);
  let at = tableEnd;
  sections.forEach(([kind, bytes, input = 0], number) => {
    const entry = HEADER_BYTES + ENTRY_BYTES * number;
    file.writeUInt16LE(kind, entry);
    file.writeUInt16LE(input, entry + 2);
    file.writeBigUInt64LE(BigInt(at), entry + 8);
    file.writeBigUInt64LE(BigInt(bytes.length), entry + 16);
    file.set(bytes, at);
    file.fill(0, at + bytes.length, at + roundUp(bytes.length));
    at += roundUp(bytes.length);
  });
  file.writeUInt32LE(crc32(file.subarray(AT.fileBytes)), AT.crc32);
  return file;
}

export function check(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new PaddletError('DataInvalid', fault);
}

/** Views of `file`, at an address that is a multiple of eight. Throws `DataInvalid`. */
export function unpacked(key: Uint8Array, file: Buffer): { readonly header: Header; readonly sections: Sections } {
  check(
    file.length >= HEADER_BYTES && MAGIC.equals(file.subarray(0, MAGIC.length)),
    'it is not a block of parsed data',
  );
  const version = file.readUInt32LE(AT.version);
  check(version === BLOCK_VERSION, `expected version ${BLOCK_VERSION}, got ${version}`);
  check(file.readBigUInt64LE(AT.fileBytes) === BigInt(file.length), 'it is not as long as it says');
  check(file.readUInt32LE(AT.crc32) === crc32(file.subarray(AT.fileBytes)), 'its check sum differs');
  check(file.subarray(AT.key, AT.keyEnd).equals(key), 'it is a block of other data');
  check(file.readUInt32LE(AT.kind) === INPUTS, 'it is of another kind');
  const counts = COUNT_NAMES.map((name) => [name, file.readUInt32LE(COUNTS[name])]);
  const header = Object.fromEntries(counts) as Header;
  const count = file.readUInt32LE(AT.sections);
  check(HEADER_BYTES + ENTRY_BYTES * count <= file.length, 'its sections are cut off');
  const sections = new Map<number, Uint8Array>();
  for (let entry = HEADER_BYTES; entry < HEADER_BYTES + ENTRY_BYTES * count; entry += ENTRY_BYTES) {
    const [kind, input] = [file.readUInt16LE(entry), file.readUInt16LE(entry + 2)];
    const from = Number(file.readBigUInt64LE(entry + 8));
    const length = Number(file.readBigUInt64LE(entry + 16));
    const isKnown = KNOWN.has(kind) && (OF_INPUTS.includes(kind) ? input < header.inputs : input === 0);
    check(isKnown, `it has a section ${kind} of input ${input}`);
    const number = kind + INPUT_STEP * input;
    check(from % 8 === 0 && from + length <= file.length && !sections.has(number), `its section ${kind} does not fit`);
    sections.set(number, file.subarray(from, from + length));
  }
  return { header, sections };
}

export function section(sections: Sections, kind: number): Uint8Array {
  const bytes = sections.get(kind);
  check(bytes !== undefined, `it has no section ${kind % INPUT_STEP}`);
  return bytes;
}

/** Number of elements of the given size: as many as wanted, or as there are. */
export function countIn(
  bytes: Uint8Array,
  elementBytes: number,
  wanted = Math.floor(bytes.length / elementBytes),
): number {
  check(bytes.length === wanted * elementBytes, `a section has ${bytes.length} bytes, not ${wanted * elementBytes}`);
  return wanted;
}

export function u32(sections: Sections, kind: number, count?: number): Uint32Array {
  const bytes = section(sections, kind);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 4, count));
}

export function f64(sections: Sections, kind: number, count?: number): Float64Array {
  const bytes = section(sections, kind);
  return new Float64Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 8, count));
}

export const f32 = (bytes: Uint8Array, count: number): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 4, count));
