/**
 * The content of a data file, to be read by ranges: a plain file in place; a packed one (recognized by its magic
 * number, not by its name) is unpacked once into the cache folder and read there. Several processes may do so at the
 * same time: each writes a separate name and renames it, so a file under the final name is always whole.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { type DiskFile, type FileFacts, nextTurn } from '../../base/seams.ts';
import { absolutePath, type DataPlace, missing } from '../place.ts';
import { FileBlocks } from './file-blocks.ts';
import { ForwardBytes } from './forward.ts';
import { LOOK_BYTES, refusePacked } from './packed.ts';
import type { CorruptChunk } from './packings/packing.ts';
import { isPacked, unpacked } from './packings/unpack.ts';
import { type Skipped, SkippedChunks, skippedIn } from './skipped-chunks.ts';

/** Raise this when a change would make the same file become other bytes, or refuse it. */
const UNPACKED_VERSION = 3;
const PARTIAL = '.partial';
const HEAD_BYTES = 1 << 16;
const NEWLINE = 10;

export interface Content {
  /** The path as given. */
  readonly path: string;
  readonly file: DiskFile;
  /** Facts about the file at that path when it was opened. */
  readonly facts: FileFacts;
  /** Bytes of the unpacked content. */
  readonly bytes: number;
  /** Corrupt chunks that it is without. */
  readonly skipped?: Skipped | undefined;
}

/** Throws `DataMissing`, `DataInvalid` (corrupt, archives), `DataChanged` (while it is unpacked), `DataCacheFailed`. */
export async function openContent(place: DataPlace, path: string, takesParquet = false): Promise<Content> {
  const { disk } = place.host;
  const source = absolutePath(place, path);
  const facts = await inspectFile(place, path);
  const file = await openSource(place, source);
  let isRead = false;
  try {
    const first = new Uint8Array(Math.min(LOOK_BYTES, facts.bytes));
    const beginning = first.subarray(0, await file.read(first, 0));
    if (!isPacked(beginning)) {
      refusePacked(path, beginning, takesParquet);
      isRead = true;
      return { path, file, facts, bytes: facts.bytes };
    }
    const cached = cachedPath(place, source, facts);
    if (!(await disk.exists(cached))) await unpackTo(cached, place, { path, source, file, facts, takesParquet });
    const content = await disk.open(cached);
    const skipped = place.corruptChunks === 'skip' ? await skippedIn(place, cached) : undefined;
    return { path, file: content, facts, bytes: await content.size(), skipped };
  } finally {
    if (!isRead) await file.close();
  }
}

export interface Head {
  readonly bytes: Uint8Array;
  /** They are the whole content. */
  readonly isWhole: boolean;
}

/**
 * The first bytes of the content, up to the end of a line: for a look at it. Nothing is written, so a packed file is
 * unpacked only as far as its first bytes go. Empty when the first line is longer. Throws as `openContent`.
 */
export async function headOf(place: DataPlace, path: string): Promise<Head> {
  const blocks = contentBlocks(place, path);
  const content = new ForwardBytes(blocks);
  try {
    const bytes = await content.peek(HEAD_BYTES + 1);
    refusePacked(path, bytes);
    const isWhole = bytes.length <= HEAD_BYTES;
    const head = bytes.subarray(0, HEAD_BYTES);
    return { bytes: isWhole ? head : head.subarray(0, head.lastIndexOf(NEWLINE) + 1), isWhole };
  } finally {
    await content.close();
  }
}

/**
 * The content from its beginning on, for one look at all of it: nothing is written. Throws as `openContent`, but takes
 * archives as they are.
 */
export async function* contentBlocks(place: DataPlace, path: string): AsyncGenerator<Uint8Array> {
  await inspectFile(place, path);
  const file = await openSource(place, absolutePath(place, path));
  try {
    const onCorruptChunk = place.corruptChunks === 'skip' ? () => {} : undefined;
    const content = await unpacked(new FileBlocks(file).from(0), {
      path,
      file,
      turn: () => nextTurn(place.host.clock),
      onCorruptChunk,
    });
    yield* content.rest();
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

function cachedPath(place: DataPlace, source: string, facts: FileFacts): string {
  const key = createHash('sha256')
    .update(JSON.stringify([UNPACKED_VERSION, source, facts.bytes, facts.modifiedMs, place.corruptChunks ?? 'fail']))
    .digest('hex');
  return join(place.cacheFolder, 'inflated', `${basename(source).replace(/\.(gz|zst)$/, '')}-${key.slice(0, 32)}`);
}

interface Packed extends Pick<Content, 'path' | 'file' | 'facts'> {
  /** Absolute. */
  readonly source: string;
  readonly takesParquet: boolean;
}

async function unpackTo(cached: string, place: DataPlace, packed: Packed): Promise<void> {
  const { disk } = place.host;
  const { path, source, file, facts, takesParquet } = packed;
  const skipping = place.corruptChunks === 'skip' ? new SkippedChunks(place, path) : undefined;
  const onCorruptChunk = skipping && ((chunk: CorruptChunk) => skipping.add(chunk));
  const content = await unpacked(new FileBlocks(file).from(0), {
    path: source,
    file,
    turn: () => nextTurn(place.host.clock),
    onCorruptChunk,
  });
  try {
    refusePacked(path, await content.peek(LOOK_BYTES), takesParquet);
    const folder = join(place.cacheFolder, 'inflated');
    const partial = `${cached}.${place.host.random.uuid()}${PARTIAL}`;
    const target = await inCache(folder, async () => {
      await disk.makeFolder(folder);
      return await disk.create(partial);
    });
    try {
      try {
        await writeBlocks(content.rest(), target, folder);
        await inCache(folder, () => target.sync());
      } finally {
        await target.close();
      }
      const now = await inspectFile(place, source);
      if (now.bytes !== facts.bytes || now.modifiedMs !== facts.modifiedMs) {
        throw new PaddletError('DataChanged', `${source} changed while paddlet decompressed it`);
      }
      await inCache(folder, async () => {
        await skipping?.write(cached);
        await publish(place, partial, cached, folder);
      });
    } catch (error) {
      await disk.remove(partial);
      throw error;
    }
  } finally {
    await content.close();
  }
}

/** Renames into place; the first process to do so removes partial copies that other processes have started. */
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

async function writeBlocks(blocks: AsyncIterable<Uint8Array>, target: DiskFile, folder: string): Promise<void> {
  let offset = 0;
  for await (const block of blocks) {
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
    hint: 'free space, or choose another folder with --cache-dir',
  });
