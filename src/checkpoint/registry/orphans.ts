/**
 * Files that a crash left: written and never published, or published, replaced and not yet deleted. The new owner of an
 * index looks for them once, at start-up.
 */
import { isPaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage } from '../../base/seams.ts';
import { openFile } from '../file/files.ts';
import { FORMAT } from '../file/format.ts';
import { type FilePlace, indexFolder, jobTag, parseTemporaryName, UUID_PATTERN } from '../file/paths.ts';
import { readMetadataOnly } from '../file/safetensors/reader.ts';

export interface OrphanOptions {
  readonly storage: Storage;
  readonly place: FilePlace;
  readonly jobId: string;
  /** Token of the claim on this index; only files of older claims on it may be removed. */
  readonly token: bigint;
  /** Names published anywhere, read after the claim: an older owner can no longer publish. */
  readonly published: ReadonlySet<string>;
}

export interface OrphanReport {
  readonly removed: readonly string[];
  /** Unpublished files that are kept nevertheless, with the reason. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
}

/** Removes the files that are certainly orphans, and reports the rest. Throws the errors of the storage. */
export async function removeOrphans(options: OrphanOptions): Promise<OrphanReport> {
  const { storage, place, published } = options;
  const folder = indexFolder(place);
  const removed: string[] = [];
  const left: { name: string; reason: string }[] = [];
  for (const { name } of await storage.list(folder)) {
    if (published.has(name)) continue;
    const reason = await reasonToStay(name, `${folder}/${name}`, options);
    if (reason === undefined) {
      await storage.delete(`${folder}/${name}`);
      removed.push(name);
    } else {
      left.push({ name, reason });
    }
  }
  return { removed, left };
}

async function reasonToStay(name: string, path: string, options: OrphanOptions): Promise<string | undefined> {
  const { token, jobId, place, storage } = options;
  const temporary = parseTemporaryName(name);
  if (temporary !== undefined) {
    if (temporary.jobTag !== jobTag(jobId)) return 'being written by another job';
    return temporary.token < token ? undefined : 'being written by this owner or a later one';
  }
  if (!UUID_PATTERN.test(name)) return 'not a checkpoint';
  try {
    const metadata = await withFile(await openFile(storage, path), (file) => readMetadataOnly(file, path));
    if (metadata.get('format') !== FORMAT) return 'not a checkpoint';
    if (metadata.get('jobId') !== jobId || metadata.get('index') !== String(place.index)) {
      return 'belongs to another job or pserver';
    }
    const writer = metadata.get('token') ?? '';
    if (!/^\d{1,20}$/.test(writer)) return 'its writer is unknown';
    return BigInt(writer) < token ? undefined : 'written by this owner or a later one';
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing')) return 'removed in the meantime';
    if (isPaddletError(error, 'CheckpointCorrupt')) return `its writer is unknown: ${error.message}`;
    throw error;
  }
}
