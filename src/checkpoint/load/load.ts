/** Start-up: the newest file that is whole, of this job, and says what it should, into the parameter memory. */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage, StoredFile } from '../../base/seams.ts';
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { corrupt, openFile } from '../file/files.ts';
import { differenceOf, type MadeFor } from '../file/made-for.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import { type CheckpointReader, openCheckpoint } from '../file/reader.ts';
import { isHeaderIntact, readSafetensors } from '../file/safetensors/reader.ts';
import { damagedTensors, digestFile, type Progress } from '../file/scan.ts';
import type { Generation } from '../registry/entry.ts';
import type { PublishedFile } from '../registry/newest.ts';
import { chainsOf, type Link, linksOf } from './links.ts';
import { loadChanges, type ParentState } from './load-changes.ts';
import { type LoadedCheckpoint, loadShards } from './load-shards.ts';

/** What the file must have been written for. */
export interface ExpectedJob extends MadeFor {
  readonly jobId: string;
}

export interface LoadOptions {
  readonly storage: Storage;
  readonly place: FilePlace;
  readonly expected: ExpectedJob;
  /** Has none of the shards yet; afterwards all of them, or after an error none. */
  readonly into: ParameterMemory;
  /** Undefined: all that the file has. */
  readonly shards?: readonly number[];
  readonly progress?: Progress;
  /** Collects broken files by name, with the reason. They are not read again. */
  readonly broken?: Map<string, PaddletError>;
}

/** What was loaded from one file. */
export interface LoadedPart {
  readonly loaded: LoadedCheckpoint;
  readonly file: PublishedFile;
}

export interface LoadedParts {
  readonly parts: readonly LoadedPart[];
  /** What was wrong with each file that is not usable, naming file and part. */
  readonly unusable: ReadonlyMap<PublishedFile, PaddletError>;
  /** Shards that were not loaded: no file contains them, or the first such file cannot be used. */
  readonly left: readonly number[];
}

export interface LoadPartsOptions extends Omit<LoadOptions, 'place' | 'shards'> {
  /** The job's checkpoint folder. */
  readonly folder: string;
}

/**
 * Loads each shard from the first of its files; each file is read once for all shards that need the same ones. Throws
 * what concerns the machine or the job, not a single file.
 */
export async function loadFirst(
  filesOf: ReadonlyMap<number, readonly PublishedFile[]>,
  options: LoadPartsOptions,
): Promise<LoadedParts> {
  const { folder, broken = new Map<string, PaddletError>() } = options;
  const parts: LoadedPart[] = [];
  const unusable = new Map<PublishedFile, PaddletError>();
  const left: number[] = [];
  for (const group of withOneChain(filesOf)) {
    const shards = group.map(([shard]) => shard);
    const [file] = group[0]![1];
    if (file === undefined) {
      left.push(...shards);
      continue;
    }
    const place = { folder, index: file.index };
    try {
      const loading = { ...options, place, shards, broken };
      parts.push({ loaded: await loadGeneration(file.generation, loading, file.earlier), file });
    } catch (error) {
      unusable.set(file, asComplaint(error));
      left.push(...shards);
    }
  }
  return { parts, unusable, left: left.sort((a, b) => a - b) };
}

export interface LoadOutcome {
  readonly parts: readonly LoadedPart[];
  /** Shards of which no file is usable. */
  readonly lost: readonly number[];
  /** What was wrong with the files that were tried before: `CheckpointMissing` or `CheckpointCorrupt`. */
  readonly complaints: readonly PaddletError[];
}

/** Loads each shard from the first usable one of its files. Throws what concerns the machine or the job. */
export async function loadFirstUsable(
  filesOf: ReadonlyMap<number, readonly PublishedFile[]>,
  options: LoadPartsOptions,
): Promise<LoadOutcome> {
  const parts: LoadedPart[] = [];
  const unusable = new Map<PublishedFile, PaddletError>();
  const { broken = new Map<string, PaddletError>() } = options;
  let wanted = filesOf;
  for (;;) {
    const loaded = await loadFirst(wanted, { ...options, broken });
    parts.push(...loaded.parts);
    for (const [file, error] of loaded.unusable) unusable.set(file, error);
    if (loaded.unusable.size === 0) return { parts, lost: loaded.left, complaints: [...unusable.values()] };
    const others = (shard: number): PublishedFile[] => wanted.get(shard)!.filter((file) => !unusable.has(file));
    wanted = new Map(loaded.left.map((shard) => [shard, others(shard)]));
  }
}

type FilesOf = readonly [shard: number, files: readonly PublishedFile[]];

/** Groups shards that come from the same files. If a file is broken, the other groups can still be loaded. */
function withOneChain(filesOf: ReadonlyMap<number, readonly PublishedFile[]>): FilesOf[][] {
  const ofFile = Map.groupBy(filesOf, ([, [first]]) => first);
  return [...ofFile].flatMap(([file, group]) => {
    if (file?.generation.parents === undefined) return [group];
    const chainOf = chainsOf(file.generation, file.earlier);
    return [...Map.groupBy(group, ([shard]) => chainOf(shard).join()).values()];
  });
}

/** Throws what concerns the machine or the job, not a single file. */
function asComplaint(error: unknown): PaddletError {
  if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return error;
  throw error;
}

/**
 * Loads shards of a file, which builds on `earlier` ones of its index if it is a delta. Checks size and MD5 of each, at
 * once with reading where the disk can. Throws `CheckpointMissing`, `CheckpointCorrupt`; then nothing was loaded.
 */
export async function loadGeneration(
  generation: Generation,
  options: LoadOptions,
  earlier: readonly Generation[] = [],
): Promise<LoadedCheckpoint> {
  const { into, shards } = options;
  const path = checkpointPath(options.place, generation.uuid);
  const links = linksOf(generation, { earlier, shards, path });
  const loaded = new Map<number, ParentState>();
  const added = new Set<number>();
  try {
    for (const link of links.slice(0, -1)) {
      const { positions, looks } = await loadLink(link, { ...options, loaded, added });
      for (const { shard, seq } of positions)
        loaded.set(shard, { uuid: link.generation.uuid, seq, base: looks.get(shard)?.base ?? 0 });
    }
    return await loadLink(links.at(-1)!, { ...options, loaded, added });
  } catch (error) {
    for (const shard of added) if (into.hasShard(shard)) into.dropShard(shard);
    throw error;
  }
}

interface LinkOptions extends LoadOptions {
  /** The shards as the links before have them. */
  readonly loaded: ReadonlyMap<number, ParentState>;
  /** Gets the shards that are put in. */
  readonly added: Set<number>;
}

async function loadLink({ generation, whole, changes }: Link, options: LinkOptions): Promise<LoadedCheckpoint> {
  const { into, loaded, added } = options;
  return readVerified(generation, options, async (reader) => {
    const first = await loadShards(reader, { into, ...(whole === undefined ? {} : { shards: whole }) });
    for (const { shard } of first.positions) added.add(shard);
    if (changes.length === 0) return first;
    const before = new Map(changes.map((shard) => [shard, loaded.get(shard)!]));
    const second = await loadChanges(reader, { into, before });
    return {
      facts: reader.facts,
      positions: [...first.positions, ...second.positions],
      ledgers: new Map([...first.ledgers, ...second.ledgers]),
      looks: new Map([...first.looks, ...second.looks]),
    };
  });
}

/** Reads a file and checks it. A file that is known to be broken is not read again, however many files build on it. */
async function readVerified<T>(
  generation: Generation,
  options: LoadOptions,
  read: (reader: CheckpointReader) => Promise<T>,
): Promise<T> {
  const { storage, place, progress, broken } = options;
  const known = broken?.get(generation.uuid);
  if (known !== undefined) throw known;
  const path = checkpointPath(place, generation.uuid);
  try {
    const file = await openFile(storage, path);
    const verified = withFile(file, () => verifyFile(file, path, generation, progress));
    if (file.md5 === undefined || progress !== undefined) await verified;
    const [verdict, outcome] = await Promise.allSettled([verified, readGeneration(generation, options, read)]);
    // Whatever error reading a damaged file led to, the damage is the cause.
    if (verdict.status === 'rejected') throw verdict.reason;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) broken?.set(generation.uuid, error);
    throw error;
  }
}

async function readGeneration<T>(
  generation: Generation,
  options: LoadOptions,
  read: (reader: CheckpointReader) => Promise<T>,
): Promise<T> {
  const path = checkpointPath(options.place, generation.uuid);
  const reader = await openCheckpoint(options.storage, path);
  try {
    checkOrigin(reader, generation, options);
    return await read(reader);
  } finally {
    await reader.close();
  }
}

/** Compares the file with what was published of it. The error names the damaged part. */
export async function verifyFile(
  file: StoredFile,
  path: string,
  published: Pick<Generation, 'md5' | 'bytes'>,
  progress?: Progress,
): Promise<void> {
  const bytes = await file.size();
  if (published.bytes !== undefined && bytes !== published.bytes) {
    throw corrupt(path, `expected ${published.bytes} bytes as published, got ${bytes}`);
  }
  const { md5 } = await digestFile(file, path, progress);
  if (md5 === published.md5) return;
  const source = await readSafetensors(file, path);
  const damaged = await damagedTensors(source);
  const unnamed =
    (await isHeaderIntact(source)) === false ? 'the header' : 'the header, or the whole file was replaced';
  const part = damaged.length === 0 ? unnamed : damaged.join(', ');
  throw corrupt(path, `expected MD5 ${published.md5} as published, got ${md5}; damaged: ${part}`);
}

function checkOrigin({ facts, path }: CheckpointReader, { uuid }: Generation, options: LoadOptions): void {
  const { expected, place } = options;
  if (facts.jobId !== expected.jobId) {
    throw corrupt(path, `belongs to job ${facts.jobName} (${facts.jobId}), not to this job (${expected.jobId})`);
  }
  if (facts.uuid !== uuid || facts.index !== place.index) {
    throw corrupt(path, `the file contains checkpoint ${facts.uuid} of pserver ${facts.index}: someone moved it here`);
  }
  const difference = differenceOf(facts, expected);
  if (difference !== undefined)
    throw corrupt(path, `does not match the job: different ${difference.part}: ${difference.found}`);
}
