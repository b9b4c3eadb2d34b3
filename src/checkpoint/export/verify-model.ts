/** `checkpoint verify` of one file that no pserver wrote: a merged model, or safetensors of another program. */
import { isPaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage } from '../../base/seams.ts';
import { bytesOfFile, openFile } from '../file/files.ts';
import { FORMAT } from '../file/format.ts';
import { isHeaderIntact, readMetadataOnly, readSafetensors } from '../file/safetensors/reader.ts';
import type { FileVerdict, Problem, Verification } from '../set/verify.ts';
import { isMerged, type ModelFacts, NOT_AS_WRITTEN, withModelFile } from './model-file.ts';

export interface Watch {
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Undefined for a checkpoint file, and for what is not safetensors. Throws `VersionMismatch`, the machine's errors and
 * the signal's reason; damage is in the answer.
 */
export async function verifyModel(storage: Storage, path: string, watch: Watch): Promise<Verification | undefined> {
  const format = await formatOf(storage, path);
  if (format === undefined || format === FORMAT) return undefined;
  const bytes = await bytesOfFile(storage, path);
  const found = await orHeaderProblem(() =>
    isMerged(format) ? checkMerged(storage, path, watch) : checkForeign(storage, path),
  );
  const { checked, problems, facts } = found;
  const file = { path, index: undefined, uuid: undefined, bytes, checked, problems };
  const { jobId, jobName, shards = 0 } = facts ?? {};
  return { ok: problems.length === 0, jobId, jobName, files: [file], shards, missing: [] };
}

interface Checked {
  readonly checked: FileVerdict['checked'];
  readonly problems: readonly Problem[];
  readonly facts?: ModelFacts;
}

async function formatOf(storage: Storage, path: string): Promise<string | undefined> {
  try {
    const metadata = await withFile(await openFile(storage, path), (file) => readMetadataOnly(file, path));
    return metadata.get('format') ?? '';
  } catch (error) {
    if (isPaddletError(error, 'CheckpointCorrupt', 'CheckpointMissing')) return undefined;
    throw error;
  }
}

async function orHeaderProblem(check: () => Promise<Checked>): Promise<Checked> {
  try {
    return await check();
  } catch (error) {
    if (!isPaddletError(error, 'CheckpointCorrupt')) throw error;
    return { checked: 'checksums', problems: [{ part: 'header', message: error.message }] };
  }
}

const checkMerged = (storage: Storage, path: string, { signal, onBytes }: Watch): Promise<Checked> =>
  withModelFile(storage, path, async ({ facts, hasChecksums, damaged }) => {
    const parts = await damaged((bytes) => {
      signal?.throwIfAborted();
      onBytes?.(bytes);
    });
    const problems = parts.map((part) => ({ part, message: NOT_AS_WRITTEN }));
    return { checked: hasChecksums ? 'checksums' : 'nothing', problems, facts };
  });

/** A seal is ours: then the name of the format is what was damaged. */
const checkForeign = async (storage: Storage, path: string): Promise<Checked> =>
  withFile(await openFile(storage, path), async (file) => {
    const isIntact = await isHeaderIntact(await readSafetensors(file, path));
    if (isIntact !== false) return { checked: 'nothing', problems: [] };
    return { checked: 'checksums', problems: [{ part: 'header', message: NOT_AS_WRITTEN }] };
  });
