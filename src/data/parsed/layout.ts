/**
 * The bytes of a block in the data cache: docs/data-cache.md. Little-endian; a header, a table of sections, and the
 * sections, each at a multiple of eight, so that a reader makes views of what it has read at one go.
 */
import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parsedJson } from '../../base/parsed-json.ts';
import type { FileFacts } from '../../base/seams.ts';
import type { Batch } from '../../model/model.ts';
import { isWeight } from '../labels.ts';
import { plannedBatch, type SparseBlock, type SparseNotes, START } from './sparse-block.ts';

/** Raised when the bytes change; what a parser makes of data has a version of its own. */
export const BLOCK_VERSION = 2;
const MAGIC = Buffer.from('PDLTDATA', 'latin1');
export const HEADER_BYTES = 128;
const ENTRY_BYTES = 24;
const SPARSE = 1;

/** Offsets in the header. */
const HEADER = {
  version: 8,
  crc32: 12,
  fileBytes: 16,
  kind: 24,
  sections: 28,
  records: 32,
  good: 36,
  batchSize: 40,
  batches: 44,
  denseWidth: 48,
  inputs: 52,
  key: 64,
  keyEnd: 96,
} as const;

/** Sections by number. Nothing writes `denseFloats`, `denseBytes` and `times` yet. */
export const SECTION = {
  sources: 1,
  notes: 2,
  labels: 3,
  badPositions: 4,
  runPositions: 5,
  runLines: 6,
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

export interface KeptBlock {
  readonly block: SparseBlock;
  /** Of the files of the block, in the order of its key, when it was made. */
  readonly sources: readonly SourceFacts[];
}

export type SourceFacts = Pick<FileFacts, 'bytes' | 'modifiedMs' | 'changedMs' | 'inode'>;

const roundUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);

/** `key`: 32 bytes. */
export function encodeBlock(key: Uint8Array, { block, sources }: KeptBlock): Buffer {
  const facts = sources.flatMap(({ bytes, modifiedMs, changedMs, inode }) => [bytes, modifiedMs, changedMs, inode]);
  const sections: [number, Uint8Array][] = [
    [SECTION.sources, bytesOf(Float64Array.from(facts))],
    [SECTION.notes, Buffer.from(JSON.stringify(block.notes))],
    [SECTION.labels, bytesOf(block.labels)],
    [SECTION.badPositions, bytesOf(block.badPositions)],
    [SECTION.runPositions, bytesOf(block.runPositions)],
    [SECTION.runLines, bytesOf(block.runLines)],
    [SECTION.starts, bytesOf(block.starts)],
    [SECTION.offsets, bytesOf(block.offsets)],
    [SECTION.rows, bytesOf(block.rows)],
    [SECTION.ids, block.ids],
  ];
  if (block.values !== undefined) sections.push([SECTION.values, bytesOf(block.values)]);
  if (block.fields !== undefined) sections.push([SECTION.fields, bytesOf(block.fields)]);
  if (block.weights !== undefined) sections.push([SECTION.weights, bytesOf(block.weights)]);
  if (block.groups !== undefined) sections.push([SECTION.groups, block.groups]);
  const tableEnd = HEADER_BYTES + ENTRY_BYTES * sections.length;
  const total = sections.reduce((sum, [, bytes]) => sum + roundUp(bytes.length), tableEnd);
  const file = Buffer.alloc(total);
  MAGIC.copy(file);
  file.writeUInt32LE(BLOCK_VERSION, HEADER.version);
  file.writeBigUInt64LE(BigInt(total), HEADER.fileBytes);
  file.writeUInt32LE(SPARSE, HEADER.kind);
  file.writeUInt32LE(sections.length, HEADER.sections);
  file.writeUInt32LE(block.records, HEADER.records);
  file.writeUInt32LE(block.labels.length, HEADER.good);
  file.writeUInt32LE(block.batchSize, HEADER.batchSize);
  file.writeUInt32LE(block.starts.length / START.words - 1, HEADER.batches);
  file.writeUInt32LE(1, HEADER.inputs);
  file.set(key, HEADER.key);
  let at = tableEnd;
  sections.forEach(([kind, bytes], number) => {
    const entry = HEADER_BYTES + ENTRY_BYTES * number;
    file.writeUInt16LE(kind, entry);
    file.writeBigUInt64LE(BigInt(at), entry + 8);
    file.writeBigUInt64LE(BigInt(bytes.length), entry + 16);
    file.set(bytes, at);
    at += roundUp(bytes.length);
  });
  file.writeUInt32LE(crc32(file.subarray(HEADER.fileBytes)), HEADER.crc32);
  return file;
}

/** The block in `file`, as views of it, at an address that is a multiple of eight. Throws `DataInvalid`. */
export function decodeBlock(key: Uint8Array, file: Buffer): KeptBlock {
  const sections = sectionsOf(key, file);
  const [records, good, batchSize, batches] = [HEADER.records, HEADER.good, HEADER.batchSize, HEADER.batches].map(
    (at) => file.readUInt32LE(at),
  ) as [number, number, number, number];
  check(batchSize > 0 && batches === Math.ceil(records / batchSize) && good <= records, 'its counts do not fit');
  const starts = u32(sections, SECTION.starts, START.words * (batches + 1));
  for (let at = START.words; at < starts.length; at++) {
    check(starts[at]! >= starts[at - START.words]!, 'its batches are out of order');
  }
  const [goodEnd, features, distinct] = starts.subarray(START.words * batches) as unknown as [number, number, number];
  check(goodEnd === good && starts[0] === 0 && starts[1] === 0 && starts[2] === 0, 'its batches do not add up');
  const runPositions = u32(sections, SECTION.runPositions);
  check(records === 0 || runPositions[0] === 0, 'it has no lines');
  const [values, fields, weights] = [SECTION.values, SECTION.fields, SECTION.weights].map((kind) => sections.get(kind));
  const facts = f64(sections, SECTION.sources);
  const kept: KeptBlock = {
    sources: Array.from({ length: Math.floor(facts.length / 4) }, (_, at) => {
      const [bytes, modifiedMs, changedMs, inode] = facts.subarray(4 * at) as unknown as [
        number,
        number,
        number,
        number,
      ];
      return { bytes, modifiedMs, changedMs, inode };
    }),
    block: {
      records,
      batchSize,
      starts,
      labels: f32(section(sections, SECTION.labels), good),
      weights: weights === undefined ? undefined : weightsOf(weights, good),
      groups: sections.has(SECTION.groups) ? bytesOf(u32(sections, SECTION.groups, 2 * good)) : undefined,
      offsets: u32(sections, SECTION.offsets, good + batches),
      rows: u32(sections, SECTION.rows, features),
      values: values === undefined ? undefined : f32(values, features),
      fields: fields && fieldsOf(fields, features),
      ids: bytesOf(u32(sections, SECTION.ids, 2 * distinct)),
      badPositions: u32(sections, SECTION.badPositions, records - good),
      runPositions,
      runLines: f64(sections, SECTION.runLines, runPositions.length),
      notes: notesOf(section(sections, SECTION.notes), records - good),
    },
  };
  for (let number = 0; number < batches; number++) checkBatch(plannedBatch(kept.block, number));
  return kept;
}

/** What models and loops count on. */
function checkBatch({ records, sparse }: Batch): void {
  const { offsets, rows, count } = sparse[0]!;
  let isAscending = offsets[0] === 0 && offsets[records] === rows.length;
  for (let record = 0; record < records; record++) isAscending &&= offsets[record]! <= offsets[record + 1]!;
  check(isAscending, 'the features of its records do not add up');
  let isInside = true;
  for (let feature = 0; feature < rows.length; feature++) isInside &&= rows[feature]! < count;
  check(isInside, 'it has features without an id');
}

function check(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new PaddletError('DataInvalid', fault);
}

type Sections = ReadonlyMap<number, Uint8Array>;

const RESERVED: readonly number[] = [SECTION.denseFloats, SECTION.denseBytes, SECTION.times];
const KNOWN: ReadonlySet<number> = new Set(Object.values(SECTION).filter((kind) => !RESERVED.includes(kind)));

function sectionsOf(key: Uint8Array, file: Buffer): Sections {
  check(file.length >= HEADER_BYTES && MAGIC.equals(file.subarray(0, MAGIC.length)), 'it is no block of parsed data');
  const version = file.readUInt32LE(HEADER.version);
  check(version === BLOCK_VERSION, `it has version ${version}, not ${BLOCK_VERSION}`);
  check(file.readBigUInt64LE(HEADER.fileBytes) === BigInt(file.length), 'it is not as long as it says');
  check(file.readUInt32LE(HEADER.crc32) === crc32(file.subarray(HEADER.fileBytes)), 'its check sum differs');
  check(file.subarray(HEADER.key, HEADER.keyEnd).equals(key), 'it is a block of other data');
  check(file.readUInt32LE(HEADER.kind) === SPARSE && file.readUInt32LE(HEADER.inputs) === 1, 'it is of another kind');
  const count = file.readUInt32LE(HEADER.sections);
  check(HEADER_BYTES + ENTRY_BYTES * count <= file.length, 'its sections are cut off');
  const sections = new Map<number, Uint8Array>();
  for (let entry = HEADER_BYTES; entry < HEADER_BYTES + ENTRY_BYTES * count; entry += ENTRY_BYTES) {
    const kind = file.readUInt16LE(entry);
    const from = Number(file.readBigUInt64LE(entry + 8));
    const length = Number(file.readBigUInt64LE(entry + 16));
    check(KNOWN.has(kind) && file.readUInt16LE(entry + 2) === 0, `it has a section ${kind}`);
    check(from % 8 === 0 && from + length <= file.length && !sections.has(kind), `its section ${kind} does not fit`);
    sections.set(kind, file.subarray(from, from + length));
  }
  return sections;
}

function section(sections: Sections, kind: number): Uint8Array {
  const bytes = sections.get(kind);
  check(bytes !== undefined, `it has no section ${kind}`);
  return bytes;
}

/** How many elements of so many bytes: as many as wanted, or as there are. */
function countIn(bytes: Uint8Array, elementBytes: number, wanted = Math.floor(bytes.length / elementBytes)): number {
  check(bytes.length === wanted * elementBytes, `a section has ${bytes.length} bytes, not ${wanted * elementBytes}`);
  return wanted;
}

function u32(sections: Sections, kind: number, count?: number): Uint32Array {
  const bytes = section(sections, kind);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 4, count));
}

function f64(sections: Sections, kind: number, count?: number): Float64Array {
  const bytes = section(sections, kind);
  return new Float64Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 8, count));
}

const f32 = (bytes: Uint8Array, count: number): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 4, count));

function fieldsOf(bytes: Uint8Array, count: number): Uint16Array {
  const fields = new Uint16Array(bytes.buffer, bytes.byteOffset, countIn(bytes, 2, count));
  check(
    fields.every((field) => field < LIMITS.fields),
    `it has a field above ${LIMITS.fields - 1}`,
  );
  return fields;
}

function weightsOf(bytes: Uint8Array, count: number): Float32Array {
  const weights = f32(bytes, count);
  check(weights.every(isWeight), 'it has a weight below 0, or one that is no number');
  return weights;
}

const notesSchema = z.object({
  parts: z.array(z.object({ file: z.string(), first: z.int().min(0) })),
  bad: z.array(
    z.object({
      file: z.string(),
      line: z.number(),
      byteOffset: z.number(),
      reason: z.string(),
      text: z.string().exactOptional(),
    }),
  ),
});

function notesOf(bytes: Uint8Array, bad: number): SparseNotes {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  const notes = notesSchema.safeParse(parsedJson(text));
  check(notes.success, 'its notes cannot be read');
  check(notes.data.bad.length === bad, 'it does not name its bad records');
  return notes.data;
}
