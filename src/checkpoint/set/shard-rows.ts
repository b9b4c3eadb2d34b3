/** The rows of one shard, from the file or files that it is read from. */
import type { ShardRows } from '../../tensor/parameters.ts';
import { rowBytes } from '../../tensor/stored-tables.ts';
import { type RowBuffers, rowPieces, VALUES_ONLY } from '../file/row-pieces.ts';
import { mergeRows } from './merge.ts';
import type { ShardSource } from './shard-source.ts';

/** Reads all ids if the shard is in several files. */
export async function countRows({ reader, links, shard, ...rest }: ShardSource, table: number): Promise<number> {
  if (links.length === 1) return reader.rowCount(shard, table);
  let rows = 0;
  const ids = { table, width: 0, state: VALUES_ONLY };
  for await (const batch of mergeRows({ ...ids, shards: [{ reader, links, shard, ...rest }] }))
    rows += batch.ids.length;
  return rows;
}

/** Rows of one shard and table, ascending by id, in pieces that are valid until the next one is asked for. */
export function piecesOf(source: ShardSource, table: number, buffers: RowBuffers): AsyncGenerator<ShardRows> {
  if (source.links.length === 1) return rowPieces(source.reader, source.shard, table, buffers);
  const { width, slots, steps, seen } = buffers;
  const state = { slots: Object.keys(slots), steps: steps !== undefined, seen: seen !== undefined };
  return mergeRows({ shards: [source], table, width, state, batchBytes: buffers.rows * rowBytes(width, state) });
}
