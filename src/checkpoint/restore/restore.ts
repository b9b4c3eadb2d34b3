/**
 * Distributes the shards of a checkpoint across a different number of pservers: writes new files, in a new folder or
 * beside the old ones, and proves that they hold what the old ones hold. Publishes nothing. Bounded memory.
 */
import { PaddletError } from '../../base/errors.ts';
import type { Clock, Random, Storage } from '../../base/seams.ts';
import { plannedPrimary } from '../../core/placement.ts';
import { unitOf } from '../../core/units/units.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import { type StoredTable, storedTables } from '../../tensor/stored-tables.ts';
import type { CheckpointMeta } from '../file/format.ts';
import { checkpointPath, jobTag, temporaryPath } from '../file/paths.ts';
import { type Generation, generationOf } from '../registry/entry.ts';
import { type CheckpointSet, expectWhole, openCheckpointSet, type Variables } from '../set/checkpoint-set.ts';
import { type ContentOptions, contentBytes, denseContent, tableContent } from '../set/content.ts';
import { positionsDigest } from '../set/positions.ts';
import { countRows } from '../set/shard-rows.ts';
import type { ShardSource } from '../set/shard-source.ts';
import { expectIntact } from '../set/verify.ts';
import { storedPlaces, writeResharded } from './reshard.ts';

/** What must be the same before and after. */
export interface Proof {
  readonly variables: readonly {
    readonly name: string;
    readonly kind: StoredTable['kind'] | 'dense';
    /** Rows of a table, blocks of a dense parameter. */
    readonly rows: number;
    readonly valuesDigest: string;
    readonly stateDigest: string;
  }[];
  readonly shards: number;
  /** Digest of epoch, seq and ledger of every shard. */
  readonly positionsDigest: string;
}

export interface RestorePlan {
  /** Indexed by new index. */
  readonly files: readonly { readonly index: number; readonly shards: number; readonly rows: number }[];
  readonly variables: { readonly dense: readonly string[]; readonly sparse: readonly string[] };
  /** Variables of the job that are not restored. */
  readonly leftOut: readonly string[];
  readonly bytes: number;
}

export interface RestoreOptions extends ContentOptions {
  readonly storage: Storage;
  readonly clock: Pick<Clock, 'wallSeconds'>;
  readonly random: Pick<Random, 'uuid'>;
  readonly set: CheckpointSet;
  readonly variables: Variables;
  readonly pservers: number;
  /** Number of units of the job: shards of one unit stay together. Default: each shard is a unit. */
  readonly units?: number | undefined;
  /** Checkpoint folder that the new files go to. */
  readonly folder: string;
  /** Token of the new files: greater than that of any owner before, and never that of a live one. */
  readonly token: bigint;
  /** Sync mode: of the cut that the files become. Default: that of the old files. */
  readonly timeline?: bigint;
  readonly onPhase?: (phase: RestorePhase) => void;
}

export type RestorePhase = 'checking' | 'counting' | 'writing' | 'proving';

export interface Restored {
  /** What to publish, by new index. */
  readonly generations: readonly Generation[];
  readonly paths: readonly string[];
  readonly proof: Proof;
}

type Distribution = Pick<RestoreOptions, 'pservers' | 'units'>;

function shardsFor({ shards, facts }: CheckpointSet, index: number, { pservers, units }: Distribution): ShardSource[] {
  return shards.filter(({ shard }) => plannedPrimary(unitOf(shard, units ?? facts.shards), pservers) === index);
}

export const chosenSpec = ({ dense, sparse }: TrainedSpec, variables: Variables): TrainedSpec => ({
  dense: variables.dense.map((at) => dense[at]!),
  sparse: variables.sparse.map((at) => sparse[at]!),
});

/** Throws `CheckpointMissing` when a shard is in none of the files, `Usage` for more pservers than units. */
export async function planRestore(
  set: CheckpointSet,
  { variables, pservers, units }: Pick<RestoreOptions, 'variables' | 'pservers' | 'units'>,
): Promise<RestorePlan> {
  expectWhole(set);
  const { facts } = set;
  const most = units ?? facts.shards;
  if (pservers > most) {
    const what = units === undefined ? 'shards' : 'units of shards';
    throw new PaddletError('Usage', `--pservers ${pservers}: the job has only ${most} ${what}`);
  }
  const files = [];
  for (let index = 0; index < pservers; index++) {
    const mine = shardsFor(set, index, { pservers, units });
    let rows = 0;
    for (const source of mine) {
      for (const table of variables.sparse) rows += await countRows(source, table);
    }
    files.push({ index, shards: mine.length, rows });
  }
  const { dense, sparse } = chosenSpec(facts.parameters, variables);
  const names = { dense: dense.map(({ name }) => name), sparse: sparse.map(({ name }) => name) };
  const isLeftOut = (all: readonly { name: string }[], chosen: readonly string[]): string[] =>
    all.map(({ name }) => name).filter((name) => !chosen.includes(name));
  const leftOut = [
    ...isLeftOut(facts.parameters.dense, names.dense),
    ...isLeftOut(facts.parameters.sparse, names.sparse),
  ];
  return { files, variables: names, leftOut, bytes: await contentBytes(set, variables) };
}

/**
 * Checks the old files, writes the new ones, proves them. When this returns they are whole, durable, under their names
 * and not yet published; when it throws (`CheckpointCorrupt`, `CheckpointNotWritten`, the disk's errors, the signal's
 * reason), none is left.
 */
export async function restoreFiles(options: RestoreOptions): Promise<Restored> {
  const { storage, set, variables, pservers, folder, onPhase } = options;
  expectWhole(set);
  onPhase?.('checking');
  await expectIntact(set, watchOf(options));
  onPhase?.('counting');
  const before = await proofOf(set, variables, options);
  onPhase?.('writing');
  const made: NewFile[] = [];
  try {
    for (let index = 0; index < pservers; index++) {
      const meta = metaOf(options, index);
      const file: NewFile = { meta, path: checkpointPath({ folder, index }, meta.uuid), generation: undefined };
      made.push(file);
      file.generation = await writeFile(options, file);
    }
    onPhase?.('proving');
    await expectSame(before, options, made);
  } catch (error) {
    const left = made.map(({ path }) => path);
    // The first error says what went wrong; a file that stays is an orphan, which the pserver that starts there
    // removes.
    await discardFiles(storage, left).catch(() => undefined);
    throw error;
  }
  const generations = made.map(({ generation }) => generation!);
  return { generations, paths: made.map(({ path }) => path), proof: before };
}

/** Removes files that were not published. */
export async function discardFiles(storage: Storage, paths: readonly string[]): Promise<void> {
  for (const path of paths) await storage.delete(path);
}

interface NewFile {
  readonly meta: CheckpointMeta;
  readonly path: string;
  generation: Generation | undefined;
}

function metaOf({ set, variables, random, clock, token, ...options }: RestoreOptions, index: number): CheckpointMeta {
  const { facts, parts } = set;
  const most = (pick: (meta: CheckpointMeta) => bigint): bigint =>
    parts.map(({ reader }) => pick(reader.facts)).reduce((a, b) => (a > b ? a : b), 0n);
  return {
    uuid: random.uuid(),
    jobId: facts.jobId,
    jobName: facts.jobName,
    index,
    token,
    recovery: most(({ recovery }) => recovery),
    timeline: options.timeline ?? most(({ timeline }) => timeline),
    kind: 'full',
    // The pserver that loads it must check whether the ledgers lack what the master counts as done. Not so in rounds.
    clean: facts.rounds !== undefined,
    ...(facts.rounds === undefined ? {} : { rounds: facts.rounds }),
    createdAt: clock.wallSeconds(),
    parameters: chosenSpec(facts.parameters, variables),
    seed: facts.seed,
    shards: facts.shards,
    ...(facts.job === undefined ? {} : { job: facts.job }),
  };
}

const watchOf = ({ signal, onBytes }: RestoreOptions) => ({ ...(signal && { signal }), ...(onBytes && { onBytes }) });

async function writeFile(options: RestoreOptions, { meta, path }: NewFile): Promise<Generation> {
  const { storage, set, variables, folder, signal } = options;
  const shards = shardsFor(set, meta.index, options);
  const place = { folder, index: meta.index };
  const { written, digest } = await storage.put(path, {
    spool: temporaryPath(place, { jobTag: jobTag(meta.jobId), token: meta.token, uuid: meta.uuid }),
    write: (file) => writeResharded({ file, meta, shards, variables, ...watchOf(options) }),
    signal,
  });
  return generationOf({ uuid: meta.uuid, md5: digest.md5, ...written }, meta);
}

async function expectSame(before: Proof, options: RestoreOptions, made: readonly NewFile[]): Promise<void> {
  const set = await openCheckpointSet(
    options.storage,
    made.map(({ path }) => ({ path })),
  );
  try {
    expectWhole(set);
    const after = await proofOf(set, all(set.facts.parameters), options);
    if (JSON.stringify(after) === JSON.stringify(before)) return;
    throw new PaddletError(
      'CheckpointNotWritten',
      'the new files differ from the old ones; paddlet removed the new files',
      {
        hint: 'check the disk: paddlet read back different bytes than it wrote',
        details: { before, after },
      },
    );
  } finally {
    await set.close();
  }
}

const all = ({ dense, sparse }: ParameterSpec): Variables => ({
  dense: [...dense.keys()],
  sparse: [...sparse.keys()],
});

/** Row counts and digests that do not depend on order or on files. */
export async function proofOf(set: CheckpointSet, variables: Variables, options: ContentOptions = {}): Promise<Proof> {
  const { parameters } = set.facts;
  const proofs: Proof['variables'][number][] = [];
  for (const at of variables.dense) {
    const { blocks: rows, valuesDigest, stateDigest } = await denseContent(set, at, options);
    proofs.push({ name: parameters.dense[at]!.name, kind: 'dense', rows, valuesDigest, stateDigest });
  }
  const stored = storedTables(parameters.sparse);
  for (const at of storedPlaces(parameters, variables)) {
    const { rows, valuesDigest, stateDigest } = await tableContent(set, at, options);
    const { name, kind } = stored[at]!;
    proofs.push({ name, kind, rows, valuesDigest, stateDigest });
  }
  return { variables: proofs, shards: set.shards.length, positionsDigest: await positionsDigest(set.shards) };
}
