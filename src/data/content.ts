/**
 * The content of a data file, to be read by ranges: a plain file in place; a gzip file (told by its magic, not by its
 * name) is inflated once into the cache folder and read there. Several processes may do so at the same time: each
 * writes a name of its own and renames it, so a file under the final name is always whole.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { PaddletError } from '../base/errors.ts';
import type { DiskFile, FileFacts } from '../base/seams.ts';
import { FileBlocks } from './file-blocks.ts';
import { beginsAsGzip, inflatedHead, inflateMembers } from './gzip-inflate.ts';
import { LOOK_BYTES, refusePacked } from './packed.ts';
import { absolutePath, type DataPlace, missing } from './place.ts';

/** Raise this when a change would make the same file inflate to other bytes, or refuse it. */
const INFLATED_VERSION = 2;
const PARTIAL = '.partial';
const HEAD_BYTES = 1 << 16;
const NEWLINE = 10;

export interface Content {
  /** As given. */
  readonly path: string;
  readonly file: DiskFile;
  /** Of the file at that path, when it was opened. */
  readonly facts: FileFacts;
  /** Bytes of the inflated content. */
  readonly bytes: number;
}

/** Throws `DataMissing`, `DataInvalid` (corrupt gzip, archives), `DataChanged` (while inflating), `DataCacheFailed`. */
export async function openContent(place: DataPlace, path: string, takesParquet = false): Promise<Content> {
  const { disk } = place.host;
  const source = absolutePath(place, path);
  const facts = await inspectFile(place, path);
  const file = await openSource(place, source);
  try {
    if (!(await isGzip(file))) {
      refusePacked(path, (await beginning(source, file, facts, LOOK_BYTES)).bytes, takesParquet);
      return { path, file, facts, bytes: facts.bytes };
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  try {
    const cached = cachedPath(place, source, facts);
    if (!(await disk.exists(cached))) {
      refusePacked(path, (await beginning(source, file, facts, LOOK_BYTES)).bytes, takesParquet);
      await inflate(place, source, file, facts, cached);
    }
    const inflated = await disk.open(cached);
    return { path, file: inflated, facts, bytes: await inflated.size() };
  } finally {
    await file.close();
  }
}

export interface Head {
  readonly bytes: Uint8Array;
  /** They are the whole content. */
  readonly isWhole: boolean;
}

/**
 * The first bytes of the content, up to the end of a line: for a look at it. Nothing is written, so a gzip file is
 * inflated only as far as its first bytes go. Empty when the first line is longer. Throws as `openContent`.
 */
export async function headOf(place: DataPlace, path: string): Promise<Head> {
  const facts = await inspectFile(place, path);
  const file = await openSource(place, absolutePath(place, path));
  try {
    const { bytes, isWhole } = await beginning(path, file, facts, HEAD_BYTES);
    refusePacked(path, bytes);
    return { bytes: isWhole ? bytes : bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1), isWhole };
  } finally {
    await file.close();
  }
}

/**
 * The content from its beginning on, for one look at all of it: nothing is written. Throws as `openContent`, but takes
 * what is packed as it is.
 */
export async function* contentBlocks(place: DataPlace, path: string): AsyncGenerator<Uint8Array> {
  await inspectFile(place, path);
  const file = await openSource(place, absolutePath(place, path));
  try {
    yield* (await isGzip(file)) ? inflateMembers(path, file) : new FileBlocks(file).from(0);
  } finally {
    await file.close();
  }
}

/** The first bytes of the content, which may end anywhere if they are not the whole. */
async function beginning(path: string, file: DiskFile, facts: FileFacts, rawBytes: number): Promise<Head> {
  const bytes = new Uint8Array(Math.min(rawBytes, facts.bytes));
  const raw = bytes.subarray(0, await file.read(bytes, 0));
  const isWhole = raw.length === facts.bytes;
  return { bytes: (await isGzip(file)) ? await inflatedHead(path, file, raw, isWhole) : raw, isWhole };
}

/** Size and time of a data file that must exist. */
export async function inspectFile(place: DataPlace, path: string): Promise<FileFacts> {
  const source = absolutePath(place, path);
  const facts = await place.host.disk.inspect(source);
  if (facts === undefined) throw await missing(place, source);
  if (facts.kind !== 'file') throw new PaddletError('DataInvalid', `${source} is not a file`);
  return facts;
}

async function openSource(place: DataPlace, source: string): Promise<DiskFile> {
  try {
    return await place.host.disk.open(source);
  } catch (cause) {
    throw new PaddletError('DataMissing', `cannot open ${source}: ${(cause as Error).message}`, { cause });
  }
}

async function isGzip(file: DiskFile): Promise<boolean> {
  const magic = new Uint8Array(3);
  await file.read(magic, 0);
  return beginsAsGzip(magic);
}

function cachedPath(place: DataPlace, source: string, facts: FileFacts): string {
  const key = createHash('sha256')
    .update(JSON.stringify([INFLATED_VERSION, source, facts.bytes, facts.modifiedMs]))
    .digest('hex');
  return join(place.cacheFolder, 'inflated', `${basename(source).replace(/\.gz$/, '')}-${key.slice(0, 32)}`);
}

async function inflate(
  place: DataPlace,
  source: string,
  file: DiskFile,
  facts: FileFacts,
  cached: string,
): Promise<void> {
  const { disk } = place.host;
  const folder = join(place.cacheFolder, 'inflated');
  const partial = `${cached}.${place.host.random.uuid()}${PARTIAL}`;
  const target = await inCache(folder, async () => {
    await disk.makeFolder(folder);
    return await disk.create(partial);
  });
  try {
    try {
      await writeInflated(source, file, target, folder);
      await inCache(folder, () => target.sync());
    } finally {
      await target.close();
    }
    const now = await inspectFile(place, source);
    if (now.bytes !== facts.bytes || now.modifiedMs !== facts.modifiedMs) {
      throw new PaddletError('DataChanged', `${source} changed while it was being inflated`);
    }
    await inCache(folder, () => publish(place, partial, cached, folder));
  } catch (error) {
    await disk.remove(partial);
    throw error;
  }
}

/** Renames into place; the first process to do so removes partial copies that other processes have begun. */
async function publish(place: DataPlace, partial: string, cached: string, folder: string): Promise<void> {
  const { disk } = place.host;
  try {
    await disk.rename(partial, cached);
  } catch (error) {
    if (await disk.exists(cached)) return;
    throw error;
  }
  await disk.syncFolder(folder);
  const prefix = `${basename(cached)}.`;
  for (const name of await disk.list(folder)) {
    if (name.startsWith(prefix) && name.endsWith(PARTIAL)) await disk.remove(join(folder, name));
  }
}

async function writeInflated(source: string, file: DiskFile, target: DiskFile, folder: string): Promise<void> {
  let offset = 0;
  for await (const block of inflateMembers(source, file)) {
    const at = offset;
    await inCache(folder, () => target.write(block, at));
    offset += block.length;
  }
}

/** Runs a step on the cache; an error of the disk is reported as one of the cache, with what to do. */
export async function inCache<T>(folder: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (cause instanceof PaddletError) throw cause;
    throw cacheFailed(folder, cause as Error);
  }
}

export const cacheFailed = (folder: string, cause: Error): PaddletError =>
  new PaddletError('DataCacheFailed', `cannot write the data cache ${folder}: ${cause.message}`, {
    cause,
    hint: 'free some space or choose another folder with --cache-dir',
  });
