/**
 * The content of the shards of a set of files, variable by variable: counts, statistics, digests. One pass, bounded
 * memory.
 */

import type { ShardRows } from '../../tensor/parameters.ts';
import { nameHash } from '../../tensor/shard-hash.ts';
import { rowBytes, storedTable } from '../../tensor/stored-tables.ts';
import { readBlock } from '../file/reader.ts';
import { createRowBuffers, type RowBuffers } from '../file/row-pieces.ts';
import { wordsOf } from '../file/words.ts';
import type { CheckpointSet, Variables } from './checkpoint-set.ts';
import { mixWords, type RowHash, SetDigest } from './row-hash.ts';
import { countRows, piecesOf } from './shard-rows.ts';
import type { ShardSource } from './shard-source.ts';
import { Statistics, type TopRow, TopRows, type ValueStatistics } from './statistics.ts';

const PIECE_BYTES = 2 * 1024 * 1024;

/** Digests of a set of rows or blocks: equal whatever the order, and whatever files they are in. */
export interface SetDigests {
  /** Digest of ids and values. */
  readonly valuesDigest: string;
  /** Digest of ids, values, optimizer state, update counts and `seen`. */
  readonly stateDigest: string;
}

export interface TableContent extends SetDigests, ValueStatistics {
  readonly rows: number;
  /** Bytes of rows and state, without the file's indexes. */
  readonly bytes: number;
  readonly top: readonly TopRow[];
}

export interface DenseContent extends SetDigests, ValueStatistics {
  readonly blocks: number;
  readonly bytes: number;
}

export interface ContentOptions {
  /** Rows with the greatest norms to name. */
  readonly top?: number;
  readonly signal?: AbortSignal;
  /** Called with the bytes gone through since the last call. */
  readonly onBytes?: (bytes: number) => void;
}

/** Throws `CheckpointCorrupt`, and the signal's reason. */
export async function tableContent(
  { facts, shards }: CheckpointSet,
  table: number,
  options: ContentOptions = {},
): Promise<TableContent> {
  const { name, width, layout } = storedTable(facts.parameters.sparse, table)!;
  const buffers = createRowBuffers(width, layout, PIECE_BYTES);
  const totals = createRowTotals(name, buffers, options.top ?? 0);
  const bytesPerRow = rowBytes(width, layout);
  let rows = 0;
  for (const source of shards) {
    for await (const piece of piecesOf(source, table, buffers)) {
      options.signal?.throwIfAborted();
      totals.add(piece);
      rows += piece.ids.length;
      options.onBytes?.(piece.ids.length * bytesPerRow);
    }
  }
  return { rows, bytes: rows * bytesPerRow, ...totals.result() };
}

function createRowTotals(name: string, { width }: RowBuffers, topRows: number) {
  const seed = Number(BigInt.asIntN(32, nameHash(name)));
  const statistics = new Statistics();
  const top = new TopRows(topRows);
  const values = new SetDigest();
  const state = new SetDigest();
  const hash: RowHash = { a: 0, b: 0 };
  return {
    add(rows: ShardRows): void {
      const ids = wordsOf(rows.ids);
      const valueWords = wordsOf(rows.values);
      const slots = Object.values(rows.slots).map(wordsOf);
      for (let row = 0; row < rows.ids.length; row++) {
        const from = row * width;
        const squares = statistics.add(rows.values, from, from + width);
        if (top.wants(squares)) top.add(rows.ids[row]!, squares);
        hash.a = seed;
        hash.b = ~seed;
        mixWords(hash, ids, 2 * row, 2 * row + 2);
        mixWords(hash, valueWords, from, from + width);
        values.add(hash);
        for (const slot of slots) mixWords(hash, slot, from, from + width);
        if (rows.steps !== undefined) mixWords(hash, rows.steps, row, row + 1);
        if (rows.seen !== undefined) mixWords(hash, rows.seen, row, row + 1);
        state.add(hash);
      }
    },
    result: () => ({
      ...statistics.result(),
      valuesDigest: values.text(),
      stateDigest: state.text(),
      top: top.result(),
    }),
  };
}

/** Throws like `tableContent`. */
export async function denseContent(
  set: Pick<CheckpointSet, 'facts'> & { readonly shards: readonly ShardSource[] },
  parameter: number,
  options: ContentOptions = {},
): Promise<DenseContent> {
  const { name } = set.facts.parameters.dense[parameter]!;
  const seed = Number(BigInt.asIntN(32, nameHash(name)));
  const statistics = new Statistics();
  const values = new SetDigest();
  const state = new SetDigest();
  let blocks = 0;
  let bytes = 0;
  for (const { blocksIn: reader, shard } of set.shards) {
    for (const place of await reader.blockPlaces(shard, parameter)) {
      options.signal?.throwIfAborted();
      const block = await readBlock(reader.source, place);
      const slots = Object.values(block.slots);
      statistics.add(block.values, 0, block.values.length);
      const hash: RowHash = { a: seed, b: ~seed };
      mixWords(hash, Uint32Array.of(block.block), 0, 1);
      mixWords(hash, wordsOf(block.values), 0, block.values.length);
      values.add(hash);
      for (const slot of slots) mixWords(hash, wordsOf(slot), 0, slot.length);
      if (block.step !== undefined) mixWords(hash, Uint32Array.of(block.step), 0, 1);
      state.add(hash);
      blocks += 1;
      const size = block.values.byteLength * (1 + slots.length) + (block.step === undefined ? 0 : 4);
      bytes += size;
      options.onBytes?.(size);
    }
  }
  return { blocks, bytes, ...statistics.result(), valuesDigest: values.text(), stateDigest: state.text() };
}

/** Bytes that going through the chosen variables reads: for progress. */
export async function contentBytes({ facts, shards }: CheckpointSet, { sparse }: Variables): Promise<number> {
  let bytes = 0;
  for (const source of shards) {
    for (const table of sparse) {
      const { width, layout } = storedTable(facts.parameters.sparse, table)!;
      bytes += (await countRows(source, table)) * rowBytes(width, layout);
    }
  }
  return bytes;
}
