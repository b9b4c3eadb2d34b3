/**
 * Writes captured shards into a checkpoint file, extent by extent. It takes what was captured and nothing else, so it
 * can run beside the training, in a worker, or in a tool that reshards other files.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DiskFile } from '../../base/seams.ts';
import { optimizerLayout } from '../../tensor/optimizer.ts';
import { type StoredTable, storedTables } from '../../tensor/stored-tables.ts';
import { type CapturedShard, capturedBytes, capturedRows, extentTensors } from './extent.ts';
import { type CheckpointMeta, encodeMetadata, type ShardPosition, slotField, TENSORS, tensorName } from './format.ts';
import { HEADER_CRC, headerJson, LENGTH_BYTES, type Metadata, NO_HEADER_CRC } from './safetensors/header.ts';
import { createSafetensorsWriter, type Pace, type WrittenTensor } from './safetensors/writer.ts';

/** Shards are gathered up to this size before they are written; a larger one is an extent by itself. */
export const EXTENT_BYTES = 32 * 1024 * 1024;

export interface CheckpointWriterOptions {
  readonly file: DiskFile;
  readonly meta: CheckpointMeta;
  /** Exact number of shards that will be added. */
  readonly shards: number;
  /** What they hold now, roughly: sizes the room for the header. They may grow. */
  readonly expectedBytes: number;
  readonly pace?: Pace;
  readonly extentBytes?: number;
  /** What was added so far is written, and its arrays may be used again. */
  readonly onWritten?: () => void;
}

export interface WrittenCheckpoint {
  readonly bytes: number;
  readonly rows: number;
  readonly positions: readonly ShardPosition[];
  readonly tensors: readonly WrittenTensor[];
}

export interface CheckpointWriter {
  /** Returns when there is room for the next shard. */
  add(shard: CapturedShard): Promise<void>;
  /** Writes what is left and the header, and syncs the file. */
  finish(): Promise<WrittenCheckpoint>;
}

export async function createCheckpointWriter(options: CheckpointWriterOptions): Promise<CheckpointWriter> {
  const { meta, shards, file, pace } = options;
  const extentBytes = options.extentBytes ?? EXTENT_BYTES;
  const { headerBytes, maxExtents } = planHeader(options, extentBytes);
  // With this number of shards in each, there cannot become more than the header has room for, however much they grow.
  const minShards = Math.ceil(shards / maxExtents);
  const positions: ShardPosition[] = [];
  const seen = new Set<number>();
  let gathered: CapturedShard[] = [];
  let gatheredBytes = 0;
  let extents = 0;
  let rows = 0;
  let checksumsCrc32 = 0;

  function facts(): Metadata {
    return encodeMetadata({ ...meta, extents, rows, shardsHere: shards, checksumsCrc32 });
  }

  const writer = await createSafetensorsWriter({
    file,
    headerBytes,
    metadata: facts(),
    ...(pace === undefined ? {} : { pace }),
  });

  async function flush(): Promise<void> {
    if (gathered.length === 0) return;
    const tensors = extentTensors(extents, gathered, meta);
    extents += 1;
    gathered = [];
    gatheredBytes = 0;
    for (const tensor of tensors) await writer.append(tensor);
    options.onWritten?.();
  }

  return {
    async add(captured) {
      const { shard, epoch, seq, parent } = captured;
      assert(!seen.has(shard) && shard < meta.shards, `shard ${shard} is one of the job's and added once`);
      seen.add(shard);
      positions.push({ shard, epoch, seq, ...(parent && { parent }) });
      gathered.push(captured);
      gatheredBytes += capturedBytes(captured);
      rows += capturedRows(captured, meta.parameters);
      if (gatheredBytes >= extentBytes && gathered.length >= minShards) await flush();
    },
    async finish() {
      assert(positions.length === shards, 'all shards promised were added');
      await flush();
      const tensors = [...writer.tensors];
      const sums = Uint32Array.from(tensors, (tensor) => tensor.crc32);
      const parts = [new Uint8Array(sums.buffer)];
      await writer.append({ name: TENSORS.checksums, dtype: 'U32', shape: [sums.length], parts });
      checksumsCrc32 = writer.tensors.at(-1)!.crc32;
      return { bytes: await writer.finish(facts()), rows, positions, tensors: writer.tensors };
    },
  };
}

const LARGEST = Number.MAX_SAFE_INTEGER;

/** What a delta holds is guessed as this part of all: if it holds more, its extents become longer. */
const DELTA_PART = 16;

/** Room for the header: for four times the extents expected and some more, as far as the format's bound allows. */
function planHeader({ meta, shards, expectedBytes }: CheckpointWriterOptions, extentBytes: number): HeaderPlan {
  const bytes = meta.kind === 'delta' ? expectedBytes / DELTA_PART : expectedBytes;
  return headerPlan(meta, shards, 4 * Math.ceil(bytes / extentBytes) + 4);
}

export interface HeaderPlan {
  readonly headerBytes: number;
  readonly maxExtents: number;
}

/** Room for a header of `wanted` extents of a file of `shards` shards, or of as many as the format's bound allows. */
export function headerPlan(meta: CheckpointMeta, shards: number, wanted: number): HeaderPlan {
  const largest = { ...meta, extents: shards, rows: LARGEST, shardsHere: shards, checksumsCrc32: LARGEST };
  const metadata = { ...encodeMetadata(largest), [HEADER_CRC]: NO_HEADER_CRC };
  const fixed = jsonBytes(metadata, [TENSORS.checksums]);
  const perExtent = jsonBytes({}, extentNames(meta));
  const affordable = Math.floor((LIMITS.safetensorsHeaderBytes - fixed) / perExtent);
  assert(affordable > 0, 'the limits of parameters leave room for an extent');
  const maxExtents = Math.max(1, Math.min(wanted, affordable, shards));
  const bytes = LENGTH_BYTES + fixed + maxExtents * perExtent;
  return { headerBytes: Math.ceil(bytes / 8) * 8, maxExtents };
}

function extentNames({ parameters, shards, parents }: CheckpointMeta): string[] {
  type Named = {
    readonly name: string;
    readonly kind: StoredTable['kind'] | 'dense';
    readonly slots: readonly string[];
  };
  const fields = ({ kind, name, slots }: Named, own: readonly string[]): string[] =>
    [...own, 'values', 'steps', ...slots.map(slotField)].map((field) => tensorName(kind, name, field, shards));
  const stored = storedTables(parameters.sparse);
  const looks = stored.some(({ layout }) => layout.seen) ? [TENSORS.looks(shards), TENSORS.begins(shards)] : [];
  const ofDelta = [
    TENSORS.parents(shards),
    ...parameters.sparse.flatMap(({ name }) => ['rows', 'ids'].map((field) => tensorName('gone', name, field, shards))),
  ];
  return [
    TENSORS.shards(shards),
    TENSORS.ledgerStarts(shards),
    TENSORS.ledgers(shards),
    ...looks,
    ...(parents === undefined ? [] : ofDelta),
    ...stored.flatMap(({ kind, name, layout: { slots, seen } }) =>
      fields({ kind, name, slots }, ['rows', 'ids', ...(seen ? ['seen'] : [])]),
    ),
    ...parameters.dense.flatMap(({ name, optimizer }) =>
      fields({ kind: 'dense', name, slots: optimizerLayout(optimizer).slots }, ['starts', 'blocks', 'shards']),
    ),
  ];
}

/** Bytes of a header with these tensors, at their longest. */
function jsonBytes(metadata: Metadata, names: readonly string[]): number {
  const shape = [LARGEST, LARGEST];
  const tensors = names.map((name) => ({ name, dtype: 'F32' as const, shape, begin: LARGEST, end: LARGEST }));
  return headerJson(metadata, tensors).length;
}
