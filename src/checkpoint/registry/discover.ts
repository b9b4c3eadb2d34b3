/**
 * Which files a path means: a file, the manifest of a kept model, a pserver's folder, the checkpoint folder of a job,
 * or the folder of a job.
 */
import { basename, join } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Listed, Storage } from '../../base/seams.ts';
import { isFolder, openFile } from '../file/files.ts';
import { checkpointPath, indexFolder, parseTemporaryName, UUID_PATTERN } from '../file/paths.ts';
import { readMetadataOnly } from '../file/safetensors/reader.ts';
import { type CheckpointEntry, parseEntry } from './entry.ts';
import type { FileRef } from './file-ref.ts';
import { isManifest, KEPT_FOLDER, readManifest } from './manifest.ts';
import { newestFiles, type PublishedFile, publishedFiles } from './newest.ts';
import { type Parting, withPartings } from './partings.ts';

export interface FolderFiles {
  /** The checkpoint folder; undefined when a single file was named. */
  readonly folder: string | undefined;
  /** Sorted by index, then by name. */
  readonly files: readonly FileRef[];
  /** Files that are being written, or that a crash left. */
  readonly unfinished: readonly string[];
  /**
   * Files of pservers that models are kept of (manifest.ts). They may be older than `files`, or of a time to which the
   * job was taken back: who reads the folder does not mean them. Those of a pserver that has no others are in `files`.
   */
  readonly kept?: readonly FileRef[];
}

/** Throws `CheckpointMissing` when the path has no checkpoint. */
export async function findFiles(storage: Storage, path: string): Promise<FolderFiles> {
  const listed = await storage.list(path);
  if (listed.length === 0) return { folder: undefined, files: await filesNamed(storage, path), unfinished: [] };
  if (listed.some(({ name }) => parseIndex(name) !== undefined)) return filesOfFolder(storage, path, listed);
  const inside = join(path, 'checkpoints');
  if (listed.some(({ name, kind }) => name === 'checkpoints' && kind === 'folder')) return findFiles(storage, inside);
  if (listed.some(({ name }) => UUID_PATTERN.test(name))) {
    const index = parseIndex(basename(path));
    return { folder: undefined, ...filesOfIndex(path, index, listed) };
  }
  throw noCheckpoints(path);
}

const noCheckpoints = (path: string): PaddletError =>
  new PaddletError('CheckpointMissing', `${path}: the folder contains no checkpoints`, {
    hint:
      'give the path of a checkpoint file, of the manifest of a kept model, or of a folder that contains a folder for ' +
      'each pserver: 0, 1, …',
  });

/** One file, or those that a manifest lists. */
async function filesNamed(storage: Storage, path: string): Promise<FileRef[]> {
  try {
    return await withFile(await openFile(storage, path), async (file) =>
      (await isManifest(file, path)) ? readManifest(file, path) : [{ path }],
    );
  } catch (error) {
    if (isPaddletError(error, 'CheckpointCorrupt') && isFolder(error.cause)) throw noCheckpoints(path);
    if (!isPaddletError(error, 'CheckpointMissing')) throw error;
    throw new PaddletError('CheckpointMissing', `${path}: no such file or folder`, { cause: error });
  }
}

function parseIndex(name: string): number | undefined {
  const index = /^(?:0|[1-9]\d{0,3})$/.test(name) ? Number(name) : undefined;
  return index !== undefined && index < LIMITS.pservers ? index : undefined;
}

async function filesOfFolder(storage: Storage, folder: string, listed: readonly Listed[]): Promise<FolderFiles> {
  const indexes = listed.flatMap(({ name, kind }) => (kind === 'folder' ? (parseIndex(name) ?? []) : []));
  const files: FileRef[] = [];
  const kept: FileRef[] = [];
  const unfinished: string[] = [];
  const listedIn = listed.some(({ name }) => name === KEPT_FOLDER)
    ? await namesInManifests(storage, folder)
    : new Set();
  for (const index of indexes.sort((a, b) => a - b)) {
    const path = indexFolder({ folder, index });
    const found = filesOfIndex(path, index, await storage.list(path));
    const others = found.files.filter(({ uuid }) => !listedIn.has(uuid));
    files.push(...(others.length === 0 ? found.files : others));
    if (others.length > 0) kept.push(...found.files.filter(({ uuid }) => listedIn.has(uuid)));
    unfinished.push(...found.unfinished);
  }
  return { folder, files, unfinished, kept };
}

/** Of all jobs of the folder. A manifest that cannot be read lists nothing. */
async function namesInManifests(storage: Storage, folder: string): Promise<ReadonlySet<unknown>> {
  const names = new Set<unknown>();
  const at = join(folder, KEPT_FOLDER);
  for (const { name: job } of await storage.list(at)) {
    for (const { name } of await storage.list(join(at, job))) {
      const path = join(at, job, name);
      if (path.endsWith('.json')) for (const { uuid } of await filesListed(storage, path)) names.add(uuid);
    }
  }
  return names;
}

async function filesListed(storage: Storage, path: string): Promise<FileRef[]> {
  try {
    return await filesNamed(storage, path);
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return [];
    throw error;
  }
}

function filesOfIndex(
  path: string,
  index: number | undefined,
  listed: readonly Listed[],
): Pick<FolderFiles, 'files' | 'unfinished'> {
  const sorted = listed.map(({ name }) => name);
  return {
    files: sorted
      .filter((name) => UUID_PATTERN.test(name))
      .map((uuid) => ({ path: `${path}/${uuid}`, uuid, ...(index === undefined ? {} : { index }) })),
    unfinished: sorted.filter((name) => parseTemporaryName(name) !== undefined).map((name) => `${path}/${name}`),
  };
}

/** A published entry and the index it is of. */
export interface PublishedEntry {
  readonly index: number;
  readonly entry: CheckpointEntry;
  readonly modRevision: bigint;
}

export interface StoredEntry {
  readonly key: string;
  readonly value: string;
  readonly modRevision: bigint;
}

/**
 * The entries by index, and why the others cannot be parsed. The cut of jobs in sync mode (cut.ts) and what is kept
 * (kept-key.ts) are under the prefix, too.
 */
export function readEntries(prefix: string, entries: readonly StoredEntry[]) {
  const published: PublishedEntry[] = [];
  const complaints: string[] = [];
  for (const found of entries.filter(({ key }) => key !== `${prefix}cut` && key !== `${prefix}kept`)) {
    const { key } = found;
    const index = parseIndex(key.slice(prefix.length));
    const { entry, complaint, modRevision } = parseEntry(key, found);
    if (index === undefined) complaints.push(`${key}: not the index of a pserver`);
    else if (entry === undefined) complaints.push(complaint ?? `${key}: no entry`);
    else published.push({ index, entry, modRevision });
  }
  return { published: published.sort((a, b) => a.index - b.index), complaints };
}

/** Entries as the store has them. Throws `CheckpointCorrupt` for one that cannot be parsed. */
export function parseEntries(prefix: string, entries: readonly StoredEntry[]): PublishedEntry[] {
  const { published, complaints } = readEntries(prefix, entries);
  const [first] = complaints;
  if (first !== undefined) throw new PaddletError('CheckpointCorrupt', first);
  return published;
}

const refsOf = (folder: string, files: readonly PublishedFile[]): FileRef[] =>
  files.map(({ index, generation, earlier }) => ({
    path: checkpointPath({ folder, index }, generation.uuid),
    index,
    uuid: generation.uuid,
    published: generation,
    ...(earlier && { earlier }),
  }));

/** The published files, by index. */
export const filesOfEntries = (folder: string, published: readonly PublishedEntry[]): FileRef[] =>
  refsOf(folder, publishedFiles(published));

/**
 * The files that have the newest copy of a shard. Those of a job in sync mode are of the newest round of which every
 * shard is saved.
 */
export const newestOfEntries = (
  folder: string,
  published: readonly PublishedEntry[],
  partings: readonly Parting[],
): FileRef[] => refsOf(folder, newestFiles(withPartings(publishedFiles(published), partings)));

/** Files of the job of that id or name, in a folder that several jobs share. `CheckpointMissing` when there is none. */
export async function filesOfJob(storage: Storage, files: readonly FileRef[], job: string): Promise<FileRef[]> {
  const found: FileRef[] = [];
  for (const ref of files) {
    const metadata = await metadataOf(storage, ref.path);
    if (metadata?.get('jobId') === job || metadata?.get('jobName') === job) found.push(ref);
  }
  if (found.length > 0) return found;
  throw new PaddletError('CheckpointMissing', `none of the ${files.length} files belongs to job ${job}`);
}

/** Undefined if the file was removed: its job may be running. */
async function metadataOf(storage: Storage, path: string): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    return await withFile(await openFile(storage, path), (file) => readMetadataOnly(file, path));
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing')) return undefined;
    throw error;
  }
}
