/**
 * Builds the index of a dataset: each file is read once, in order, and its records are cut into chunks. What the index
 * says follows from the content of the files, their names and recordsPerTask alone, so any process gets the same digest.
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { ChunkCutter } from './chunk-cutter.ts';
import { type Content, openContent } from './content.ts';
import { indexImages } from './formats/idx/indexer.ts';
import { pairsOf } from './formats/idx/pairs.ts';
import { type Bounds, scanText } from './formats/text-scanner.ts';
import { type DataPlace, resolveFiles } from './place.ts';
import type { DataFormat, DataIndex, IndexedFile } from './source.ts';

export interface IndexRequest {
  /** A file, a folder, a glob, or a list of these. */
  readonly what: string | readonly string[];
  /**
   * idx only: label files, one a file of `what`, in the same order; both are then plain file names. Without it labels are
   * found by name (see `pairsOf`).
   */
  readonly labels?: readonly string[];
  readonly format: DataFormat;
  readonly recordsPerTask: number;
  /** Told of each stretch of inflated bytes read. */
  readonly onBytes?: (count: number) => void;
}

/**
 * Throws `DataMissing`, `DataInvalid` (corrupt gzip, not idx, no record at all), `DataChanged`, `DataCacheFailed`. Bad
 * lines are records here; they are found when their task is read.
 */
export async function buildIndex(place: DataPlace, request: IndexRequest): Promise<DataIndex> {
  return await indexFiles(place, await findFiles(place, request), request);
}

export interface FoundFiles {
  /** Sorted bytewise. */
  readonly paths: readonly string[];
  /** idx: the labels of each path. */
  readonly labels: readonly string[];
}

/** The files of a request, idx files with their labels. Throws `DataMissing`, and what opening an idx file may throw. */
export async function findFiles(place: DataPlace, request: IndexRequest): Promise<FoundFiles> {
  if (request.format !== 'idx') return { paths: await resolveFiles(place, request.what), labels: [] };
  const pairs = await pairsOf(place, request);
  return { paths: pairs.map(({ images }) => images), labels: pairs.map(({ labels }) => labels) };
}

/** `buildIndex` for files already found. */
export async function indexFiles(
  place: DataPlace,
  found: FoundFiles,
  request: Omit<IndexRequest, 'what'>,
): Promise<DataIndex> {
  const { format, recordsPerTask, onBytes = () => {} } = request;
  const { paths } = found;
  assert(Number.isInteger(recordsPerTask) && recordsPerTask >= 1, 'recordsPerTask is a positive whole number');
  const cutter = new ChunkCutter(recordsPerTask);
  const bounds: Bounds = { featureBound: 0, labelBound: 0 };
  const files =
    format === 'idx'
      ? await indexImages(place, found, cutter, bounds, onBytes)
      : await indexText(place, paths, cutter, bounds, onBytes);
  const records = files.reduce((sum, file) => sum + file.records, 0);
  if (records === 0) throw new PaddletError('DataInvalid', `there is no record in ${paths.join(', ')}`);
  const { chunks } = cutter;
  return { format, files, chunks, records, ...bounds, digest: digestOf({ format, files, chunks }) };
}

async function indexText(
  place: DataPlace,
  paths: readonly string[],
  cutter: ChunkCutter,
  bounds: Bounds,
  onBytes: (count: number) => void,
): Promise<IndexedFile[]> {
  const files: IndexedFile[] = [];
  for (const path of paths) {
    await withContent(place, path, async (content) => {
      cutter.startFile(files.length);
      await scanText(content, cutter, bounds, onBytes);
      if ((await content.file.size()) !== content.bytes) {
        throw new PaddletError('DataChanged', `${path} changed while it was being indexed`);
      }
      files.push({ path, bytes: content.bytes, records: cutter.endFile() });
    });
  }
  return files;
}

export async function withContent<T>(
  place: DataPlace,
  path: string,
  run: (content: Content) => Promise<T>,
): Promise<T> {
  const content = await openContent(place, path);
  try {
    return await run(content);
  } finally {
    await content.file.close();
  }
}

/** SHA-256 over the canonical form: a line of JSON for the format and each file, then a line of numbers a chunk. */
export function digestOf(index: Pick<DataIndex, 'format' | 'files' | 'chunks'>): string {
  const hash = createHash('sha256');
  hash.update(`${JSON.stringify(['paddlet index 1', index.format, index.files.length, index.chunks.length])}\n`);
  for (const { path, bytes, records, labels } of index.files) {
    const ofLabels = labels === undefined ? [] : [labels.path, labels.bytes];
    hash.update(`${JSON.stringify([path, bytes, records, ...ofLabels])}\n`);
  }
  for (const chunk of index.chunks) {
    const { file, offset, bytes, firstRecord, records, firstLine, crc32 } = chunk;
    hash.update(`${file} ${offset} ${bytes} ${firstRecord} ${records} ${firstLine} ${crc32}\n`);
  }
  return hash.digest('hex');
}
