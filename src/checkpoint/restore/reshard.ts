/**
 * Writes a checkpoint file whose shards come from other files: column by column, each copied range by range, so that
 * neither a shard nor an extent has to fit into memory. The file is as `createCheckpointWriter` makes it.
 */
import { createHash } from 'node:crypto';
import { assert } from '../../base/assert.ts';
import type { DiskFile } from '../../base/seams.ts';
import type { LookState } from '../../core/shard/looks.ts';
import { optimizerLayout, type TrainedSpec } from '../../tensor/optimizer.ts';
import type { ShardRows } from '../../tensor/parameters.ts';
import { type RowLayout, rowBytes, type StoredTable, storedTable, storedTables } from '../../tensor/stored-tables.ts';
import { EXTENT_BYTES, headerPlan, type WrittenCheckpoint } from '../file/extent-writer.ts';
import { type CheckpointMeta, encodeMetadata, slotField, TENSORS, tensorName } from '../file/format.ts';
import { lookTensors } from '../file/looks.ts';
import type { BlockPlace, RowRange } from '../file/reader.ts';
import { VALUES_ONLY } from '../file/row-pieces.ts';
import { DTYPE_BYTES, type Dtype, type TensorInfo } from '../file/safetensors/header.ts';
import { readElements, type Safetensors } from '../file/safetensors/reader.ts';
import { createSafetensorsWriter, type NewTensor, type StreamedTensor } from '../file/safetensors/writer.ts';
import type { Variables } from '../set/checkpoint-set.ts';
import { mergeRows } from '../set/merge.ts';
import { countRows } from '../set/shard-rows.ts';
import type { ShardSource } from '../set/shard-source.ts';

const COPY_BYTES = 4 * 1024 * 1024;

export interface ReshardOptions {
  readonly file: DiskFile;
  /** Its parameters are the chosen variables, in their order. */
  readonly meta: CheckpointMeta;
  readonly shards: readonly ShardSource[];
  /** Places of the chosen variables in the sources' job. */
  readonly variables: Variables;
  readonly extentBytes?: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** A shard and where its parts are. */
interface PlannedShard {
  readonly source: ShardSource;
  /** Indexed by chosen table. */
  readonly tables: readonly PlannedRows[];
  /** Indexed by chosen parameter. */
  readonly dense: readonly (readonly BlockPlace[])[];
  readonly bytes: number;
}

interface PlannedRows {
  /** Place of the table among the stored tables of the sources' job. */
  readonly table: number;
  readonly rows: number;
  /** Undefined if several files have them. */
  readonly range: RowRange | undefined;
}

/** Writes all shards given and fills the header. Throws `CheckpointCorrupt`, the disk's errors, the signal's reason. */
export async function writeResharded(options: ReshardOptions): Promise<WrittenCheckpoint> {
  const { file, meta, shards, extentBytes = EXTENT_BYTES } = options;
  assert(shards.length > 0, 'a file has shards');
  const planned: PlannedShard[] = [];
  // All sources are of one job.
  const places = storedPlaces(shards[0]!.reader.facts.parameters, options.variables);
  for (const source of shards) planned.push(await planShard(source, places, options));
  const most = headerPlan(meta, shards.length, shards.length).maxExtents;
  const extents = groupShards(planned, extentBytes, Math.ceil(shards.length / most));
  const rows = planned.reduce((sum, { tables }) => sum + rowsIn(tables), 0);
  const facts = { ...meta, extents: extents.length, rows, shardsHere: shards.length };
  const writer = await createSafetensorsWriter({
    file,
    headerBytes: headerPlan(meta, shards.length, extents.length).headerBytes,
    metadata: encodeMetadata({ ...facts, checksumsCrc32: 0 }),
  });
  for (const [number, extent] of extents.entries()) {
    for (const tensor of await tensorsOf(number, extent, options)) await writer.append(tensor);
  }
  const tensors = [...writer.tensors];
  const sums = Uint32Array.from(tensors, ({ crc32 }) => crc32);
  const parts = [new Uint8Array(sums.buffer)];
  await writer.append({ name: TENSORS.checksums, dtype: 'U32', shape: [sums.length], parts });
  const checksumsCrc32 = writer.tensors.at(-1)!.crc32;
  const bytes = await writer.finish(encodeMetadata({ ...facts, checksumsCrc32 }));
  const positions = shards.map(({ shard, epoch, seq }) => ({ shard, epoch, seq }));
  return { bytes, rows, positions, tensors: writer.tensors };
}

const rowsIn = (tables: readonly PlannedRows[]): number => tables.reduce((sum, { rows }) => sum + rows, 0);

/** `places`: places of the chosen stored tables in the sources' job. */
async function planShard(
  source: ShardSource,
  places: readonly number[],
  { variables, meta }: ReshardOptions,
): Promise<PlannedShard> {
  const { reader, blocksIn, links, shard } = source;
  const tables: PlannedRows[] = [];
  const dense: BlockPlace[][] = [];
  let bytes = 0;
  for (const [at, table] of places.entries()) {
    const range = links.length === 1 ? await reader.rowRange(shard, table) : undefined;
    const rows = range === undefined ? await countRows(source, table) : range.end - range.first;
    tables.push({ table, rows, range });
    const { width, layout } = storedTable(meta.parameters.sparse, at)!;
    bytes += rows * rowBytes(width, layout);
  }
  for (const [at, parameter] of variables.dense.entries()) {
    const { slots } = optimizerLayout(meta.parameters.dense[at]!.optimizer);
    const places = await blocksIn.blockPlaces(shard, parameter);
    dense.push(places);
    for (const { length } of places) bytes += 4 * length * (1 + slots.length);
  }
  return { source, tables, dense, bytes };
}

/** Places of the chosen tables and of their candidates among the stored tables of the sources' job. */
export function storedPlaces({ sparse }: TrainedSpec, variables: Variables): number[] {
  const chosen = variables.sparse.map((table) => sparse[table]!);
  const all = storedTables(sparse);
  return storedTables(chosen).map(({ kind, name }) => all.findIndex((one) => one.kind === kind && one.name === name));
}

function groupShards(planned: readonly PlannedShard[], extentBytes: number, minShards: number): PlannedShard[][] {
  const extents: PlannedShard[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const shard of planned) {
    const last = extents.at(-1);
    if (last !== undefined && (bytes < extentBytes || last.length < minShards)) last.push(shard);
    else {
      extents.push([shard]);
      bytes = 0;
    }
    bytes += shard.bytes;
  }
  return extents;
}

type Tensor = NewTensor | StreamedTensor;

async function tensorsOf(
  extent: number,
  shards: readonly PlannedShard[],
  options: ReshardOptions,
): Promise<readonly Tensor[]> {
  const { ledgers, numbers } = await distinctLedgers(shards);
  const tensors: Tensor[] = [
    ...positionTensors(extent, shards, ledgers, numbers),
    ...lookTensors(extent, await looksOf(shards, options)),
    ...storedTables(options.meta.parameters.sparse).flatMap((stored, table) =>
      tableTensors(extent, shards, table, stored, options),
    ),
    ...options.meta.parameters.dense.flatMap((_, parameter) => denseTensors(extent, shards, parameter, options)),
  ];
  const wide = tensors.filter(({ dtype }) => dtype === 'U64');
  const narrow = tensors.filter(({ dtype }) => dtype === 'F32' || dtype === 'U32');
  const ledgerBytes = ledgers.reduce((sum, ledger) => sum + ledger.length, 0);
  const before = narrow.reduce((sum, tensor) => sum + bytesOfShape(tensor), 0);
  const padding = new Uint8Array(-(before + ledgerBytes) & 7);
  const length = ledgerBytes + padding.length;
  const last: Tensor = { name: TENSORS.ledgers(extent), dtype: 'U8', shape: [length], parts: [...ledgers, padding] };
  return [...wide, ...narrow, ...(length === 0 ? [] : [last])];
}

/** Returns the looks of each shard, for the chosen tables. Empty if none of these tables has a `seen`. */
async function looksOf(shards: readonly PlannedShard[], { meta, variables }: ReshardOptions): Promise<LookState[]> {
  if (!meta.parameters.sparse.some(({ hasSeen }) => hasSeen)) return [];
  const all: LookState[] = [];
  for (const { source } of shards) {
    const looks = await source.reader.looksOf(source.shard);
    assert(looks !== undefined, 'a file whose rows have a seen has looks');
    all.push({ ...looks, lookAt: variables.sparse.map((table) => looks.lookAt[table]) });
  }
  return all;
}

const bytesOfShape = ({ dtype, shape }: Tensor): number =>
  shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype]);

/** Shards of several pservers alternate, so equal ledgers are found by content. */
async function distinctLedgers(shards: readonly PlannedShard[]): Promise<{ ledgers: Uint8Array[]; numbers: number[] }> {
  const ledgers: Uint8Array[] = [];
  const numbers: number[] = [];
  const known = new Map<string, number>();
  for (const { source } of shards) {
    const ledger = await source.reader.ledgerOf(source.shard);
    const key = createHash('sha256').update(ledger).digest('hex');
    let number = known.get(key);
    if (number === undefined) {
      number = ledgers.length;
      known.set(key, number);
      ledgers.push(ledger);
    }
    numbers.push(number);
  }
  return { ledgers, numbers };
}

const wideTensor = (name: string, shape: readonly number[], values: readonly number[]): NewTensor => ({
  name,
  dtype: 'U64',
  shape,
  parts: [new Uint8Array(BigUint64Array.from(values, BigInt).buffer)],
});

const wordTensor = (name: string, values: readonly number[]): NewTensor => ({
  name,
  dtype: 'U32',
  shape: [values.length],
  parts: [new Uint8Array(Uint32Array.from(values).buffer)],
});

function startsOf(counts: readonly number[]): number[] {
  const starts = [0];
  for (const count of counts) starts.push(starts.at(-1)! + count);
  return starts;
}

function positionTensors(
  extent: number,
  shards: readonly PlannedShard[],
  ledgers: readonly Uint8Array[],
  numbers: readonly number[],
): NewTensor[] {
  const rows = shards.flatMap(({ source: { shard, epoch, seq } }, at) => [shard, epoch, seq, numbers[at]!]);
  const starts = startsOf(ledgers.map(({ length }) => length));
  return [
    wideTensor(TENSORS.shards(extent), [shards.length, 4], rows),
    wideTensor(TENSORS.ledgerStarts(extent), [starts.length], starts),
  ];
}

function tableTensors(
  extent: number,
  shards: readonly PlannedShard[],
  table: number,
  { kind, name, width, layout }: StoredTable,
  options: ReshardOptions,
): Tensor[] {
  const planned = shards.map(({ source, tables }) => ({ source, ...tables[table]! })).filter(({ rows }) => rows > 0);
  const starts = startsOf(shards.map(({ tables }) => tables[table]!.rows));
  const rows = starts.at(-1)!;
  if (rows === 0) return [];
  const { slots, steps, seen } = layout;
  const at = (field: string): string => tensorName(kind, name, field, extent);
  const column = (field: string, dtype: Dtype, { width: cells, ...wanted }: WantedColumn): StreamedTensor => {
    const shape = dtype === 'F32' ? [rows, cells] : [rows];
    return { name: at(field), dtype, shape, parts: columnOf(planned, { ...wanted, width: cells }, options) };
  };
  return [
    wideTensor(at('rows'), [starts.length], starts),
    column('ids', 'U64', { width: 0, state: VALUES_ONLY, of: ({ ids }) => ids, in: ({ ids }) => ids }),
    ...(width === 0
      ? []
      : [
          column('values', 'F32', {
            width,
            state: VALUES_ONLY,
            of: ({ values }) => values,
            in: ({ values }) => values,
          }),
        ]),
    ...slots.map((slot) =>
      column(slotField(slot), 'F32', {
        width,
        state: { ...VALUES_ONLY, slots: [slot] },
        of: (tensors) => tensors.slots[slot]!,
        in: (found) => found.slots[slot]!,
      }),
    ),
    ...(steps ? [column('steps', 'U32', words('steps'))] : []),
    ...(seen ? [column('seen', 'U32', words('seen'))] : []),
  ];
}

/** A column of a table, for a shard in one file and for one in several. */
interface WantedColumn {
  /** Number of values of a row; 0 for a column of ids, steps or `seen`. */
  readonly width: number;
  /** What is read beside ids and values. */
  readonly state: RowLayout;
  readonly of: (tensors: RowRange['tensors']) => TensorInfo;
  readonly in: (rows: ShardRows) => ArrayBufferView;
}

const words = (field: 'steps' | 'seen'): WantedColumn => ({
  width: 0,
  state: { ...VALUES_ONLY, [field]: true },
  of: (tensors) => tensors[field]!,
  in: (rows) => rows[field]!,
});

/** The bytes of a column, shard by shard, in parts that are valid until the next one is asked for. */
async function* columnOf(
  planned: readonly (PlannedRows & { readonly source: ShardSource })[],
  { width, state, ...column }: WantedColumn,
  options: ReshardOptions,
): AsyncGenerator<Uint8Array> {
  const cells = Math.max(1, width);
  let pieces: Piece[] = [];
  for (const { source, table, rows, range } of planned) {
    if (range !== undefined) {
      const from = { source: source.reader.source, tensor: column.of(range.tensors), first: range.first * cells };
      pieces.push({ ...from, count: rows * cells });
      continue;
    }
    yield* copyOf(pieces, options);
    pieces = [];
    for await (const batch of mergeRows({ shards: [source], table, width, state, batchBytes: COPY_BYTES })) {
      options.signal?.throwIfAborted();
      const part = column.in(batch);
      options.onBytes?.(part.byteLength);
      yield new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    }
  }
  yield* copyOf(pieces, options);
}

function denseTensors(
  extent: number,
  shards: readonly PlannedShard[],
  parameter: number,
  options: ReshardOptions,
): Tensor[] {
  const held = shards.flatMap(({ source, dense }) => dense[parameter]!.map((place) => ({ source, place })));
  if (held.length === 0) return [];
  const { name, optimizer } = options.meta.parameters.dense[parameter]!;
  const { slots, steps } = optimizerLayout(optimizer);
  const at = (field: string): string => tensorName('dense', name, field, extent);
  const starts = startsOf(held.map(({ place }) => place.length));
  const floats = (field: string, pick: (tensors: BlockPlace['tensors']) => TensorInfo): StreamedTensor => {
    const pieces = held.map(({ source, place: { tensors, first, length } }) => {
      return { source: source.blocksIn.source, tensor: pick(tensors), first, count: length };
    });
    return { name: at(field), dtype: 'F32', shape: [starts.at(-1)!], parts: copyOf(pieces, options) };
  };
  const numbers = (field: string, pick: (of: (typeof held)[number]) => number): NewTensor =>
    wordTensor(at(field), held.map(pick));
  return [
    wideTensor(at('starts'), [starts.length], starts),
    floats('values', ({ values }) => values),
    ...slots.map((slot) => floats(slotField(slot), (tensors) => tensors.slots[slot]!)),
    numbers('blocks', ({ place }) => place.block),
    numbers('shards', ({ source }) => source.shard),
    ...(steps ? [numbers('steps', ({ place }) => place.step!)] : []),
  ];
}

interface Piece {
  readonly source: Safetensors;
  readonly tensor: TensorInfo;
  /** Place in elements. */
  readonly first: number;
  readonly count: number;
}

/** The bytes of the pieces, in parts that are valid until the next one is asked for. */
async function* copyOf(pieces: readonly Piece[], { signal, onBytes }: ReshardOptions): AsyncGenerator<Uint8Array> {
  const longest = Math.max(0, ...pieces.map(({ tensor, count }) => count * DTYPE_BYTES[tensor.dtype]));
  const buffer = new Uint8Array(Math.min(longest, COPY_BYTES));
  for (const { source, tensor, first, count } of pieces) {
    const bytes = count * DTYPE_BYTES[tensor.dtype];
    const start = first * DTYPE_BYTES[tensor.dtype];
    const asBytes: TensorInfo = { ...tensor, dtype: 'U8' };
    for (let done = 0; done < bytes; done += buffer.length) {
      signal?.throwIfAborted();
      const part = buffer.subarray(0, Math.min(buffer.length, bytes - done));
      await readElements(source, asBytes, start + done, part);
      onBytes?.(part.length);
      yield part;
    }
  }
}
