/**
 * The index kept as a file in the cache folder, so that a second start does not read the data again. Its name is a hash
 * of what it was built from (files by absolute path, size and time; format; recordsPerTask), so a stale one is never
 * opened; its last line is a hash of the rest, so a torn one is never used.
 *
 * Lines: a JSON header; a JSON array of seven or eight numbers a chunk; the SHA-256 of all before, in hex.
 */
import { createHash, type Hash } from 'node:crypto';
import { basename, join } from 'node:path';
import { canonicalJson } from '../base/canonical-json.ts';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import { inCache, inspectFile } from './bytes/content.ts';
import type { FoundFiles } from './formats/format.ts';
import { digestOf, findFiles, type IndexRequest, indexFiles } from './index-builder.ts';
import { absolutePath, type DataPlace } from './place.ts';
import type { Chunk, DataIndex } from './source.ts';
import { writeWhole } from './whole-file.ts';

/** Raise this when a change would make the same files give another index. */
const VERSION = 10;
const LINES_PER_WRITE = 10_000;

/** What an index is made with, beside its files. */
type Made = Pick<IndexRequest, 'columns' | 'selected'>;

type Header = Omit<DataIndex, 'chunks'> & { readonly version: number; readonly chunks: number };

/**
 * The index of the files as they are now: the kept one, or a new one, which is kept. Errors are those of
 * `buildIndex`.
 */
export async function loadOrBuildIndex(place: DataPlace, request: IndexRequest): Promise<DataIndex> {
  const found = await findFiles(place, request);
  const { paths } = found;
  const key = await keyOf(place, found, request);
  const folder = join(place.cacheFolder, 'index');
  const path = join(folder, `${basename(paths[0] ?? 'data')}-${key.slice(0, 32)}.index`);
  const kept = await load(place, path, request);
  if (kept !== undefined) return kept;
  const index = await indexFiles(place, found, request);
  if ((await keyOf(place, found, request)) !== key) {
    throw new PaddletError('DataChanged', `the data changed while it was being indexed: ${paths.join(', ')}`);
  }
  await inCache(folder, () => save(place, folder, path, index));
  return index;
}

async function keyOf(place: DataPlace, found: FoundFiles, request: IndexRequest): Promise<string> {
  const facts: unknown[] = [];
  for (const path of [...found.paths, ...found.labels]) facts.push(await factsOf(place, path));
  const { format, recordsPerTask, columns, selected } = request;
  const all = JSON.stringify([
    VERSION,
    format,
    recordsPerTask,
    facts,
    ...(columns === undefined ? [] : [canonicalJson(columns)]),
    ...(selected === undefined ? [] : [canonicalJson(selected)]),
    ...(place.corruptChunks === 'skip' ? ['skip'] : []),
  ]);
  return createHash('sha256').update(all).digest('hex');
}

async function factsOf(place: DataPlace, path: string): Promise<unknown[]> {
  const { bytes, modifiedMs } = await inspectFile(place, path);
  return [path, absolutePath(place, path), bytes, modifiedMs];
}

async function save(place: DataPlace, folder: string, path: string, index: DataIndex): Promise<void> {
  const { disk } = place.host;
  await disk.makeFolder(folder);
  await writeWhole(place.host, path, async (append) => {
    for (const block of blocksOf(index)) await append(block);
  });
  await disk.syncFolder(folder);
}

function* blocksOf(index: DataIndex): Generator<Buffer> {
  const hash = createHash('sha256');
  const header: Header = { ...index, version: VERSION, chunks: index.chunks.length };
  yield hashed(hash, `${JSON.stringify(header)}\n`);
  for (let first = 0; first < index.chunks.length; first += LINES_PER_WRITE) {
    const lines = index.chunks.slice(first, first + LINES_PER_WRITE).map((c) => `${JSON.stringify(numbersOf(c))}\n`);
    yield hashed(hash, lines.join(''));
  }
  yield Buffer.from(`${hash.digest('hex')}\n`);
}

function hashed(hash: Hash, text: string): Buffer {
  const bytes = Buffer.from(text);
  hash.update(bytes);
  return bytes;
}

const numbersOf = (chunk: Chunk): number[] => [
  chunk.file,
  chunk.offset,
  chunk.bytes,
  chunk.firstRecord,
  chunk.records,
  chunk.firstLine,
  chunk.crc32,
  ...(chunk.position === undefined ? [] : [chunk.position]),
];

/** Undefined when there is none, or none that is intact; the latter is logged, and the index is rebuilt. */
async function load(place: DataPlace, path: string, request: Made): Promise<DataIndex | undefined> {
  const { disk, log } = place.host;
  if (!(await disk.exists(path))) return undefined;
  try {
    return parseIndex(await readWhole(place, path), request);
  } catch (error) {
    if (!isPaddletError(error, 'DataInvalid')) throw error;
    log.warn('the cached index is damaged and is rebuilt', { path, reason: error.message });
    return undefined;
  }
}

async function readWhole(place: DataPlace, path: string): Promise<Buffer> {
  const file = await place.host.disk.open(path);
  try {
    const bytes = Buffer.alloc(await file.size());
    return bytes.subarray(0, await file.read(bytes, 0));
  } finally {
    await file.close();
  }
}

function parseIndex(bytes: Buffer, { columns, selected }: Made): DataIndex {
  const end = bytes.lastIndexOf('\n', bytes.length - 2) + 1;
  const sum = createHash('sha256').update(bytes.subarray(0, end)).digest('hex');
  if (bytes.subarray(end).toString('latin1') !== `${sum}\n`)
    throw new PaddletError('DataInvalid', 'its check sum differs');
  // From here on the file is as this program wrote it.
  const headerEnd = bytes.indexOf('\n') + 1;
  const { version, chunks: count, ...facts } = JSON.parse(bytes.toString('utf8', 0, headerEnd)) as Header;
  const chunks: Chunk[] = [];
  for (let at = headerEnd; at < end; ) {
    const next = bytes.indexOf('\n', at) + 1;
    chunks.push(chunkOf(JSON.parse(bytes.toString('latin1', at, next)) as number[]));
    at = next;
  }
  const index: DataIndex = { ...facts, chunks };
  if (version !== VERSION || chunks.length !== count || digestOf(index, columns, selected) !== index.digest) {
    throw new PaddletError('DataInvalid', 'its digest differs');
  }
  return index;
}

function chunkOf(numbers: readonly number[]): Chunk {
  const [file = 0, offset = 0, bytes = 0, firstRecord = 0, records = 0, firstLine = 0, crc32 = 0, position] = numbers;
  const chunk = { file, offset, bytes, firstRecord, records, firstLine, crc32 };
  return position === undefined ? chunk : { ...chunk, position };
}
