/** Text of sparse records as two data formats: LIBSVM and libFM, and libffm, whose features have fields. */
import { crc32 } from 'node:zlib';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { BOM, NEWLINE } from '../../ascii.ts';
import { changed, countRecords, isOverlong, positionOf, tooLong } from '../../chunk-check.ts';
import { openContent } from '../../content.ts';
import { sparseKernel } from '../../kernels/sparse-kernel.ts';
import type { LabelRule } from '../../labels.ts';
import { noteSkipped } from '../../oddities.ts';
import type { OpenFiles } from '../../open-files.ts';
import { BlockBuilder } from '../../parsed/block-builder.ts';
import { blockRecords } from '../../parsed/block-records.ts';
import { SelectingBuilder } from '../../parsed/selecting-builder.ts';
import { type DataPlace, resolveFiles } from '../../place.ts';
import { Selector } from '../../selection.ts';
import type { Chunk, IndexedFile, TaskRecords } from '../../source.ts';
import { type Format, type FoundFiles, type Indexing, type ParsedTask, type ReadOptions, UNTIMED } from '../format.ts';
import { openTextForward } from './forward.ts';
import { FEWEST_FEATURE_BYTES } from './parser.ts';
import { scanText } from './scanner.ts';
import { parseText, type TextSink } from './text.ts';

/** Some milliseconds of parsing. */
const SLICE_BYTES = 1 << 20;

export const libsvmFormat = sparseText(false);
export const libffmFormat = sparseText(true);

function sparseText(hasFields: boolean): Format & Required<Pick<Format, 'readHead'>> {
  return {
    input: 'sparse',
    hasFields,
    hasLabelFiles: false,
    parserVersion: 2,
    find: async (place, { what }) => ({ paths: await resolveFiles(place, what), labels: [] }),
    index: (place, found, into) => index(place, found, into, hasFields),
    readHead: (head, labels) => readHead(head, labels, hasFields),
    read: (files, options, chunks) => read(files, options, chunks, hasFields),
    openForward: (head, options) => openTextForward(head, options, hasFields),
  };
}

/** With fields, if the text has any: what reads a head may show them. */
function readHead(
  { file, bytes }: { file: string; bytes: Uint8Array },
  labels: LabelRule,
  hasFields: boolean,
): TaskRecords {
  const lines = bytes.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 1);
  const size = {
    records: lines,
    features: [Math.ceil(bytes.length / FEWEST_FEATURE_BYTES)],
    batchSize: lines,
    hasFields,
  };
  const builder = new BlockBuilder(size, sparseKernel());
  const start = BOM.every((byte, at) => bytes[at] === byte) ? BOM.length : 0;
  builder.startPart(file);
  parseText({ file, bytes: bytes.subarray(start), offset: start, firstLine: 1, hasFields }, labels, builder);
  return blockRecords(builder.finish());
}

async function index(place: DataPlace, found: FoundFiles, into: Indexing, hasFields: boolean): Promise<IndexedFile[]> {
  const files: IndexedFile[] = [];
  for (const path of found.paths) files.push(await indexFile(place, path, files.length, into, hasFields));
  return files;
}

async function indexFile(
  place: DataPlace,
  path: string,
  file: number,
  into: Indexing,
  hasFields: boolean,
): Promise<IndexedFile> {
  const { cutter, bounds, onBytes, selection } = into;
  const content = await openContent(place, path);
  try {
    cutter.startFile(file);
    const selector = selection && new Selector(selection, path);
    const hasFeatures = await scanText(content, cutter, bounds, onBytes, { selector, hasFields });
    if ((await content.file.size()) !== content.bytes) {
      throw new PaddletError('DataChanged', `${path} changed while it was being indexed`);
    }
    const records = cutter.endFile();
    noteSkipped(bounds.traits, content);
    if (records > 0 && !hasFeatures) bounds.traits.withoutFeatures.push(path);
    return { path, bytes: content.bytes, records };
  } finally {
    await content.file.close();
  }
}

async function read(
  files: OpenFiles,
  options: ReadOptions,
  chunks: readonly Chunk[],
  hasFields: boolean,
): Promise<ParsedTask> {
  const { batchSize, readsFields } = options;
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => sum + (isOverlong(chunk) ? 0 : chunk.bytes), 0);
  const features = [Math.ceil(bytes / FEWEST_FEATURE_BYTES)];
  const builder = new BlockBuilder({ records, features, batchSize, hasFields: readsFields }, sparseKernel());
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    builder.startPart(file);
    if (isOverlong(chunk)) {
      builder.bad({ file, line: chunk.firstLine, byteOffset: chunk.offset, reason: tooLong(chunk.bytes) });
      continue;
    }
    const end = builder.records + chunk.records;
    const { selection } = options;
    const sink =
      selection === undefined
        ? builder
        : new SelectingBuilder(builder, new Selector(selection, file), positionOf(chunk, file));
    if (!(await parseChunk(files, chunk, options, sink, hasFields))) throw changed(file, chunk);
    // Which records are left out follows from the position, which comes over the wire.
    if (builder.records !== end) throw changed(file, chunk);
  }
  const block = (options.times ?? UNTIMED).during('parse', () => builder.finish());
  return { records: blockRecords(block), block };
}

/**
 * Reads a chunk in slices: the event loop turns while the next one is read, so that a trainer answers while it parses a
 * large task. False when the bytes are not those that were indexed.
 */
async function parseChunk(
  files: OpenFiles,
  chunk: Chunk,
  { labels, times = UNTIMED }: ReadOptions,
  into: TextSink,
  hasFields: boolean,
): Promise<boolean> {
  const file = files.path(chunk.file);
  let crc = 0;
  let firstLine = chunk.firstLine;
  /** The beginning of a line whose end is in the next slice. */
  let held: Uint8Array = new Uint8Array(0);
  for (let at = 0; at < chunk.bytes; ) {
    const slice = await files.bytes(chunk.file, chunk.offset + at, Math.min(SLICE_BYTES, chunk.bytes - at));
    crc = times.during('read', () => crc32(slice, crc));
    const offset = chunk.offset + at - held.length;
    at += slice.length;
    const bytes = held.length === 0 ? slice : Buffer.concat([held, slice]);
    const end = at === chunk.bytes ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    const text = bytes.subarray(0, end);
    held = bytes.subarray(end);
    // The checksum is compared before the last slice is parsed: until then nothing shows that the bytes are as indexed.
    if (at === chunk.bytes && crc !== chunk.crc32) return false;
    if (held.length > 2 * LIMITS.recordBytes) return false;
    if (end === 0) continue;
    const part = { file, bytes: text, offset, firstLine, hasFields };
    const lines = times.during('parse', () => parseText(part, labels, into));
    if (lines === undefined) return false;
    firstLine += lines;
  }
  return true;
}
