/** LIBSVM and libFM text as a data format. */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { changed, countRecords, isOverlong } from '../../chunk-check.ts';
import { openContent } from '../../content.ts';
import type { LabelRule } from '../../labels.ts';
import type { OpenFiles } from '../../open-files.ts';
import { type DataPlace, resolveFiles } from '../../place.ts';
import type { Chunk, IndexedFile, TaskRecords } from '../../source.ts';
import { SparseRecordsBuilder } from '../../sparse-records.ts';
import type { Format, FoundFiles, Indexing, ReadOptions } from '../format.ts';
import { NEWLINE } from './ascii.ts';
import { FEWEST_FEATURE_BYTES, parseLibsvm, tooLong } from './parser.ts';
import { BOM, scanText } from './scanner.ts';

export const libsvmFormat: Format = {
  input: 'sparse',
  hasLabelFiles: false,
  find: async (place, { what }) => ({ paths: await resolveFiles(place, what), labels: [] }),
  index,
  readHead,
  read,
};

function readHead({ file, bytes }: { file: string; bytes: Uint8Array }, labels: LabelRule): TaskRecords {
  const lines = bytes.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 1);
  const builder = new SparseRecordsBuilder(lines, Math.ceil(bytes.length / FEWEST_FEATURE_BYTES));
  const start = BOM.every((byte, at) => bytes[at] === byte) ? BOM.length : 0;
  parseLibsvm({ file, bytes: bytes.subarray(start), offset: start, firstLine: 1 }, labels, builder);
  return builder.finish();
}

async function index(place: DataPlace, found: FoundFiles, into: Indexing): Promise<IndexedFile[]> {
  const files: IndexedFile[] = [];
  for (const path of found.paths) files.push(await indexFile(place, path, files.length, into));
  return files;
}

async function indexFile(place: DataPlace, path: string, file: number, into: Indexing): Promise<IndexedFile> {
  const { cutter, bounds, onBytes } = into;
  const content = await openContent(place, path);
  try {
    cutter.startFile(file);
    await scanText(content, cutter, bounds, onBytes);
    if ((await content.file.size()) !== content.bytes) {
      throw new PaddletError('DataChanged', `${path} changed while it was being indexed`);
    }
    return { path, bytes: content.bytes, records: cutter.endFile() };
  } finally {
    await content.file.close();
  }
}

async function read(files: OpenFiles, options: ReadOptions, chunks: readonly Chunk[]): Promise<TaskRecords> {
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => sum + (isOverlong(chunk) ? 0 : chunk.bytes), 0);
  const builder = new SparseRecordsBuilder(records, Math.ceil(bytes / FEWEST_FEATURE_BYTES));
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    if (isOverlong(chunk)) {
      builder.startPart(file);
      builder.bad({ file, line: chunk.firstLine, byteOffset: chunk.offset, reason: tooLong(chunk.bytes) });
      continue;
    }
    const bytes = await files.bytes(chunk.file, chunk.offset, chunk.bytes);
    if (crc32(bytes) !== chunk.crc32) throw changed(file, chunk);
    parseLibsvm({ file, bytes, offset: chunk.offset, firstLine: chunk.firstLine }, options.labels, builder);
  }
  assert(builder.records === records, 'the parser finds the records that the index counted');
  return builder.finish();
}
