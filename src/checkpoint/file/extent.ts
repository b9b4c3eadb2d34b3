/** Captured shards and the tensors that an extent of them becomes. */
import { assert } from '../../base/assert.ts';
import type { LookState } from '../../core/shard/looks.ts';
import { optimizerLayout, type TrainedSpec } from '../../tensor/optimizer.ts';
import type { DenseBlock, ShardRows } from '../../tensor/parameters.ts';
import { type StoredTable, storedTables } from '../../tensor/stored-tables.ts';
import { type CheckpointMeta, type ShardPosition, slotField, TENSORS, tensorName } from './format.ts';
import { lookTensors } from './looks.ts';
import type { NewTensor } from './safetensors/writer.ts';

/** One shard at one instant: values, optimizer state, position and ledger together. */
export interface CapturedShard extends ShardPosition {
  readonly ledger: Uint8Array;
  /** If rows have a `seen`. */
  readonly looks?: LookState | undefined;
  /** By stored table (stored-tables.ts). */
  readonly tables: readonly ShardRows[];
  /** Sorted by parameter, then by block. */
  readonly blocks: readonly DenseBlock[];
  /** Only if the shard has a parent: for each table of the model, ids that were removed since and are missing now. */
  readonly gone?: readonly BigUint64Array[];
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const sumOf = <T>(items: readonly T[], size: (item: T) => number): number =>
  items.reduce((sum, item) => sum + size(item), 0);

export function capturedBytes({ tables, blocks, ledger, gone = [] }: CapturedShard): number {
  const slotBytes = (slots: ShardRows['slots']): number => sumOf(Object.values(slots), (slot) => slot.byteLength);
  const rows = sumOf(tables, (table) => table.ids.byteLength + table.values.byteLength + slotBytes(table.slots));
  const goneBytes = sumOf(gone, (ids) => ids.byteLength);
  return rows + sumOf(blocks, (block) => block.values.byteLength + slotBytes(block.slots)) + ledger.length + goneBytes;
}

/** Rows of the tables of the model: candidates are none. */
export const capturedRows = ({ tables }: CapturedShard, { sparse }: TrainedSpec): number =>
  sumOf(tables.slice(0, sparse.length), ({ ids }) => ids.length);

/**
 * Tensors of extent number `extent`, in file order: first all of 8-byte elements, then of 4, then the ledgers, padded
 * so that the next extent begins at a multiple of 8. Tensors without data are left out.
 */
export function extentTensors(
  extent: number,
  shards: readonly CapturedShard[],
  { parameters: spec, parents = [] }: Pick<CheckpointMeta, 'parameters' | 'parents'>,
): NewTensor[] {
  const tensors = [
    ...positionTensors(extent, shards),
    ...(parents.length === 0 ? [] : [parentTensor(extent, shards, parents)]),
    ...spec.sparse.flatMap(({ name }, table) => goneTensors(extent, shards, table, name)),
    ...lookTensors(
      extent,
      shards.map(({ looks }) => looks),
    ),
    ...storedTables(spec.sparse).flatMap((stored, table) => tableTensors(extent, shards, table, stored)),
    ...spec.dense.flatMap((_, parameter) => denseTensors(extent, shards, parameter, spec)),
  ];
  const wide = tensors.filter(({ dtype }) => dtype === 'U64');
  const narrow = tensors.filter(({ dtype }) => dtype === 'F32' || dtype === 'U32');
  const narrowBytes = sumOf(narrow, ({ parts }) => sumOf(parts, (part) => part.length));
  return [...wide, ...narrow, ...ledgerTensor(extent, shards, narrowBytes)];
}

/** Ledgers that are equal are stored once: shards captured at one instant of one pserver share theirs. */
function distinctLedgers(shards: readonly CapturedShard[]): { ledgers: Uint8Array[]; numbers: number[] } {
  const ledgers: Uint8Array[] = [];
  const numbers = shards.map(({ ledger }) => {
    const last = ledgers.at(-1);
    if (last === undefined || (last !== ledger && Buffer.compare(last, ledger) !== 0)) ledgers.push(ledger);
    return ledgers.length - 1;
  });
  return { ledgers, numbers };
}

/** 0, then the sum after each. */
function startsOf(counts: readonly number[]): Uint8Array {
  const starts = new BigUint64Array(counts.length + 1);
  let sum = 0;
  for (const [at, count] of counts.entries()) {
    sum += count;
    starts[at + 1] = BigInt(sum);
  }
  return bytesOf(starts);
}

function positionTensors(extent: number, shards: readonly CapturedShard[]): NewTensor[] {
  const { ledgers, numbers } = distinctLedgers(shards);
  const table = new BigUint64Array(shards.length * 4);
  for (const [at, { shard, epoch, seq }] of shards.entries()) {
    assert(Number.isSafeInteger(epoch) && Number.isSafeInteger(seq), 'epoch and seq are exact');
    table.set([BigInt(shard), BigInt(epoch), BigInt(seq), BigInt(numbers[at]!)], at * 4);
  }
  const starts = startsOf(ledgers.map((ledger) => ledger.length));
  return [
    { name: TENSORS.shards(extent), dtype: 'U64', shape: [shards.length, 4], parts: [bytesOf(table)] },
    { name: TENSORS.ledgerStarts(extent), dtype: 'U64', shape: [ledgers.length + 1], parts: [starts] },
  ];
}

function parentTensor(extent: number, shards: readonly CapturedShard[], parents: readonly string[]): NewTensor {
  const table = new BigUint64Array(shards.length * 2);
  for (const [at, { parent }] of shards.entries()) {
    if (parent === undefined) continue;
    const place = parents.indexOf(parent.uuid);
    assert(place >= 0, 'a parent is one of those that the file names');
    table.set([BigInt(1 + place), BigInt(parent.seq)], at * 2);
  }
  return { name: TENSORS.parents(extent), dtype: 'U64', shape: [shards.length, 2], parts: [bytesOf(table)] };
}

function goneTensors(extent: number, shards: readonly CapturedShard[], table: number, name: string): NewTensor[] {
  const all = shards.map(({ gone }) => gone?.[table] ?? NO_IDS);
  const counts = all.map(({ length }) => length);
  const total = sumOf(counts, (count) => count);
  if (total === 0) return [];
  const at = (field: string): string => tensorName('gone', name, field, extent);
  return [
    { name: at('rows'), dtype: 'U64', shape: [all.length + 1], parts: [startsOf(counts)] },
    { name: at('ids'), dtype: 'U64', shape: [total], parts: all.filter(({ length }) => length > 0).map(bytesOf) },
  ];
}

const NO_IDS = new BigUint64Array(0);

function ledgerTensor(extent: number, shards: readonly CapturedShard[], bytesBefore: number): NewTensor[] {
  const { ledgers } = distinctLedgers(shards);
  const bytes = sumOf(ledgers, (ledger) => ledger.length);
  const padding = new Uint8Array(-(bytesBefore + bytes) & 7);
  const parts = [...ledgers, padding];
  const length = bytes + padding.length;
  return length === 0 ? [] : [{ name: TENSORS.ledgers(extent), dtype: 'U8', shape: [length], parts }];
}

/** Compared by halves: loops over BigInts are slow. */
function isAscending(ids: BigUint64Array): boolean {
  const halves = new Uint32Array(ids.buffer, ids.byteOffset, ids.length * 2);
  for (let at = 2; at < halves.length; at += 2) {
    const high = halves[at + 1]!;
    const highBefore = halves[at - 1]!;
    if (high < highBefore || (high === highBefore && halves[at]! <= halves[at - 2]!)) return false;
  }
  return true;
}

function tableTensors(
  extent: number,
  shards: readonly CapturedShard[],
  table: number,
  { kind, name, width, layout }: StoredTable,
): NewTensor[] {
  const all = shards.map(({ tables }) => tables[table]!);
  const counts = all.map(({ ids }) => ids.length);
  const parts = all.filter(({ ids }) => ids.length > 0);
  const rows = sumOf(counts, (count) => count);
  if (rows === 0) return [];
  for (const { ids } of parts) assert(isAscending(ids), `rows of ${name} are sorted by id and distinct`);
  const at = (field: string): string => tensorName(kind, name, field, extent);
  const matrix = (field: string, pick: (rows: ShardRows) => Float32Array): NewTensor => ({
    name: at(field),
    dtype: 'F32',
    shape: [rows, width],
    parts: parts.map((part) => bytesOf(pick(part))),
  });
  const words = (field: string, pick: (rows: ShardRows) => Uint32Array): NewTensor => ({
    ...{ name: at(field), dtype: 'U32', shape: [rows] },
    parts: parts.map((part) => bytesOf(pick(part))),
  });
  return [
    { name: at('rows'), dtype: 'U64', shape: [all.length + 1], parts: [startsOf(counts)] },
    { name: at('ids'), dtype: 'U64', shape: [rows], parts: parts.map(({ ids }) => bytesOf(ids)) },
    ...(width === 0 ? [] : [matrix('values', ({ values }) => values)]),
    ...layout.slots.map((slot) => matrix(slotField(slot), ({ slots }) => slots[slot]!)),
    ...(layout.steps ? [words('steps', ({ steps }) => steps!)] : []),
    ...(layout.seen ? [words('seen', ({ seen }) => seen!)] : []),
  ];
}

function denseTensors(
  extent: number,
  shards: readonly CapturedShard[],
  parameter: number,
  spec: TrainedSpec,
): NewTensor[] {
  const { name, optimizer } = spec.dense[parameter]!;
  const state = optimizerLayout(optimizer);
  const held = shards.flatMap(({ shard, blocks }) =>
    blocks.filter((block) => block.parameter === parameter).map((block) => ({ ...block, shard })),
  );
  if (held.length === 0) return [];
  const at = (field: string): string => tensorName('dense', name, field, extent);
  const words = (field: string, values: number[]): NewTensor => ({
    name: at(field),
    dtype: 'U32',
    shape: [held.length],
    parts: [bytesOf(Uint32Array.from(values))],
  });
  const lengths = held.map(({ values }) => values.length);
  const floats = (field: string, pick: (block: DenseBlock) => Float32Array): NewTensor => ({
    name: at(field),
    dtype: 'F32',
    shape: [sumOf(lengths, (length) => length)],
    parts: held.map((block) => bytesOf(pick(block))),
  });
  const tensors = [
    { name: at('starts'), dtype: 'U64', shape: [held.length + 1], parts: [startsOf(lengths)] } as const,
    floats('values', ({ values }) => values),
    ...state.slots.map((slot) => floats(slotField(slot), ({ slots }) => slots[slot]!)),
    words(
      'blocks',
      held.map(({ block }) => block),
    ),
    words(
      'shards',
      held.map(({ shard }) => shard),
    ),
  ];
  if (!state.steps) return tensors;
  const steps = held.map(({ step }) => {
    assert(step !== undefined, 'a block has its step count');
    return step;
  });
  return [...tensors, words('steps', steps)];
}
