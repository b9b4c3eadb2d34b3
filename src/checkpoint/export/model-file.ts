/**
 * Reads a merged model, as `checkpoint export --as safetensors` and `model.saveDir` write it: the values of all
 * shards, in whatever order of ids. Memory: the header and a piece of rows, beside the parameters.
 */
import * as z from 'zod';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { once } from '../../base/once.ts';
import type { Storage, StoredFile } from '../../base/seams.ts';
import { blockLength, blockShards, denseBlockFloats } from '../../tensor/blocks.ts';
import type { OptimizerLayout, Trained, TrainedSpec } from '../../tensor/optimizer.ts';
import type { ParameterMemory, ShardRows } from '../../tensor/parameters.ts';
import type { DenseSpec, SparseSpec } from '../../tensor/spec.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { corrupt, openFile } from '../file/files.ts';
import { json, slotField } from '../file/format.ts';
import { NOTHING, type SparseTensors } from '../file/layout.ts';
import type { MadeFor } from '../file/made-for.ts';
import { createRowBuffers, firstRows, readRowsInto, VALUES_ONLY } from '../file/row-pieces.ts';
import { HEADER_CRC, type TensorInfo } from '../file/safetensors/header.ts';
import {
  expectTensor,
  isHeaderIntact,
  readElements,
  readMetadataOnly,
  readSafetensors,
  type Safetensors,
} from '../file/safetensors/reader.ts';
import { TENSOR_CRCS, tensorCrcsSchema } from '../file/safetensors/tensor-crcs.ts';
import { tensorsUnlike } from '../file/scan.ts';
import { trainedSpecSchema } from '../file/spec-schema.ts';
import {
  CHANGES_FORMAT,
  CHANGES_FORMAT_VERSION,
  type EarlierExport,
  MODEL_FORMAT,
  MODEL_FORMAT_VERSION,
  UNCHECKED_FORMAT_VERSION,
} from './export.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

export interface ModelFacts extends MadeFor {
  readonly jobId: string;
  readonly jobName: string;
  readonly job?: string | undefined;
}

const metadataSchema = once(() =>
  z.object({
    jobId: z.string().min(1).max(LIMITS.nameCharacters),
    jobName: z.string().max(LIMITS.nameCharacters),
    parameters: json(trainedSpecSchema()),
    seed: json(z.int()),
    shards: json(z.int().min(1).max(LIMITS.shards)),
    job: z.string().max(LIMITS.carriedJobCharacters).optional(),
    [TENSOR_CRCS]: json(tensorCrcsSchema).optional(),
  }),
);

/** Whether the file is a merged model, whole or not, or changes to one. */
export async function isModelFile(storage: Storage, path: string): Promise<boolean> {
  try {
    const metadata = await withFile(await openFile(storage, path), (file) => readMetadataOnly(file, path));
    return isMerged(metadata.get('format'));
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return false;
    throw error;
  }
}

export const isMerged = (format: string | undefined): boolean => format === MODEL_FORMAT || format === CHANGES_FORMAT;

/** Acts on the open file. Throws `VersionMismatch`, `CheckpointCorrupt`, `CheckpointMissing`. */
export const withModelFile = async <T>(
  storage: Storage,
  path: string,
  act: (model: ModelFile) => Promise<T>,
): Promise<T> => withFile(await openFile(storage, path), async (file) => act(await readModelFile(file, path)));

export interface ModelFile {
  readonly facts: ModelFacts;
  /** False for a file of version 2. */
  readonly hasChecksums: boolean;
  /** Names of the tensors that are not as they were written. Reads all of the file; nothing without checksums. */
  damaged(onBytes?: (bytes: number) => void): Promise<string[]>;
  /** All shards, without the state of optimizers: for pulls only. Throws `CheckpointCorrupt`. */
  load(): Promise<ParameterMemory>;
  /** The file as the earlier one of two exports. Throws `Usage` for a file without checksums. */
  asEarlier(): EarlierExport;
}

export const NOT_AS_WRITTEN = 'its bytes changed after it was written (wrong CRC-32)';

async function readModelFile(file: StoredFile, path: string): Promise<ModelFile> {
  const source = await readSafetensors(file, path);
  const isIntact = await isHeaderIntact(source);
  if (isIntact === false) throw corrupt(path, `header: ${NOT_AS_WRITTEN}`);
  const version = source.metadata.get('formatVersion');
  const isChanges = source.metadata.get('format') === CHANGES_FORMAT;
  if (isChanges) expectChanges(path, version);
  else if (version !== MODEL_FORMAT_VERSION && version !== UNCHECKED_FORMAT_VERSION) {
    const known = `${UNCHECKED_FORMAT_VERSION} and ${MODEL_FORMAT_VERSION}`;
    const message = `${path}: expected a model of format version ${known}, got version ${version}`;
    throw new PaddletError('VersionMismatch', message, { hint: 'use the paddlet version that wrote the file' });
  }
  const parsed = metadataSchema().safeParse(Object.fromEntries(source.metadata));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corrupt(path, `__metadata__: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { [TENSOR_CRCS]: crcs, ...facts } = parsed.data;
  const hasChecksums = isIntact === true && crcs !== undefined;
  if (!hasChecksums && version !== UNCHECKED_FORMAT_VERSION) throw corrupt(path, 'header: its checksums are missing');
  const layout = layoutOf(source, facts.parameters);
  const damaged = async (onBytes?: (bytes: number) => void): Promise<string[]> =>
    hasChecksums ? tensorsUnlike(source, crcs, onBytes) : [];
  return {
    facts,
    hasChecksums,
    damaged,
    asEarlier: () => {
      if (isChanges) throw onlyChanges(path);
      const headerCrc32 = source.metadata.get(HEADER_CRC);
      if (!hasChecksums || headerCrc32 === undefined)
        throw new PaddletError('Usage', `${path}: an export without checksums, by an earlier version of paddlet`);
      return { headerCrc32, rowsOf: (spec, state) => rowsInOrder(source, spec, state) };
    },
    async load() {
      if (isChanges) throw onlyChanges(path);
      const [first] = await damaged();
      if (first !== undefined) throw corrupt(path, `${first}: ${NOT_AS_WRITTEN}`);
      return loadModel(source, facts, layout);
    },
  };
}

function expectChanges(path: string, version: string | undefined): void {
  if (version === CHANGES_FORMAT_VERSION) return;
  const message = `${path}: expected changes of format version ${CHANGES_FORMAT_VERSION}, got version ${version}`;
  throw new PaddletError('VersionMismatch', message, { hint: 'use the paddlet version that wrote the file' });
}

const onlyChanges = (path: string): PaddletError =>
  new PaddletError('Usage', `${path}: has only what has changed since another export`, {
    hint: 'give an export without --since',
  });

interface Layout {
  readonly tables: readonly { readonly ids: TensorInfo; readonly values: TensorInfo; readonly count: number }[];
  readonly dense: readonly TensorInfo[];
}

/** The tensors that the metadata claim: memory is made by those claims. Throws `CheckpointCorrupt`. */
function layoutOf(source: Safetensors, { dense, sparse }: TrainedSpec): Layout {
  return {
    tables: sparse.map(({ name, width }) => {
      const count = source.tensors.get(`sparse/${name}/ids`)?.shape[0] ?? 0;
      const ids = expectTensor(source, `sparse/${name}/ids`, 'U64', [count]);
      return { ids, values: expectTensor(source, `sparse/${name}/values`, 'F32', [count, width]), count };
    }),
    dense: dense.map(({ name, shape }) => expectTensor(source, `dense/${name}/values`, 'F32', shape)),
  };
}

/** Values that are only pulled need no state, and plain gradient descent has none. */
const withoutState = ({ dense, sparse }: TrainedSpec): TrainedSpec => {
  const optimizer = { type: 'sgd', learningRate: 0, l2: 0 } as const;
  return { dense: dense.map((one) => ({ ...one, optimizer })), sparse: sparse.map((one) => ({ ...one, optimizer })) };
};

async function loadModel(
  source: Safetensors,
  { parameters, seed, shards: count }: ModelFacts,
  { tables, dense }: Layout,
): Promise<ParameterMemory> {
  const into = createParameters({ spec: withoutState(parameters), seed, shards: count });
  const shards = Array.from({ length: count }, (_, shard) => shard);
  for (const shard of shards) into.addShard(shard);
  for (const [table, tensors] of tables.entries()) {
    await loadTable(source, { ...tensors, table, width: parameters.sparse[table]!.width, shards, into });
  }
  for (const [parameter, tensor] of dense.entries()) {
    await loadDense(source, { tensor, parameter, spec: parameters.dense[parameter]!, shards: count, into });
  }
  return into;
}

type TableToLoad = Layout['tables'][number] & {
  readonly table: number;
  readonly width: number;
  readonly shards: readonly number[];
  readonly into: ParameterMemory;
};

async function loadTable(
  source: Safetensors,
  { ids, values, count, table, width, shards, into }: TableToLoad,
): Promise<void> {
  const buffers = createRowBuffers(width, VALUES_ONLY, PIECE_BYTES);
  const before = into.stats().rows;
  for (let from = 0; from < count; from += buffers.rows) {
    const rows = firstRows(buffers, Math.min(buffers.rows, count - from));
    await readElements(source, ids, from, rows.ids);
    await readElements(source, values, from * width, rows.values);
    into.adoptRows(table, rows, shards);
  }
  const rows = into.stats().rows - before;
  if (rows !== count) throw corrupt(source.name, `${ids.name}: ${count - rows} of ${count} ids are repeated`);
}

async function* rowsInOrder(
  source: Safetensors,
  { name, width }: SparseSpec,
  state: OptimizerLayout,
): AsyncGenerator<ShardRows> {
  const at = (field: string): string => `sparse/${name}/${field}`;
  const ids = source.tensors.get(at('ids'));
  if (ids === undefined) return;
  const count = ids.shape[0] ?? 0;
  const fields = ['values', ...state.slots.map(slotField), ...(state.steps ? ['steps'] : [])];
  const lacking = fields.find((field) => !source.tensors.has(at(field)));
  if (lacking !== undefined)
    throw new PaddletError('Usage', `${source.name}: has no ${at(lacking)}: it was exported without --state`);
  const valuesWidth = source.tensors.get(at('values'))?.shape[1];
  if (valuesWidth !== width) {
    const message = `${source.name}: ${at('values')}: expected rows of ${width} values, got rows of ${valuesWidth}`;
    throw new PaddletError('Usage', message, { hint: 'give an export of the same job' });
  }
  const matrix = (field: string): TensorInfo => expectTensor(source, at(field), 'F32', [count, width]);
  const tensors: SparseTensors = {
    ...{ rows: NOTHING, ids: expectTensor(source, at('ids'), 'U64', [count]), values: matrix('values') },
    slots: Object.fromEntries(state.slots.map((slot) => [slot, matrix(slotField(slot))])),
    steps: state.steps ? expectTensor(source, at('steps'), 'U32', [count]) : undefined,
    seen: undefined,
  };
  const buffers = createRowBuffers(width, { ...state, seen: false }, PIECE_BYTES);
  let last = -1n;
  for (let from = 0; from < count; from += buffers.rows) {
    const rows = await readRowsInto(source, { tensors }, from, Math.min(buffers.rows, count - from), buffers);
    for (const id of rows.ids) {
      if (id <= last) throw corrupt(source.name, `${at('ids')}: expected ascending ids, got ${id} after ${last}`);
      last = id;
    }
    yield rows;
  }
}

interface DenseToLoad {
  readonly tensor: TensorInfo;
  readonly parameter: number;
  readonly spec: Trained<DenseSpec>;
  readonly shards: number;
  readonly into: ParameterMemory;
}

async function loadDense(source: Safetensors, { tensor, parameter, spec, shards, into }: DenseToLoad): Promise<void> {
  for (const [block, shard] of blockShards(spec, shards).entries()) {
    const values = new Float32Array(blockLength(spec, block));
    await readElements(source, tensor, block * denseBlockFloats, values);
    into.importBlock(shard, { parameter, block, values, slots: {}, step: undefined });
  }
}
