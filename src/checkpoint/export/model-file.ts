/**
 * Reads a merged model, as `checkpoint export --format safetensors` and `model.saveDir` write it: the values of all
 * shards, in whatever order of ids. Memory: the header and a piece of rows, beside the parameters.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Disk, DiskFile } from '../../base/seams.ts';
import { blockLength, blockShards, denseBlockFloats } from '../../tensor/blocks.ts';
import type { Trained, TrainedSpec } from '../../tensor/optimizer.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import type { SparseSpec } from '../../tensor/spec.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { corrupt, openFile, withFile } from '../file/files.ts';
import { json } from '../file/format.ts';
import type { MadeFor } from '../file/made-for.ts';
import { createRowBuffers, firstRows, VALUES_ONLY } from '../file/row-pieces.ts';
import {
  expectTensor,
  readElements,
  readMetadataOnly,
  readSafetensors,
  type Safetensors,
} from '../file/safetensors/reader.ts';
import { trainedSpecSchema } from '../file/spec-schema.ts';
import { MODEL_FORMAT, MODEL_FORMAT_VERSION } from './export.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

export interface ModelFacts extends MadeFor {
  readonly jobId: string;
  readonly jobName: string;
  readonly job?: string | undefined;
}

const metadataSchema = z.object({
  jobId: z.string().min(1).max(LIMITS.nameCharacters),
  jobName: z.string().max(LIMITS.nameCharacters),
  parameters: json(trainedSpecSchema),
  seed: json(z.int()),
  shards: json(z.int().min(1).max(LIMITS.shards)),
  job: z.string().max(LIMITS.carriedJobCharacters).optional(),
});

/** Whether the file is a merged model, whole or not. Throws `CheckpointCorrupt` for one that is no safetensors file. */
export const isModelFile = async (disk: Disk, path: string): Promise<boolean> =>
  withFile(
    await openFile(disk, path),
    async (file) => (await readMetadataOnly(file, path)).get('format') === MODEL_FORMAT,
  );

/** Acts on the open file. Throws `VersionMismatch`, `CheckpointCorrupt`, `CheckpointMissing`. */
export const withModelFile = async <T>(disk: Disk, path: string, act: (model: ModelFile) => Promise<T>): Promise<T> =>
  withFile(await openFile(disk, path), async (file) => act(await readModelFile(file, path)));

export interface ModelFile {
  readonly facts: ModelFacts;
  /** All shards, without the state of optimizers: for pulls only. */
  load(): Promise<Parameters>;
}

async function readModelFile(file: DiskFile, path: string): Promise<ModelFile> {
  const source = await readSafetensors(file, path);
  const version = source.metadata.get('formatVersion');
  if (version !== MODEL_FORMAT_VERSION) {
    const message = `${path}: model of format version ${version}; this paddlet reads version ${MODEL_FORMAT_VERSION}`;
    throw new PaddletError('VersionMismatch', message, { hint: 'use the paddlet that wrote it' });
  }
  const parsed = metadataSchema.safeParse(Object.fromEntries(source.metadata));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corrupt(path, `__metadata__: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const facts = parsed.data;
  return { facts, load: () => loadModel(source, facts) };
}

/** Values that are only pulled need no state: that of plain gradient descent is none. */
const withoutState = ({ dense, sparse }: TrainedSpec): TrainedSpec => {
  const optimizer = { type: 'sgd', learningRate: 0, l2: 0 } as const;
  return { dense: dense.map((one) => ({ ...one, optimizer })), sparse: sparse.map((one) => ({ ...one, optimizer })) };
};

async function loadModel(source: Safetensors, { parameters, seed, shards }: ModelFacts): Promise<Parameters> {
  const into = createParameters({ spec: withoutState(parameters), seed, shards });
  const all = Array.from({ length: shards }, (_, shard) => shard);
  for (const shard of all) into.addShard(shard);
  for (const [table, spec] of parameters.sparse.entries()) await loadTable(source, { table, spec, shards: all, into });
  for (const parameter of parameters.dense.keys()) await loadDense(source, parameters, { parameter, shards, into });
  return into;
}

interface TableToLoad {
  readonly table: number;
  readonly spec: Trained<SparseSpec>;
  readonly shards: readonly number[];
  readonly into: Parameters;
}

async function loadTable(source: Safetensors, { table, spec, shards, into }: TableToLoad): Promise<void> {
  const { name, width } = spec;
  const count = source.tensors.get(`sparse/${name}/ids`)?.shape[0] ?? 0;
  const ids = expectTensor(source, `sparse/${name}/ids`, 'U64', [count]);
  const values = expectTensor(source, `sparse/${name}/values`, 'F32', [count, width]);
  const buffers = createRowBuffers(width, VALUES_ONLY, PIECE_BYTES);
  const before = into.stats().rows;
  for (let from = 0; from < count; from += buffers.rows) {
    const rows = firstRows(buffers, Math.min(buffers.rows, count - from));
    await readElements(source, ids, from, rows.ids);
    await readElements(source, values, from * width, rows.values);
    into.adoptRows(table, rows, shards);
  }
  const rows = into.stats().rows - before;
  if (rows !== count) throw corrupt(source.name, `${ids.name}: ${count} ids, of which ${count - rows} are repeated`);
}

async function loadDense(
  source: Safetensors,
  { dense }: TrainedSpec,
  { parameter, shards, into }: { readonly parameter: number; readonly shards: number; readonly into: Parameters },
): Promise<void> {
  const spec = dense[parameter]!;
  const tensor = expectTensor(source, `dense/${spec.name}/values`, 'F32', spec.shape);
  for (const [block, shard] of blockShards(spec, shards).entries()) {
    const values = new Float32Array(blockLength(spec, block));
    await readElements(source, tensor, block * denseBlockFloats, values);
    into.importBlock(shard, { parameter, block, values, slots: {}, step: undefined });
  }
}
