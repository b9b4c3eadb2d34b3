/** `checkpoint verify`: every file whole and as it was written, all of one job, every shard there. Bounded memory. */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage, StoredFile } from '../../base/seams.ts';
import { corrupt, openFile } from '../file/files.ts';
import { parseMetadata } from '../file/format.ts';
import type { CheckpointReader } from '../file/reader.ts';
import { isHeaderIntact, readSafetensors } from '../file/safetensors/reader.ts';
import { damagedTensors, digestFile } from '../file/scan.ts';
import { checkStructure } from '../file/structure.ts';
import type { FileRef } from '../registry/file-ref.ts';
import { type CheckpointSet, expectSameJob, openPart } from './checkpoint-set.ts';
import { followParents } from './shard-source.ts';

export interface Problem {
  /** `file`, `header`, `structure`, `job`, `parents`, or the name of a tensor. */
  readonly part: string;
  readonly message: string;
}

export interface FileVerdict {
  readonly path: string;
  readonly index: number | undefined;
  readonly uuid: string | undefined;
  readonly bytes: number | undefined;
  /** What the content was compared with. */
  readonly checked: 'md5' | 'checksums' | 'nothing';
  readonly problems: readonly Problem[];
}

export interface Verification {
  readonly ok: boolean;
  readonly jobId: string | undefined;
  readonly jobName: string | undefined;
  readonly files: readonly FileVerdict[];
  /**
   * Shards of the job, and those that are in no sound file (of the newest ones, where a store says which those are).
   * 0 shards when no file says of which job it is.
   */
  readonly shards: number;
  readonly missing: readonly number[];
}

export interface VerifyOptions {
  readonly storage: Storage;
  readonly files: readonly FileRef[];
  /** Files that must cover all shards; undefined: all together. A single file need not. */
  readonly newest?: ReadonlySet<string>;
  /** The job they must be of, where it is known. */
  readonly jobId?: string;
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** Throws `VersionMismatch`, the machine's errors and the signal's reason; damage is in the answer. */
export async function verifyCheckpoint(options: VerifyOptions): Promise<Verification> {
  const { storage, files, newest, jobId } = options;
  const isSingle = files.length === 1 && files[0]!.index === undefined;
  const verdicts: FileVerdict[] = [];
  const sound = new Map<string, Sound>();
  for (const ref of files) {
    const { verdict, reader } = await verifyFile(storage, ref, options);
    const problems = [...verdict.problems];
    if (reader !== undefined) {
      await reader.close();
      const [first] = sound.values();
      problems.push(...jobProblems(reader, first?.reader, jobId));
      if (problems.length === 0) sound.set(reader.facts.uuid, { ref, reader });
    }
    verdicts.push({ ...verdict, problems });
  }
  const covered = new Set<number>();
  for (const { ref, reader } of sound.values()) {
    const problems = isSingle ? [] : parentProblems(reader, (uuid) => sound.get(uuid)?.reader);
    const at = verdicts.findIndex(({ path }) => path === ref.path);
    verdicts[at] = { ...verdicts[at]!, problems };
    const isCounted = problems.length === 0 && (newest?.has(ref.path) ?? true);
    if (isCounted) for (const { shard } of reader.positions) covered.add(shard);
  }
  const [first] = sound.values();
  const { jobId: id, jobName, shards = 0 } = first?.reader.facts ?? {};
  const missing = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !covered.has(shard));
  const ok = verdicts.every(({ problems }) => problems.length === 0) && (missing.length === 0 || isSingle);
  return { ok, jobId: id, jobName, files: verdicts, shards, missing };
}

interface Sound {
  readonly ref: FileRef;
  readonly reader: CheckpointReader;
}

/** A delta needs the files that its shards build on. Only the first problem is told. */
function parentProblems(reader: CheckpointReader, parentOf: (uuid: string) => CheckpointReader | undefined): Problem[] {
  for (const position of reader.positions) {
    const error = damageOf(() => void followParents(reader, position, parentOf));
    if (error !== undefined) return [{ part: 'parents', message: error.message }];
  }
  return [];
}

function jobProblems(
  reader: CheckpointReader,
  first: CheckpointReader | undefined,
  jobId: string | undefined,
): Problem[] {
  const { facts } = reader;
  if (jobId !== undefined && facts.jobId !== jobId) {
    return [{ part: 'job', message: `belongs to job ${facts.jobName} (${facts.jobId}), not to this job (${jobId})` }];
  }
  if (first === undefined) return [];
  const error = damageOf(() => expectSameJob(first, reader));
  return error === undefined ? [] : [{ part: 'job', message: error.message }];
}

function damageOf(act: () => void): PaddletError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (isPaddletError(error, 'CheckpointCorrupt', 'CheckpointMissing')) return error;
    throw error;
  }
}

interface Verified {
  readonly verdict: FileVerdict;
  /** Open; undefined when the file cannot be read at all. */
  readonly reader: CheckpointReader | undefined;
}

type Watch = Pick<VerifyOptions, 'signal' | 'onBytes'>;

async function verifyFile(storage: Storage, ref: FileRef, watch: Watch): Promise<Verified> {
  const { path, index, uuid, published } = ref;
  let bytes: number | undefined;
  const problems: Problem[] = [];
  const note = (part: string, error: unknown): void => {
    if (!isPaddletError(error, 'CheckpointCorrupt', 'CheckpointMissing')) throw error;
    problems.push({ part, message: error.message });
  };
  let reader: CheckpointReader | undefined;
  try {
    await withFile(await openFile(storage, path), async (file) => {
      bytes = await file.size();
      problems.push(...(await contentProblems(file, ref, watch)));
    });
  } catch (error) {
    note('file', error);
  }
  if (problems.length === 0) {
    try {
      reader = await openPart(storage, ref);
      await checkStructure(reader, watch.signal);
    } catch (error) {
      note('structure', error);
    }
  }
  const checked = published === undefined ? 'checksums' : 'md5';
  const verdict = { path, index, uuid: uuid ?? reader?.facts.uuid, bytes, checked, problems } as const;
  return { verdict, reader };
}

/** Reads the files of a set completely. Throws `CheckpointCorrupt` for the first that is damaged. */
export async function expectIntact({ parts }: Pick<CheckpointSet, 'parts'>, watch: Watch = {}): Promise<void> {
  for (const { reader, path, published } of parts) {
    const [first] = await contentProblems(reader.source.file, { path, ...(published && { published }) }, watch);
    if (first !== undefined) throw corrupt(path, `${first.part}: ${first.message}`);
  }
}

/** Compares with what was published; without that, with the checksums inside. */
export async function contentProblems(
  file: StoredFile,
  { path, published }: Pick<FileRef, 'path' | 'published'>,
  { signal, onBytes }: Watch,
): Promise<Problem[]> {
  const watched = (bytes: number): void => {
    signal?.throwIfAborted();
    onBytes?.(bytes);
  };
  if (published !== undefined) {
    const bytes = await file.size();
    if (published.bytes !== undefined && bytes !== published.bytes) {
      return [{ part: 'file', message: `expected ${published.bytes} bytes, the published size, got ${bytes}` }];
    }
    let done = 0;
    const { md5 } = await digestFile(file, path, (total) => {
      watched(total - done);
      done = total;
    });
    if (md5 === published.md5) return [];
    const parts = await damagedParts(file, path, () => signal?.throwIfAborted());
    if (parts.length > 0) return parts;
    if ((await isHeaderIntact(await readSafetensors(file, path))) === undefined) {
      return [
        { part: 'header', message: `expected the published MD5 ${published.md5}, got ${md5}; the tensors are intact` },
      ];
    }
    return [
      {
        part: 'file',
        message: `the file is intact, but it is not the published file: expected MD5 ${published.md5}, got ${md5}`,
      },
    ];
  }
  return damagedParts(file, path, watched);
}

/** The header, or the tensors that are not as they were written. */
async function damagedParts(file: StoredFile, path: string, onBytes: (bytes: number) => void): Promise<Problem[]> {
  try {
    const source = await readSafetensors(file, path);
    const isIntact = await isHeaderIntact(source);
    // A header without a checksum is of another format version, or its checksum is what was damaged.
    if (isIntact === undefined) parseMetadata(source.metadata, path);
    if (isIntact !== true)
      return [{ part: 'header', message: 'its bytes changed after it was written (wrong CRC-32)' }];
    const damaged = await damagedTensors(source, onBytes);
    return damaged.map((part) => ({ part, message: 'its bytes changed after it was written (wrong CRC-32)' }));
  } catch (error) {
    if (!isPaddletError(error, 'CheckpointCorrupt')) throw error;
    return [{ part: 'header', message: error.message }];
  }
}
