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
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

export const MODEL_FORMAT = 'paddlet.model';

/** Version of the metadata `paddlet.model`: 2 added the optimizer of each parameter, 3 added checksums. */
export const MODEL_FORMAT_VERSION = '3';
/** Without checksums; still read. */
export const UNCHECKED_FORMAT_VERSION = '2';

/** What the file says of itself. */
export function exportMetadata({ set, variables, state }: ExportOptions): Record<string, string> {
  const { facts, shards } = set;
  const { dense, sparse } = facts.parameters;
  return {
    format: MODEL_FORMAT,
    formatVersion: MODEL_FORMAT_VERSION,
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
export async function planExport({ set, variables, state: isState }: ExportOptions): Promise<ExportPlan> {
  expectWhole(set);
  const { parameters } = set.facts;
  const stateOf = ({ optimizer }: { readonly optimizer: OptimizerSpec }): OptimizerLayout =>
    isState ? optimizerLayout(optimizer) : VALUES_ONLY;
  const tables: TablePlan[] = [];
  for (const table of variables.sparse) {
    const spec = parameters.sparse[table]!;
    const { slots, steps } = stateOf(spec);
    let rows = 0;
    for (const source of set.shards) rows += await countRows(source, table);
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
    });
  }
  const dense = variables.dense.map((parameter): DensePlan => {
    const spec = parameters.dense[parameter]!;
    const { slots, steps } = stateOf(spec);
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

/** All arrays, those of 8-byte elements first. */
export function columnsOf({ tables, dense }: ExportPlan): ExportColumn[] {
  const columns = [
    ...tables.flatMap(({ ids, values, slots, steps }) => [ids, values, ...slots.map(([, one]) => one), steps]),
    ...dense.flatMap(({ values, slots, steps }) => [values, ...slots.map(([, one]) => one), steps]),
  ].filter((column) => column !== undefined);
  return [...columns.filter(({ dtype }) => dtype === 'U64'), ...columns.filter(({ dtype }) => dtype !== 'U64')];
}

export const columnBytes = ({ dtype, shape }: ExportColumn): number =>
  shape.reduce((product, size) => product * size, dtype === 'U64' ? 8 : 4);

/** The rows of a table in batches, and the blocks of a parameter, checked to be as many as planned. */
export async function* exportRows(options: ExportOptions, plan: TablePlan): AsyncGenerator<ShardRows> {
  const { set, signal, onBytes } = options;
  const state = options.state ? { ...optimizerLayout(plan.spec.optimizer), seen: false } : VALUES_ONLY;
  for await (const rows of mergeRows({ shards: set.shards, table: plan.table, width: plan.spec.width, state })) {
    signal?.throwIfAborted();
    yield rows;
    onBytes?.(rows.ids.byteLength + rows.values.byteLength * (1 + plan.slots.length));
  }
}

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
    for await (const rows of exportRows(options, table)) {
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
