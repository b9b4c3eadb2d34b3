/**
 * `checkpoint export`: one merged model of the files of all pservers, rows sorted by unsigned id. One pass over each
 * table in bounded memory: every column knows its place in the new file beforehand and is written as rows come.
 */

import { blockCount, denseBlockFloats, elementCount } from '../../tensor/blocks.ts';
import { type OptimizerLayout, type OptimizerSpec, optimizerLayout, type Trained } from '../../tensor/optimizer.ts';
import type { DenseBlock, ShardRows } from '../../tensor/parameters.ts';
import type { DenseSpec, SparseSpec } from '../../tensor/spec.ts';
import { corrupt } from '../file/files.ts';
import { slotField } from '../file/format.ts';
import { VALUES_ONLY } from '../file/row-pieces.ts';
import { type CheckpointSet, expectWhole, type Variables } from '../set/checkpoint-set.ts';
import { blocksInOrder } from '../set/inspect.ts';
import { mergeRows } from '../set/merge.ts';
import { countRows } from '../set/shard-rows.ts';
import { type ChangedRows, changedRows } from './changes.ts';

/** An array of the exported file. */
export interface ExportColumn {
  readonly name: string;
  readonly dtype: 'U64' | 'F32' | 'U32';
  readonly shape: readonly number[];
}

/** Takes arrays piece by piece; pieces of one array come in order, those of different arrays alternately. */
export interface ColumnSink {
  write(column: ExportColumn, bytes: Uint8Array): Promise<void>;
  /** Fills in what is known only now, and syncs. */
  finish(): Promise<void>;
}

export interface ExportOptions {
  readonly set: CheckpointSet;
  readonly variables: Variables;
  /** Optimizer state and update counts too. */
  readonly state: boolean;
  /** Export only what has changed since this one. */
  readonly since?: EarlierExport | undefined;
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** An earlier export, whose rows are ascending by id. */
export interface EarlierExport {
  /** CRC-32 of its header, which has the checksums of all its arrays. */
  readonly headerCrc32: string;
  /** Rows of a table; none if it lacks the table. Throws `CheckpointCorrupt`, and `Usage` if it lacks a column. */
  rowsOf(spec: SparseSpec, state: OptimizerLayout): AsyncGenerator<ShardRows>;
}

export const MODEL_FORMAT = 'paddlet.model';

/** Format of a file with only what has changed since an earlier export. */
export const CHANGES_FORMAT = 'paddlet.changes';
export const CHANGES_FORMAT_VERSION = '1';

/** Version of the metadata `paddlet.model`: 2 added the optimizer of each parameter, 3 added checksums. */
export const MODEL_FORMAT_VERSION = '3';
/** Without checksums; still read. */
export const UNCHECKED_FORMAT_VERSION = '2';

/** What the file says of itself. */
export function exportMetadata({ set, variables, state, since }: ExportOptions): Record<string, string> {
  const { facts, shards } = set;
  const { dense, sparse } = facts.parameters;
  return {
    ...(since === undefined
      ? { format: MODEL_FORMAT, formatVersion: MODEL_FORMAT_VERSION }
      : { format: CHANGES_FORMAT, formatVersion: CHANGES_FORMAT_VERSION, since: since.headerCrc32 }),
    jobId: facts.jobId,
    jobName: facts.jobName,
    parameters: JSON.stringify({
      dense: variables.dense.map((at) => dense[at]!),
      sparse: variables.sparse.map((at) => sparse[at]!),
    }),
    seed: String(facts.seed),
    state: String(state),
    shards: String(shards.length),
    ...(facts.job === undefined ? {} : { job: facts.job }),
  };
}

export interface TablePlan {
  readonly table: number;
  readonly spec: Trained<SparseSpec>;
  readonly rows: number;
  readonly ids: ExportColumn;
  readonly values: ExportColumn;
  readonly slots: readonly (readonly [string, ExportColumn])[];
  readonly steps: ExportColumn | undefined;
  /** Ids that only the earlier export has. */
  readonly gone: ExportColumn | undefined;
}

export interface DensePlan {
  readonly parameter: number;
  readonly spec: Trained<DenseSpec>;
  readonly values: ExportColumn;
  readonly slots: readonly (readonly [string, ExportColumn])[];
  readonly steps: ExportColumn | undefined;
}

export interface ExportPlan {
  readonly tables: readonly TablePlan[];
  readonly dense: readonly DensePlan[];
}

/** Throws `CheckpointMissing` when a shard is in none of the files. */
export async function planExport(options: ExportOptions): Promise<ExportPlan> {
  const { set, variables, since } = options;
  expectWhole(set);
  const { parameters } = set.facts;
  const tables: TablePlan[] = [];
  for (const table of variables.sparse) {
    const spec = parameters.sparse[table]!;
    const { slots, steps } = stateOf(options, spec);
    const { rows, gone } = await countsOf(options, spec, table);
    const matrix = (field: string): ExportColumn => {
      return { name: `sparse/${spec.name}/${field}`, dtype: 'F32', shape: [rows, spec.width] };
    };
    tables.push({
      table,
      spec,
      rows,
      ids: { name: `sparse/${spec.name}/ids`, dtype: 'U64', shape: [rows] },
      values: matrix('values'),
      slots: slots.map((slot) => [slot, matrix(slotField(slot))]),
      steps: steps ? { name: `sparse/${spec.name}/steps`, dtype: 'U32', shape: [rows] } : undefined,
      gone: since && { name: `sparse/${spec.name}/gone`, dtype: 'U64', shape: [gone] },
    });
  }
  const dense = variables.dense.map((parameter): DensePlan => {
    const spec = parameters.dense[parameter]!;
    const { slots, steps } = stateOf(options, spec);
    const floats = (field: string): ExportColumn => {
      return { name: `dense/${spec.name}/${field}`, dtype: 'F32', shape: spec.shape };
    };
    return {
      parameter,
      spec,
      values: floats('values'),
      slots: slots.map((slot) => [slot, floats(slotField(slot))]),
      steps: steps ? { name: `dense/${spec.name}/steps`, dtype: 'U32', shape: [blockCount(spec)] } : undefined,
    };
  });
  return { tables, dense };
}

/** How many rows are exported, and how many ids are gone. Reads all rows of both if they are compared. */
async function countsOf(options: ExportOptions, spec: Trained<SparseSpec>, table: number) {
  let [rows, gone] = [0, 0];
  if (options.since === undefined) {
    for (const source of options.set.shards) rows += await countRows(source, table);
    return { rows, gone };
  }
  for await (const piece of piecesOfTable(options, { spec, table })) {
    rows += piece.rows.ids.length;
    gone += piece.gone.length;
  }
  return { rows, gone };
}

/** All arrays, those of 8-byte elements first. */
export function columnsOf({ tables, dense }: ExportPlan): ExportColumn[] {
  const columns = [
    ...tables.flatMap(({ ids, values, slots, steps, gone }) => [
      ids,
      gone,
      values,
      ...slots.map(([, one]) => one),
      steps,
    ]),
    ...dense.flatMap(({ values, slots, steps }) => [values, ...slots.map(([, one]) => one), steps]),
  ].filter((column) => column !== undefined);
  return [...columns.filter(({ dtype }) => dtype === 'U64'), ...columns.filter(({ dtype }) => dtype !== 'U64')];
}

export const columnBytes = ({ dtype, shape }: ExportColumn): number =>
  shape.reduce((product, size) => product * size, dtype === 'U64' ? 8 : 4);

type PlannedTable = Pick<TablePlan, 'spec' | 'table'>;

/** All rows of a table in batches. */
export async function* exportRows(options: ExportOptions, { spec, table }: PlannedTable): AsyncGenerator<ShardRows> {
  const { set, signal, onBytes } = options;
  const state = stateOf(options, spec);
  for await (const rows of mergeRows({
    shards: set.shards,
    table,
    width: spec.width,
    state: { ...state, seen: false },
  })) {
    signal?.throwIfAborted();
    yield rows;
    onBytes?.(rows.ids.byteLength + rows.values.byteLength * (1 + state.slots.length));
  }
}

const stateOf = ({ state }: ExportOptions, { optimizer }: { readonly optimizer: OptimizerSpec }): OptimizerLayout =>
  state ? optimizerLayout(optimizer) : VALUES_ONLY;

const NONE = new BigUint64Array(0);

/** The rows to export, in pieces that are valid until the next one is asked for. */
async function* piecesOfTable(options: ExportOptions, planned: PlannedTable): AsyncGenerator<ChangedRows> {
  const all = exportRows(options, planned);
  const { since } = options;
  if (since !== undefined) yield* changedRows(since.rowsOf(planned.spec, stateOf(options, planned.spec)), all);
  else for await (const rows of all) yield { rows, gone: NONE };
}

/** The blocks of a parameter, checked to be as many as planned. */
export async function* exportBlocks(options: ExportOptions, plan: DensePlan): AsyncGenerator<DenseBlock> {
  let next = 0;
  for await (const block of blocksInOrder(options.set, plan.parameter)) {
    options.signal?.throwIfAborted();
    const floats = Math.min(denseBlockFloats, elementCount(plan.spec) - next * denseBlockFloats);
    if (block.block !== next || block.values.length !== floats) {
      throw corrupt(`dense/${plan.spec.name}`, `block ${next} is missing or incomplete`);
    }
    yield block;
    next += 1;
  }
  if (next !== blockCount(plan.spec)) throw corrupt(`dense/${plan.spec.name}`, `block ${next} is missing`);
}

/** Writes all arrays of the plan. */
export async function exportColumns(options: ExportOptions, plan: ExportPlan, sink: ColumnSink): Promise<void> {
  for (const table of plan.tables) {
    for await (const { rows, gone } of piecesOfTable(options, table)) {
      if (table.gone !== undefined) await sink.write(table.gone, bytesOf(gone));
      await sink.write(table.ids, bytesOf(rows.ids));
      await sink.write(table.values, bytesOf(rows.values));
      for (const [slot, column] of table.slots) await sink.write(column, bytesOf(rows.slots[slot]!));
      if (table.steps !== undefined) await sink.write(table.steps, bytesOf(rows.steps!));
    }
  }
  for (const dense of plan.dense) {
    for await (const block of exportBlocks(options, dense)) {
      await sink.write(dense.values, bytesOf(block.values));
      for (const [slot, column] of dense.slots) await sink.write(column, bytesOf(block.slots[slot]!));
      if (dense.steps !== undefined) await sink.write(dense.steps, bytesOf(Uint32Array.of(block.step!)));
    }
  }
  await sink.finish();
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
