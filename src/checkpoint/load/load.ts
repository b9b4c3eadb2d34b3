/** Start-up: the newest file that is whole, of this job, and says what it should, into the parameter memory. */
import { assert } from '../../base/assert.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import type { Storage, StoredFile } from '../../base/seams.ts';
import type { LookState } from '../../core/shard/looks.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { corrupt, openFile } from '../file/files.ts';
import type { FileFacts, ShardPosition } from '../file/format.ts';
import { differenceOf, type MadeFor } from '../file/made-for.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import { type CheckpointReader, openCheckpoint } from '../file/reader.ts';
import { isHeaderIntact, readSafetensors } from '../file/safetensors/reader.ts';
import { damagedTensors, digestFile, type Progress } from '../file/scan.ts';
import type { Generation } from '../registry/entry.ts';
import type { PublishedFile } from '../registry/newest.ts';
import { eachRowPiece } from './load-rows.ts';

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
}

export interface LoadedCheckpoint {
  readonly facts: FileFacts;
  readonly positions: readonly ShardPosition[];
  /** By shard. Equal ones may be one array. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** By shard; empty if rows have no `seen`. */
  readonly looks: ReadonlyMap<number, LookState>;
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
 * Loads each shard from the first of its files; each file is read once. Throws what concerns the machine or the job,
 * not a single file.
 */
export async function loadFirst(
  filesOf: ReadonlyMap<number, readonly PublishedFile[]>,
  options: LoadPartsOptions,
): Promise<LoadedParts> {
  const { folder } = options;
  const parts: LoadedPart[] = [];
  const unusable = new Map<PublishedFile, PaddletError>();
  const left: number[] = [];
  for (const [file, group] of Map.groupBy(filesOf, ([, [first]]) => first)) {
    const shards = group.map(([shard]) => shard);
    if (file === undefined) {
      left.push(...shards);
      continue;
    }
    const place = { folder, index: file.index };
    try {
      parts.push({ loaded: await loadGeneration(file.generation, { ...options, place, shards }), file });
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
  let wanted = filesOf;
  for (;;) {
    const loaded = await loadFirst(wanted, options);
    parts.push(...loaded.parts);
    for (const [file, error] of loaded.unusable) unusable.set(file, error);
    if (loaded.unusable.size === 0) return { parts, lost: loaded.left, complaints: [...unusable.values()] };
    const others = (shard: number): PublishedFile[] => wanted.get(shard)!.filter((file) => !unusable.has(file));
    wanted = new Map(loaded.left.map((shard) => [shard, others(shard)]));
  }
}

/** Throws what concerns the machine or the job, not a single file. */
function asComplaint(error: unknown): PaddletError {
  if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return error;
  throw error;
}

/**
 * Checks size and MD5, and loads: both at once where the disk can. Throws `CheckpointMissing`, `CheckpointCorrupt`;
 * then nothing was loaded.
 */
export async function loadGeneration(generation: Generation, options: LoadOptions): Promise<LoadedCheckpoint> {
  const { storage, place, progress, into } = options;
  const path = checkpointPath(place, generation.uuid);
  const file = await openFile(storage, path);
  const verified = withFile(file, () => verifyFile(file, path, generation, progress));
  if (file.md5 === undefined || progress !== undefined) {
    await verified;
    return readGeneration(generation, options);
  }
  const [verdict, outcome] = await Promise.allSettled([verified, readGeneration(generation, options)]);
  if (verdict.status === 'rejected') {
    if (outcome.status === 'fulfilled') for (const { shard } of outcome.value.positions) into.dropShard(shard);
    // Whatever error reading a damaged file led to, the damage is the cause.
    throw verdict.reason;
  }
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

async function readGeneration(generation: Generation, options: LoadOptions): Promise<LoadedCheckpoint> {
  const path = checkpointPath(options.place, generation.uuid);
  const reader = await openCheckpoint(options.storage, path);
  try {
    checkOrigin(reader, generation, options);
    return await loadShards(reader, options);
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

/** Loads all shards of an open file, or the given ones. Throws `CheckpointCorrupt`; then nothing was loaded. */
export async function loadShards(
  reader: CheckpointReader,
  { into, shards }: Pick<LoadOptions, 'into' | 'shards'>,
): Promise<LoadedCheckpoint> {
  const wanted = new Set(shards ?? reader.positions.map(({ shard }) => shard));
  const positions = reader.positions.filter(({ shard }) => wanted.has(shard));
  if (positions.length !== wanted.size) {
    const here = new Set(positions.map(({ shard }) => shard));
    const missing = [...wanted].filter((shard) => !here.has(shard));
    throw corrupt(reader.path, `has no shard ${missing.slice(0, 20).join(', ')}`);
  }
  const partly = positions.find(({ parent }) => parent !== undefined);
  if (partly !== undefined)
    throw corrupt(reader.path, `has only what changed in shard ${partly.shard} since ${partly.parent?.uuid}`);
  const order = positions.map(({ shard }) => shard);
  const ledgers = new Map<number, Uint8Array>();
  const looks = new Map<number, LookState>();
  const added: number[] = [];
  into.prepare(Math.floor((reader.source.bytes * order.length) / Math.max(1, reader.positions.length)));
  try {
    for (const shard of order) {
      assert(!into.hasShard(shard), `a shard ${shard} of this job is loaded`);
      into.addShard(shard);
      added.push(shard);
    }
    await eachRowPiece(reader, order, ({ shard, table, rows }) =>
      asDamage(reader, shard, () => into.importRows(shard, table, rows)),
    );
    await loadBlocks(reader, order, into);
    for (const shard of order) {
      ledgers.set(shard, await reader.ledgerOf(shard));
      const state = await reader.looksOf(shard);
      if (state !== undefined) looks.set(shard, state);
    }
  } catch (error) {
    for (const shard of added) into.dropShard(shard);
    throw error;
  }
  return { facts: reader.facts, positions, ledgers, looks };
}

export async function loadBlocks(
  reader: CheckpointReader,
  shards: readonly number[],
  into: ParameterMemory,
): Promise<void> {
  const expected = blocksByShard(reader.facts);
  for (const shard of shards) {
    let found = 0;
    for await (const block of reader.blocksOf(shard)) {
      asDamage(reader, shard, () => into.importBlock(shard, block));
      found += 1;
    }
    const blocks = expected[shard]!;
    if (found !== blocks) throw corrupt(reader.path, `shard ${shard}: has ${found} of its ${blocks} dense blocks`);
  }
}

/** What parameter memory refuses is the file's fault. */
export function asDamage(reader: CheckpointReader, shard: number, put: () => void): void {
  try {
    put();
  } catch (error) {
    if (!isPaddletError(error, 'BadMessage', 'WrongShard', 'UnknownParameter')) throw error;
    throw corrupt(reader.path, `shard ${shard}: ${error.message}`, error);
  }
}

function blocksByShard({ parameters, shards }: FileFacts): Uint32Array {
  const blocks = new Uint32Array(shards);
  for (const dense of parameters.dense) for (const shard of blockShards(dense, shards)) blocks[shard]! += 1;
  return blocks;
}
