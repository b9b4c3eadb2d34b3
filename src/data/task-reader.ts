/**
 * Reads a task: as a block that is kept in the data cache, or from the bytes of its chunks, checked against the index
 * and parsed. A task is parsed whole before any of it is pushed, so a task that cannot be read fails before it reaches
 * a shard.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/canonical-json.ts';
import type { FileFacts } from '../base/seams.ts';
import { countRecords } from './chunk-check.ts';
import type { ParsedTask, ReadColumns, ReadOptions } from './formats/format.ts';
import { type DataFormat, formatOf } from './formats/registry.ts';
import { OpenFiles } from './open-files.ts';
import { blockRecords } from './parsed/block-records.ts';
import { blockKey, isSameFile, type ParsedCache } from './parsed/cache.ts';
import { absolutePath, type DataPlace } from './place.ts';
import type { Chunk, TaskRecords } from './source.ts';

export interface TaskReaderOptions extends ReadOptions {
  readonly format: DataFormat;
  /** The cache of parsed tasks; without it every task is parsed. */
  readonly cache?: ParsedCache;
  /** Parses a task for this reader, and keeps it in the cache, unless it lets the reader do so: `here`. */
  readonly elsewhere?: ((chunks: readonly Chunk[], here: () => Promise<ParsedTask>) => Promise<ParsedTask>) | undefined;
}

export interface TaskReader {
  /**
   * Throws `DataChanged` when a file is not what was indexed, `DataMissing` if it does not exist. Bad records are not
   * an error here: the caller decides how many are too many.
   */
  read(chunks: readonly Chunk[]): Promise<TaskRecords>;
  /** As `read`, for a task that is not in the cache. */
  parse(chunks: readonly Chunk[]): Promise<ParsedTask>;
  /** Waits until parsed tasks are written to the cache. */
  close(): Promise<void>;
}

/** Calls of `read` may overlap. */
export function createTaskReader(place: DataPlace, options: TaskReaderOptions): TaskReader {
  const format = formatOf(options.format);
  const { open } = format;
  const { columns } = options;
  const files = new OpenFiles(place, options.files, open && columns && ((from, path) => open(from, path, columns)));
  const { cache, elsewhere, times } = options;
  const { parserVersion } = format;
  /** A parsed task that is being written: the next one is read while the disk takes it. */
  let writing: Promise<void> | undefined;

  async function written(): Promise<void> {
    while (writing !== undefined) await writing;
  }

  async function kept(chunks: readonly Chunk[]): Promise<Kept | undefined> {
    if (cache === undefined || parserVersion === undefined) return undefined;
    const paths = [...new Set(chunks.map(({ file }) => files.path(file)))];
    const sources = await factsOf(place, paths);
    return sources && { cache, key: keyOf(place, options, parserVersion, chunks), paths, sources };
  }

  async function parse(chunks: readonly Chunk[], into: Kept | undefined): Promise<ParsedTask> {
    const parsed = await format.read(files, options, chunks);
    const { block } = parsed;
    if (into === undefined || block === undefined) return parsed;
    const { key, paths, sources } = into;
    if (!(await areUnchanged(place, files, paths, sources))) return parsed;
    await written();
    writing = into.cache.save(key, block, sources).finally(() => {
      writing = undefined;
    });
    return parsed;
  }

  return {
    async read(chunks) {
      const into = await kept(chunks);
      const records = countRecords(options.files, chunks);
      const found = into && (await into.cache.load(into.key, records, into.sources, times));
      if (found !== undefined) return blockRecords(found);
      const here = (): Promise<ParsedTask> => parse(chunks, into);
      return (await (elsewhere?.(chunks, here) ?? here())).records;
    },
    parse: async (chunks) => parse(chunks, await kept(chunks)),
    async close() {
      await written();
      await files.close();
    },
  };
}

/** How a task is kept in the cache. */
interface Kept {
  readonly cache: ParsedCache;
  readonly key: Buffer;
  readonly paths: readonly string[];
  /** Facts about its files before they are read. */
  readonly sources: readonly FileFacts[];
}

/** By the columns, which are the same object for all tasks of a job. */
const digests = new WeakMap<ReadColumns, string>();

function digestOf(columns: ReadColumns): string {
  const digest = digests.get(columns) ?? createHash('sha256').update(canonicalJson(columns)).digest('hex');
  digests.set(columns, digest);
  return digest;
}

function keyOf(
  place: DataPlace,
  { format, labels, batchSize, files, columns, selection, readsFields }: TaskReaderOptions,
  parserVersion: number,
  chunks: readonly Chunk[],
): Buffer {
  const parts = chunks.map(({ file, offset, bytes, firstRecord, records, firstLine, crc32, position }) => {
    const { path, layout } = files[file]!;
    const numbers = [
      offset,
      bytes,
      firstRecord,
      records,
      firstLine,
      crc32,
      ...(position === undefined ? [] : [position]),
    ];
    const ofLayout = layout === undefined ? [] : [layout.fields, ...layout.positions];
    return [path, absolutePath(place, path), ...numbers, ...ofLayout];
  });
  const all = [columns ? digestOf(columns) : null, selection ?? null, readsFields ? 'fields' : null];
  const how = all.every((one) => one === null) ? undefined : canonicalJson(all);
  return blockKey({ format, parserVersion, labels, batchSize, how, chunks: parts });
}

/** Undefined if a file does not exist: reading it reports what is missing. */
async function factsOf(place: DataPlace, paths: readonly string[]): Promise<FileFacts[] | undefined> {
  const { disk } = place.host;
  const facts = await Promise.all(paths.map((path) => disk.inspect(absolutePath(place, path))));
  return facts.every((one) => one !== undefined) ? facts : undefined;
}

/** Whether what was read is what is there now, under the same names, as it was before. */
async function areUnchanged(
  place: DataPlace,
  files: OpenFiles,
  paths: readonly string[],
  before: readonly FileFacts[],
): Promise<boolean> {
  const now = await factsOf(place, paths);
  if (now === undefined) return false;
  return before.every((one, at) => {
    const then = files.factsOf(paths[at]!);
    return isSameFile(one, now[at]!) && (then === undefined || isSameFile(one, then));
  });
}
