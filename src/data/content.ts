/**
 * The content of a data file, to be read by ranges: a plain file in place; a gzip file (told by its magic, not by its
 * name) is inflated once into the cache folder and read there. Several processes may do so at the same time: each
 * writes a name of its own and renames it, so a file under the final name is always whole.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { PaddletError } from '../base/errors.ts';
import type { DiskFile, FileFacts } from '../base/seams.ts';
import { absolutePath, type DataPlace, missing } from './place.ts';

const BLOCK_BYTES = 1 << 20;
const PARTIAL = '.partial';

export interface Content {
  /** As given. */
  readonly path: string;
  readonly file: DiskFile;
  /** Bytes of the inflated content. */
  readonly bytes: number;
}

/** Throws `DataMissing`, `DataInvalid` (corrupt gzip), `DataChanged` (while inflating), `DataCacheFailed`. */
export async function openContent(place: DataPlace, path: string): Promise<Content> {
  const { disk } = place.host;
  const source = absolutePath(place, path);
  const facts = await inspectFile(place, path);
  const file = await openSource(place, source);
  if (!(await isGzip(file))) return { path, file, bytes: facts.bytes };
  try {
    const cached = cachedPath(place, source, facts);
    if (!(await disk.exists(cached))) await inflate(place, source, file, facts, cached);
    const inflated = await disk.open(cached);
    return { path, file: inflated, bytes: await inflated.size() };
  } finally {
    await file.close();
  }
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

/** RFC 1952 §2.3.1: ID1 = 31, ID2 = 139, CM = 8 (deflate). No text or idx file begins so. */
async function isGzip(file: DiskFile): Promise<boolean> {
  const magic = new Uint8Array(3);
  return (await file.read(magic, 0)) === 3 && magic[0] === 31 && magic[1] === 139 && magic[2] === 8;
}

function cachedPath(place: DataPlace, source: string, facts: FileFacts): string {
  const key = createHash('sha256')
    .update(JSON.stringify([source, facts.bytes, facts.modifiedMs]))
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
  const gunzip = createGunzip({ chunkSize: BLOCK_BYTES });
  const input = Readable.from(blocksOf(file), { objectMode: true });
  input.on('error', (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  let offset = 0;
  try {
    for await (const block of gunzip as AsyncIterable<Uint8Array>) {
      const at = offset;
      await inCache(folder, () => target.write(block, at));
      offset += block.length;
    }
  } catch (cause) {
    if (cause instanceof PaddletError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const what = code.startsWith('Z_') ? 'is not a valid gzip file' : 'cannot be read';
    throw new PaddletError('DataInvalid', `${source} ${what}: ${(cause as Error).message} (after ${offset} bytes)`, {
      cause,
      hint: 'check it with gzip -t, and fetch it again',
    });
  } finally {
    input.destroy();
  }
}

async function* blocksOf(file: DiskFile): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; ) {
    const block = new Uint8Array(BLOCK_BYTES);
    const count = await file.read(block, offset);
    if (count > 0) yield block.subarray(0, count);
    if (count < block.length) return;
    offset += count;
  }
}

/** Runs a step on the cache; an error of the disk is reported as one of the cache, with what to do. */
export async function inCache<T>(folder: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (cause instanceof PaddletError) throw cause;
    throw new PaddletError('DataCacheFailed', `cannot write the data cache ${folder}: ${(cause as Error).message}`, {
      cause,
      hint: 'free some space or choose another folder with --cache-dir',
    });
  }
}
