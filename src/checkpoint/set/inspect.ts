/** `checkpoint inspect`: what a checkpoint holds, in one pass and bounded memory. */

import { CANDIDATE_BYTES } from '../../tensor/admission/admission.ts';
import { type OptimizerSpec, optimizerLayout } from '../../tensor/optimizer.ts';
import { placeOf } from '../../tensor/stored-tables.ts';
import { type FileKind, fileKind } from '../file/format.ts';
import { readBlock } from '../file/reader.ts';
import type { CheckpointSet, Variables } from './checkpoint-set.ts';
import { type ContentOptions, type DenseContent, denseContent, type TableContent, tableContent } from './content.ts';
import { mergeRows } from './merge.ts';
import { createModelHasher, type Digests, inNameOrder, tablesInOrder } from './model-digest.ts';
import { type PositionsFound, positionsDigest, progressOf } from './positions.ts';
import { countRows } from './shard-rows.ts';

export interface InspectedTable extends TableContent {
  readonly name: string;
  readonly width: number;
  readonly optimizer: OptimizerSpec;
  /** Ids with a count but without a row; undefined if the table never has any. */
  readonly candidates: { readonly count: number; readonly bytes: number } | undefined;
}

export interface InspectedDense extends DenseContent {
  readonly name: string;
  readonly shape: readonly number[];
  readonly optimizer: OptimizerSpec;
}

export interface Inspection {
  readonly jobId: string;
  readonly jobName: string;
  readonly shards: { readonly total: number; readonly missing: readonly number[] };
  readonly files: readonly InspectedFile[];
  readonly tables: readonly InspectedTable[];
  readonly dense: readonly InspectedDense[];
  readonly positions: PositionsFound & {
    /** Updates of the shards: least and greatest. */
    readonly seq: readonly [number, number];
    readonly digest: string;
  };
  /** Digests of the whole model, as in the job's result; computed only on request. */
  readonly digests: Digests | undefined;
}

export interface InspectedFile {
  readonly path: string;
  readonly uuid: string;
  readonly index: number;
  readonly token: string;
  readonly bytes: number;
  readonly rows: number;
  /** Shards with rows that are read from this file, and shards in it. */
  readonly shards: number;
  readonly shardsHere: number;
  readonly createdAt: number;
  readonly clean: boolean;
  readonly kind: FileKind;
  /** Names of the files that a delta builds on. */
  readonly parents: readonly string[];
}

export interface InspectOptions extends ContentOptions {
  readonly variables: Variables;
  /** Make `modelDigest` and `stateDigest`, which needs a second pass in the order of ids. */
  readonly digests: boolean;
}

/** Throws `CheckpointCorrupt`, and the signal's reason. */
export async function inspectCheckpoint(set: CheckpointSet, options: InspectOptions): Promise<Inspection> {
  const { facts, shards } = set;
  const { dense, sparse } = facts.parameters;
  const tables: InspectedTable[] = [];
  for (const table of options.variables.sparse) {
    const { name, width, optimizer } = sparse[table]!;
    const candidates = await candidatesOf(set, name);
    tables.push({ name, width, optimizer, candidates, ...(await tableContent(set, table, options)) });
  }
  const parameters: InspectedDense[] = [];
  for (const parameter of options.variables.dense) {
    const { name, shape, optimizer } = dense[parameter]!;
    parameters.push({ name, shape, optimizer, ...(await denseContent(set, parameter, options)) });
  }
  const seqs = shards.map(({ seq }) => seq);
  const seq = seqs.reduce<[number, number]>(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [seqs[0] ?? 0, seqs[0] ?? 0],
  );
  return {
    jobId: facts.jobId,
    jobName: facts.jobName,
    shards: { total: facts.shards, missing: set.missing },
    files: set.parts.map(({ reader, shards: used }) => ({
      path: reader.path,
      uuid: reader.facts.uuid,
      index: reader.facts.index,
      token: reader.facts.token.toString(),
      bytes: reader.source.bytes,
      rows: reader.facts.rows,
      shards: used.length,
      shardsHere: reader.facts.shardsHere,
      createdAt: reader.facts.createdAt,
      clean: reader.facts.clean,
      kind: fileKind(reader.facts),
      parents: reader.facts.parents ?? [],
    })),
    tables,
    dense: parameters,
    positions: { ...(await progressOf(shards)), seq, digest: await positionsDigest(shards) },
    digests: options.digests ? await digestSet(set, options) : undefined,
  };
}

async function candidatesOf({ facts, shards }: CheckpointSet, name: string): Promise<InspectedTable['candidates']> {
  const place = placeOf(facts.parameters, 'candidates', name);
  if (place < 0) return undefined;
  let count = 0;
  for (const source of shards) count += await countRows(source, place);
  return { count, bytes: count * CANDIDATE_BYTES };
}

/** `modelDigest` and `stateDigest` of all variables (model-digest.ts). Memory: a batch of rows. */
export async function digestSet(set: CheckpointSet, options: ContentOptions = {}): Promise<Digests> {
  const { facts, shards } = set;
  const hasher = createModelHasher();
  for (const [parameter, spec] of inNameOrder(facts.parameters.dense)) {
    hasher.beginDense(spec);
    for await (const block of blocksInOrder(set, parameter)) {
      options.signal?.throwIfAborted();
      const state = sortedSlots(spec).map((slot) => bytesOf(block.slots[slot]!));
      hasher.block(bytesOf(block.values), state, block.step);
    }
  }
  for (const [table, stored] of tablesInOrder(facts.parameters.sparse)) {
    hasher.beginTable(stored);
    const { width, layout: state } = stored;
    const slots = [...state.slots].sort();
    for await (const rows of mergeRows({ shards, table, width, state })) {
      options.signal?.throwIfAborted();
      const columns = [rows.values, ...slots.map((slot) => rows.slots[slot]!)].map(bytesOf);
      const words = [rows.steps, rows.seen].filter((one) => one !== undefined).map(bytesOf);
      const ids = bytesOf(rows.ids);
      const size = 4 * width;
      for (let row = 0; row < rows.ids.length; row++) {
        const [values, ...rowState] = columns.map((column) => column.subarray(row * size, (row + 1) * size));
        for (const word of words) rowState.push(word.subarray(4 * row, 4 * row + 4));
        hasher.row(ids.subarray(8 * row, 8 * row + 8), values!, rowState);
      }
      options.onBytes?.(rows.ids.length * size);
    }
  }
  return hasher.digests();
}

const sortedSlots = ({ optimizer }: { readonly optimizer: OptimizerSpec }): string[] =>
  [...optimizerLayout(optimizer).slots].sort();

/** Blocks of a parameter by number; shards that are missing leave holes. */
export async function* blocksInOrder({ shards }: Pick<CheckpointSet, 'shards'>, parameter: number) {
  const places = [];
  for (const { blocksIn: reader, shard } of shards) {
    for (const place of await reader.blockPlaces(shard, parameter)) places.push({ reader, place });
  }
  places.sort((a, b) => a.place.block - b.place.block);
  for (const { reader, place } of places) yield readBlock(reader.source, place);
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
