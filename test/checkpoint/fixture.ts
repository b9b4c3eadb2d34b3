/** A small job with everything in it: two tables, two dense parameters, a seldom-used shard, ids over 2^63. */
import type { Storage } from '../../src/base/seams.ts';
import { captureShard, type ShardMoment } from '../../src/checkpoint/file/capture.ts';
import type { CheckpointMeta } from '../../src/checkpoint/file/format.ts';
import type { FilePlace } from '../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { type ExpectedJob, type LoadOutcome, loadFirstUsable } from '../../src/checkpoint/load/load.ts';
import { type Generation, generationOf } from '../../src/checkpoint/registry/entry.ts';
import { newestFirst } from '../../src/checkpoint/registry/newest.ts';
import { blockShards } from '../../src/tensor/blocks.ts';
import { type OptimizerSpec, optimizerLayout, type TrainingChoice, trainedSpec } from '../../src/tensor/optimizer.ts';
import type { ParameterMemory, Parameters, ShardRows } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { createSimulatedDisk } from '../simulated-disk.ts';
import { SimulatedObjects, type StoredFiles, usesObjects } from '../simulated-objects.ts';

/** No files, in the storage that the tests of checkpoints run with. */
export const createFiles = (): StoredFiles => (usesObjects ? new SimulatedObjects() : createSimulatedDisk());

export const PLACE: FilePlace = { folder: '/data/checkpoints', index: 1 };
export const JOB_ID = '6f8d2c1a-0000-4000-8000-00000000000a';

const spec: ParameterSpec = {
  dense: [
    { name: 'w', shape: [3, 5], initializer: { type: 'xavier' } },
    { name: 'layer/bias', shape: [20_000], initializer: { type: 'zeros' } },
  ],
  sparse: [
    { name: 'emb', width: 3, initializer: { type: 'uniform', low: -1, high: 1 } },
    { name: 'emb/values.0', width: 1, initializer: { type: 'zeros' } },
  ],
};

const FTRL: OptimizerSpec = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.2, lambda2: 0.3 };
const SGD: OptimizerSpec = { type: 'sgd', learningRate: 0.1, l2: 0 };
const OTHERS = { tables: { 'emb/values.0': { optimizer: FTRL } }, blocks: { 'layer/bias': { optimizer: SGD } } };
const ADAM: OptimizerSpec = { type: 'adam', learningRate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 };

type JobChanges = Partial<Omit<ExpectedJob, 'parameters'> & TrainingChoice & { parameters: ParameterSpec }>;

/**
 * With Adam for all parameters of `changes`, or as the small job has it: another optimizer for the last of each kind.
 */
export function jobOf(changes: JobChanges = {}): ExpectedJob {
  const { optimizer, tables, blocks, parameters = spec, ...rest } = changes;
  const mixed = optimizer === undefined && changes.parameters === undefined ? OTHERS : {};
  const choice = { ...mixed, optimizer: optimizer ?? ADAM, ...(tables && { tables }), ...(blocks && { blocks }) };
  return { jobId: JOB_ID, seed: 7, shards: 8, ...rest, parameters: trainedSpec(parameters, choice) };
}

export const uuidOf = (number: number): string => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

export const metaOf = (job: ExpectedJob, changes: Partial<CheckpointMeta> = {}): CheckpointMeta => ({
  ...job,
  uuid: uuidOf(1),
  jobName: 'small',
  index: PLACE.index,
  token: 5n,
  recovery: 2n,
  timeline: 0n,
  kind: 'full',
  clean: false,
  createdAt: 1_700_000_000.25,
  ...changes,
});

export const emptyParameters = ({ parameters, seed, shards }: ExpectedJob): Parameters =>
  createParameters({ spec: parameters, seed, shards });

/** Rows with values that depend on id, column and `salt` only. */
export function rowsOf(job: ExpectedJob, table: number, ids: readonly bigint[], salt: number): ShardRows {
  const { width, optimizer } = job.parameters.sparse[table]!;
  const layout = optimizerLayout(optimizer);
  const matrix = (kind: number): Float32Array =>
    Float32Array.from(
      { length: ids.length * width },
      (_, at) => Math.fround(Number(ids[Math.floor(at / width)]! % 1009n) + at / 7 + kind * 1000 + salt) / 3,
    );
  const slots = layout.slots.map((slot, at) => [slot, matrix(at + 1)] as const);
  return {
    ids: BigUint64Array.from(ids),
    values: matrix(0),
    slots: Object.fromEntries(slots),
    steps: layout.steps ? Uint32Array.from(ids, (_, at) => at + salt) : undefined,
  };
}

/** Puts rows into whatever shards they belong to, and moves every dense block. */
export function fill(parameters: Parameters, job: ExpectedJob, ids: readonly bigint[], salt = 1): void {
  for (const [table, { name }] of job.parameters.sparse.entries()) {
    const byShard = Map.groupBy(ids, (id) => shardOfRow(name, id, job.shards));
    for (const [shard, mine] of byShard) {
      if (parameters.hasShard(shard)) parameters.importRows(shard, table, rowsOf(job, table, mine, salt));
    }
  }
  for (const shard of parameters.shards()) {
    for (const block of parameters.exportBlocks(shard)) {
      const values = block.values.map((value, at) => value + salt + at / 3);
      parameters.importBlock(shard, {
        ...block,
        values,
        step: block.step === undefined ? undefined : block.step + salt,
      });
    }
  }
}

export const IDS: readonly bigint[] = [
  ...Array.from({ length: 200 }, (_, at) => BigInt(at) * 977n),
  0xffff_ffff_ffff_ffffn,
  0x8000_0000_0000_0000n,
  0x7fff_ffff_ffff_ffffn,
  0x1_0000_0000n,
];

/** All shards but 5, filled. */
export function filledParameters(job: ExpectedJob = jobOf(), ids: readonly bigint[] = IDS, salt = 1): Parameters {
  const parameters = emptyParameters(job);
  for (let shard = 0; shard < job.shards; shard++) if (shard !== 5) parameters.addShard(shard);
  fill(parameters, job, ids, salt);
  return parameters;
}

export const ledgerOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const momentOf =
  (seq = 10, ledger = 'ledger'): ((shard: number) => ShardMoment) =>
  (shard) => ({ shard, epoch: 1 + (shard % 2), seq: seq + shard, ledger: ledgerOf(ledger) });

export interface SaveOptions {
  readonly disk: StoredFiles;
  readonly parameters: Parameters;
  readonly job?: ExpectedJob;
  readonly meta?: Partial<CheckpointMeta>;
  readonly moment?: (shard: number) => ShardMoment;
  readonly extentBytes?: number;
}

/** Writes a file of all shards present, and what would be published of it. */
export async function save(options: SaveOptions): Promise<Generation> {
  const { disk, parameters, job = jobOf(), extentBytes } = options;
  const meta = metaOf(job, options.meta);
  const file = await writeCheckpointFile({
    storage: disk.storage,
    folder: PLACE.folder,
    meta,
    parameters,
    shards: parameters.shards(),
    momentOf: options.moment ?? momentOf(),
    ...(extentBytes === undefined ? {} : { extentBytes }),
  });
  return generationOf(file, meta);
}

/** Everything in the memory, comparable. */
export function contentOf(parameters: ParameterMemory, job: ExpectedJob = jobOf()): unknown {
  const meta = metaOf(job);
  return parameters.shards().map((shard) => {
    const moment = { shard, epoch: 0, seq: 0, ledger: new Uint8Array(0) };
    return captureShard(parameters, meta, moment);
  });
}

/** Shards that the dense blocks of the job are in. */
export const denseShards = (job: ExpectedJob): Set<number> =>
  new Set(job.parameters.dense.flatMap((dense) => [...blockShards(dense, job.shards)]));

export interface LoadUsable {
  readonly storage: Storage;
  readonly place: FilePlace;
  readonly expected: ExpectedJob;
  readonly into: ParameterMemory;
  /** Default: all but 5. */
  readonly shards?: readonly number[];
}

/** Loads each shard from the first usable one of these files of one pserver. */
export function loadUsable(generations: readonly Generation[], options: LoadUsable): Promise<LoadOutcome> {
  const { place, expected, shards = allShards(expected).filter((shard) => shard !== 5), ...rest } = options;
  const files = generations.map((generation, at) => {
    return { index: place.index, generation, earlier: generations.slice(at + 1) };
  });
  return loadFirstUsable(newestFirst(files, shards), { ...rest, expected, folder: place.folder });
}

export const allShards = ({ shards }: ExpectedJob): number[] => Array.from({ length: shards }, (_, shard) => shard);
