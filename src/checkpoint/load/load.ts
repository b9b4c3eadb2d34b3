/** Start-up: the newest file that is whole, of this job, and says what it should, into the parameter memory. */
import { assert } from '../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Disk } from '../../base/seams.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import { corrupt, openFile, withFile } from '../file/files.ts';
import type { FileFacts, ShardPosition } from '../file/format.ts';
import { differenceOf, type MadeFor } from '../file/made-for.ts';
import { checkpointPath, type FilePlace } from '../file/paths.ts';
import { type CheckpointReader, openCheckpoint } from '../file/reader.ts';
import { isHeaderIntact, readSafetensors } from '../file/safetensors/reader.ts';
import { damagedTensors, digestFile, digestPath, type Progress } from '../file/scan.ts';
import { type Generation, shardsIn } from '../registry/entry.ts';
import { eachRowPiece } from './load-rows.ts';

/** What the file must have been written for. */
export interface ExpectedJob extends MadeFor {
  readonly jobId: string;
}

export interface LoadOptions {
  readonly disk: Disk;
  readonly place: FilePlace;
  readonly expected: ExpectedJob;
  /** Has none of the shards yet; afterwards all of them, or after an error none. */
  readonly into: Parameters;
  /** Undefined: all that the file has. */
  readonly shards?: readonly number[];
  readonly progress?: Progress;
}

export interface LoadedCheckpoint {
  readonly facts: FileFacts;
  readonly positions: readonly ShardPosition[];
  /** By shard. Equal ones may be one array. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
}

export interface LoadOutcome {
  /** Undefined when no generation is usable. */
  readonly loaded: LoadedCheckpoint | undefined;
  readonly generation: Generation | undefined;
  /** Its place in the list. */
  readonly age: number;
  /** What was wrong with each file before it, naming file and part: `CheckpointMissing` or `CheckpointCorrupt`. */
  readonly complaints: readonly PaddletError[];
}

/** Tries the files, which are given best first. Throws what concerns the machine or the job, not a single file. */
export async function loadNewestUsable(generations: readonly Generation[], options: LoadOptions): Promise<LoadOutcome> {
  const complaints: PaddletError[] = [];
  for (const [age, generation] of generations.entries()) {
    try {
      return { loaded: await loadGeneration(generation, options), generation, age, complaints };
    } catch (error) {
      complaints.push(asComplaint(error));
    }
  }
  return { loaded: undefined, generation: undefined, age: -1, complaints };
}

export interface LoadedPart {
  readonly loaded: LoadedCheckpoint;
  readonly generation: Generation;
  /** Its place in the list. */
  readonly age: number;
}

export interface LoadedParts extends Pick<LoadOutcome, 'complaints'> {
  readonly parts: readonly LoadedPart[];
  /** Shards of which no generation is usable. */
  readonly lost: readonly number[];
}

/** Each shard from the first usable file that has it: one that came to a pserver late is in its newer files only. */
export async function loadEachNewest(
  generations: readonly Generation[],
  options: LoadOptions & Required<Pick<LoadOptions, 'shards'>>,
): Promise<LoadedParts> {
  const complaints: PaddletError[] = [];
  const parts: LoadedPart[] = [];
  let lost = options.shards;
  for (const [age, generation] of generations.entries()) {
    const shards = shardsIn(generation, lost);
    if (shards.length === 0) continue;
    try {
      parts.push({ loaded: await loadGeneration(generation, { ...options, shards }), generation, age });
      lost = lost.filter((shard) => !shards.includes(shard));
    } catch (error) {
      complaints.push(asComplaint(error));
    }
  }
  return { parts, lost, complaints };
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
  const { disk, place, progress, into } = options;
  const verified = verifyFile(disk, checkpointPath(place, generation.uuid), generation, progress);
  if (disk.md5 === undefined || progress !== undefined) {
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
  const reader = await openCheckpoint(options.disk, path);
  try {
    checkOrigin(reader, generation, options);
    return await loadShards(reader, options);
  } finally {
    await reader.close();
  }
}

/** Compares the file with what was published of it. The error names the damaged part. */
export async function verifyFile(
  disk: Disk,
  path: string,
  published: Pick<Generation, 'md5' | 'bytes'>,
  progress?: Progress,
): Promise<void> {
  await withFile(await openFile(disk, path), async (file) => {
    const bytes = await file.size();
    if (published.bytes !== undefined && bytes !== published.bytes) {
      throw corrupt(path, `has ${bytes} bytes, ${published.bytes} were published`);
    }
    const { md5 } = await (progress === undefined ? digestPath(disk, path) : digestFile(file, path, progress));
    if (md5 === published.md5) return;
    const source = await readSafetensors(file, path);
    const damaged = await damagedTensors(source);
    const unnamed =
      (await isHeaderIntact(source)) === false ? 'the header' : 'the header, or the whole file is another';
    const part = damaged.length === 0 ? unnamed : damaged.join(', ');
    throw corrupt(path, `its MD5 is ${md5}, ${published.md5} was published; damaged: ${part}`);
  });
}

function checkOrigin({ facts, path }: CheckpointReader, { uuid }: Generation, options: LoadOptions): void {
  const { expected, place } = options;
  if (facts.jobId !== expected.jobId) {
    throw corrupt(path, `of job ${facts.jobName} (${facts.jobId}), not of this job (${expected.jobId})`);
  }
  if (facts.uuid !== uuid || facts.index !== place.index) {
    throw corrupt(path, `holds checkpoint ${facts.uuid} of pserver ${facts.index}: it was moved here`);
  }
  const difference = differenceOf(facts, expected);
  if (difference !== undefined) throw corrupt(path, `made for other ${difference.part}: ${difference.found}`);
}

async function loadShards(reader: CheckpointReader, { into, shards }: LoadOptions): Promise<LoadedCheckpoint> {
  const wanted = new Set(shards ?? reader.positions.map(({ shard }) => shard));
  const positions = reader.positions.filter(({ shard }) => wanted.has(shard));
  if (positions.length !== wanted.size) {
    const here = new Set(positions.map(({ shard }) => shard));
    const missing = [...wanted].filter((shard) => !here.has(shard));
    throw new PaddletError('CheckpointMissing', `${reader.path}: has no shard ${missing.slice(0, 20).join(', ')}`);
  }
  const order = positions.map(({ shard }) => shard);
  const ledgers = new Map<number, Uint8Array>();
  const added: number[] = [];
  into.prepare(Math.floor((reader.source.bytes * order.length) / Math.max(1, reader.positions.length)));
  try {
    for (const shard of order) {
      assert(!into.hasShard(shard), `shard ${shard} is loaded where there is none`);
      into.addShard(shard);
      added.push(shard);
    }
    await eachRowPiece(reader, order, ({ shard, table, rows }) =>
      asDamage(reader, shard, () => into.importRows(shard, table, rows)),
    );
    await loadBlocks(reader, order, into);
    for (const shard of order) ledgers.set(shard, await reader.ledgerOf(shard));
  } catch (error) {
    for (const shard of added) into.dropShard(shard);
    throw error;
  }
  return { facts: reader.facts, positions, ledgers };
}

async function loadBlocks(reader: CheckpointReader, shards: readonly number[], into: Parameters): Promise<void> {
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
function asDamage(reader: CheckpointReader, shard: number, put: () => void): void {
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
