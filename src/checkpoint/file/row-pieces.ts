/** Reads rows by ranges into buffers that are reused: memory does not grow with the file. */
import type { ShardRows } from '../../tensor/parameters.ts';
import { type RowLayout, rowBytes } from '../../tensor/stored-tables.ts';
import type { CheckpointReader, RowRange } from './reader.ts';
import { readElements, type Safetensors } from './safetensors/reader.ts';

/** Room for a number of rows. */
export interface RowBuffers {
  readonly width: number;
  readonly rows: number;
  readonly ids: BigUint64Array;
  readonly values: Float32Array;
  /** By slot; empty when only values are wanted. */
  readonly slots: Readonly<Record<string, Float32Array>>;
  readonly steps: Uint32Array | undefined;
  readonly seen: Uint32Array | undefined;
}

/** What is kept of each row beside id and values. */
export const VALUES_ONLY: RowLayout = { slots: [], steps: false, seen: false };

/** Room for as many rows as `bytes` holds: at least one. */
export function createRowBuffers(width: number, state: RowLayout, bytes: number): RowBuffers {
  const rows = Math.max(1, Math.floor(bytes / rowBytes(width, state)));
  const floats = (): Float32Array => new Float32Array(rows * width);
  return {
    width,
    rows,
    ids: new BigUint64Array(rows),
    values: floats(),
    slots: Object.fromEntries(state.slots.map((slot) => [slot, floats()])),
    steps: state.steps ? new Uint32Array(rows) : undefined,
    seen: state.seen ? new Uint32Array(rows) : undefined,
  };
}

/** The first `count` rows of the buffers. */
export function firstRows({ width, ids, values, slots, steps, seen }: RowBuffers, count: number): ShardRows {
  return {
    ids: ids.subarray(0, count),
    values: values.subarray(0, count * width),
    slots: Object.fromEntries(Object.entries(slots).map(([slot, all]) => [slot, all.subarray(0, count * width)])),
    steps: steps?.subarray(0, count),
    seen: seen?.subarray(0, count),
  };
}

/** Reads rows `first` to `first + count` of the file's tensors; the columns that the buffers have. */
export async function readRowsInto(
  source: Safetensors,
  { tensors }: Pick<RowRange, 'tensors'>,
  first: number,
  count: number,
  buffers: RowBuffers,
): Promise<ShardRows> {
  const rows = await readCellsInto(source, { tensors }, first, count, buffers);
  await readElements(source, tensors.ids, first, rows.ids);
  return rows;
}

/** The same without the ids, which the caller has. */
export async function readCellsInto(
  source: Safetensors,
  { tensors }: Pick<RowRange, 'tensors'>,
  first: number,
  count: number,
  buffers: RowBuffers,
): Promise<ShardRows> {
  const rows = firstRows(buffers, count);
  const { width } = buffers;
  await Promise.all([
    readElements(source, tensors.values, first * width, rows.values),
    ...Object.entries(rows.slots).map(([slot, into]) =>
      readElements(source, tensors.slots[slot]!, first * width, into),
    ),
    ...(rows.steps === undefined ? [] : [readElements(source, tensors.steps!, first, rows.steps)]),
    ...(rows.seen === undefined ? [] : [readElements(source, tensors.seen!, first, rows.seen)]),
  ]);
  return rows;
}

/** Rows of one shard and table, ascending by id, in pieces that are valid until the next one is asked for. */
export async function* rowPieces(
  reader: CheckpointReader,
  shard: number,
  table: number,
  buffers: RowBuffers,
): AsyncGenerator<ShardRows> {
  const range = await reader.rowRange(shard, table);
  for (let from = range.first; from < range.end; from += buffers.rows) {
    const count = Math.min(buffers.rows, range.end - from);
    yield await readRowsInto(reader.source, range, from, count, buffers);
  }
}
