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
}

export interface TaskReader {
  /**
   * Throws `DataChanged` when a file is not what was indexed, `DataMissing` if it does not exist. Bad records are not
   * an error here: the caller decides how many are too many.
   */
  read(chunks: readonly Chunk[]): Promise<TaskRecords>;
  close(): Promise<void>;
}

/** Calls of `read` may overlap. */
export function createTaskReader(place: DataPlace, options: TaskReaderOptions): TaskReader {
  const format = formatOf(options.format);
  const { open } = format;
  const { columns } = options;
  const files = new OpenFiles(place, options.files, open && columns && ((from, path) => open(from, path, columns)));
  const parse = (chunks: readonly Chunk[]): Promise<ParsedTask> => format.read(files, options, chunks);
  const { cache } = options;
  const { parserVersion } = format;
  return {
    async read(chunks) {
      if (cache === undefined || parserVersion === undefined) return (await parse(chunks)).records;
      const records = countRecords(options.files, chunks);
      const key = keyOf(place, options, parserVersion, chunks);
      const paths = [...new Set(chunks.map(({ file }) => files.path(file)))];
      const sources = await factsOf(place, paths);
      const kept = sources && (await cache.load(key, records, sources, options.times));
      if (kept !== undefined) return blockRecords(kept);
      const parsed = await parse(chunks);
      if (parsed.block !== undefined && sources !== undefined && (await areUnchanged(place, files, paths, sources))) {
        await cache.save(key, parsed.block, sources);
      }
      return parsed.records;
    },
    close: () => files.close(),
  };
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
