/** The content of a block in the data cache: docs/data-cache.md. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parsedJson } from '../../base/parsed-json.ts';
import type { FileFacts } from '../../base/seams.ts';
import type { Batch } from '../../model/model.ts';
import { isWeight } from '../labels.ts';
import { type BlockFeatures, type BlockNotes, type BlockRows, type ParsedBlock, plannedBatch, START } from './block.ts';
import {
  bytesOf,
  check,
  countIn,
  f32,
  f64,
  type Header,
  INPUT_STEP,
  packed,
  SECTION,
  type Section,
  type Sections,
  section,
  u32,
  unpacked,
} from './sections.ts';

export interface KeptBlock {
  readonly block: ParsedBlock;
  /** Facts about the files of the block when it was made, in the order of its key. */
  readonly sources: readonly SourceFacts[];
}

export type SourceFacts = Pick<FileFacts, 'bytes' | 'modifiedMs' | 'changedMs' | 'inode'>;

/** `key`: 32 bytes. */
export function encodeBlock(key: Uint8Array, { block, sources }: KeptBlock): Buffer<ArrayBuffer> {
  const facts = sources.flatMap(({ bytes, modifiedMs, changedMs, inode }) => [bytes, modifiedMs, changedMs, inode]);
  const sections: Section[] = [
    [SECTION.sources, bytesOf(Float64Array.from(facts))],
    [SECTION.notes, Buffer.from(JSON.stringify(block.notes))],
    [SECTION.labels, bytesOf(block.labels)],
    [SECTION.badPositions, bytesOf(block.badPositions)],
    [SECTION.runPositions, bytesOf(block.runPositions)],
    [SECTION.runLines, bytesOf(block.runLines)],
    [SECTION.goods, bytesOf(block.goods)],
  ];
  for (const [input, { starts, offsets, rows, ids, values, fields }] of block.sparse.entries()) {
    sections.push(
      [SECTION.starts, bytesOf(starts), input],
      [SECTION.offsets, bytesOf(offsets), input],
      [SECTION.rows, bytesOf(rows), input],
      [SECTION.ids, ids, input],
    );
    if (values !== undefined) sections.push([SECTION.values, bytesOf(values), input]);
    if (fields !== undefined) sections.push([SECTION.fields, bytesOf(fields), input]);
  }
  if (block.dense !== undefined) sections.push([SECTION.denseFloats, bytesOf(block.dense.values)]);
  if (block.weights !== undefined) sections.push([SECTION.weights, bytesOf(block.weights)]);
  if (block.groups !== undefined) sections.push([SECTION.groups, block.groups]);
  return packed(key, headerOf(block), sections);
}

const headerOf = ({ records, labels, batchSize, goods, sparse, dense }: ParsedBlock): Header => ({
  records,
  good: labels.length,
  batchSize,
  batches: goods.length - 1,
  denseWidth: dense?.width ?? 0,
  inputs: sparse.length,
});

/** The block in `file`, as views of it, at an address that is a multiple of eight. Throws `DataInvalid`. */
export function decodeBlock(key: Uint8Array, file: Buffer): KeptBlock {
  const { header, sections } = unpacked(key, file);
  const { records, good, batchSize, batches, denseWidth, inputs } = header;
  check(batchSize > 0 && batches === Math.ceil(records / batchSize) && good <= records, 'its counts do not fit');
  const goods = sums(u32(sections, SECTION.goods, batches + 1), 1);
  check(goods[batches] === good, 'its batches do not add up');
  const runPositions = u32(sections, SECTION.runPositions);
  check(records === 0 || runPositions[0] === 0, 'it has no lines');
  const weights = sections.get(SECTION.weights);
  const kept: KeptBlock = {
    sources: sourcesOf(f64(sections, SECTION.sources)),
    block: {
      records,
      batchSize,
      goods,
      labels: f32(section(sections, SECTION.labels), good),
      weights: weights === undefined ? undefined : weightsOf(weights, good),
      groups: sections.has(SECTION.groups) ? bytesOf(u32(sections, SECTION.groups, 2 * good)) : undefined,
      sparse: Array.from({ length: inputs }, (_, input) => featuresOf(sections, input * INPUT_STEP, good, batches)),
      dense: rowsOf(sections, denseWidth, good),
      badPositions: u32(sections, SECTION.badPositions, records - good),
      runPositions,
      runLines: f64(sections, SECTION.runLines, runPositions.length),
      notes: notesOf(section(sections, SECTION.notes), records - good),
    },
  };
  for (let number = 0; number < batches; number++) checkBatch(plannedBatch(kept.block, number));
  return kept;
}

function sourcesOf(facts: Float64Array): SourceFacts[] {
  return Array.from({ length: Math.floor(facts.length / 4) }, (_, at) => {
    const [bytes, modifiedMs, changedMs, inode] = facts.subarray(4 * at) as unknown as [number, number, number, number];
    return { bytes, modifiedMs, changedMs, inode };
  });
}

/** `from`: what the kinds of this input begin at. */
function featuresOf(sections: Sections, from: number, good: number, batches: number): BlockFeatures {
  const starts = sums(u32(sections, from + SECTION.starts, START.words * (batches + 1)), START.words);
  const [features, distinct] = starts.subarray(START.words * batches) as unknown as [number, number];
  const [values, fields] = [SECTION.values, SECTION.fields].map((kind) => sections.get(from + kind));
  return {
    starts,
    offsets: u32(sections, from + SECTION.offsets, good + batches),
    rows: u32(sections, from + SECTION.rows, features),
    values: values === undefined ? undefined : f32(values, features),
    fields: fields && fieldsOf(fields, features),
    ids: bytesOf(u32(sections, from + SECTION.ids, 2 * distinct)),
  };
}

function rowsOf(sections: Sections, width: number, good: number): BlockRows | undefined {
  const floats = sections.get(SECTION.denseFloats);
  check((floats !== undefined) === width > 0, 'its dense input does not fit');
  return floats && { width, values: f32(floats, width * good) };
}

/** Running sums of `kinds` kinds alternately: each kind starts with 0, and none falls. */
function sums(all: Uint32Array, kinds: number): Uint32Array {
  for (let at = 0; at < all.length; at++) {
    check(at < kinds ? all[at] === 0 : all[at]! >= all[at - kinds]!, 'its batches are out of order');
  }
  return all;
}

/** What models and loops count on. */
function checkBatch({ records, sparse }: Batch): void {
  for (const { offsets, rows, count } of sparse) {
    let isAscending = offsets[0] === 0 && offsets[records] === rows.length;
    for (let record = 0; record < records; record++) isAscending &&= offsets[record]! <= offsets[record + 1]!;
    check(isAscending, 'the features of its records do not add up');
    let isInside = true;
    for (let feature = 0; feature < rows.length; feature++) isInside &&= rows[feature]! < count;
    check(isInside, 'it has features without an id');
  }
}

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
  check(weights.every(isWeight), 'it has a weight below 0, or a weight that is not a number');
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

function notesOf(bytes: Uint8Array, bad: number): BlockNotes {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  const notes = notesSchema.safeParse(parsedJson(text));
  check(notes.success, 'its notes cannot be read');
  check(notes.data.bad.length === bad, 'it does not name its bad records');
  return notes.data;
}
