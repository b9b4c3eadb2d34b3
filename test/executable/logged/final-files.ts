/** The shards of checkpoint files, as the log has them. */

import { openCheckpoint } from '../../../src/checkpoint/file/reader.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createStorage } from '../../../src/host/storage.ts';
import type { ShardRows } from '../../../src/tensor/parameters.ts';
import { storedTables } from '../../../src/tensor/stored-tables.ts';
import type { ShardContent } from './update-log.ts';

/** Shards whose rows are smaller than a piece of a reader. */
export async function shardsIn(paths: readonly string[]): Promise<ShardContent[]> {
  const contents: ShardContent[] = [];
  for (const path of paths) {
    const reader = await openCheckpoint(createStorage(createDisk()), path);
    try {
      const stored = storedTables(reader.facts.parameters.sparse);
      for (const { shard, seq } of reader.positions) {
        const tables: ShardRows[] = [];
        for (const table of stored.keys()) tables.push(onlyOf(await listOf(reader.rowsOf(shard, table))));
        contents.push({
          ...{ shard, seq, tables, ledger: await reader.ledgerOf(shard), looks: await reader.looksOf(shard) },
          blocks: await listOf(reader.blocksOf(shard)),
        });
      }
    } finally {
      await reader.close();
    }
  }
  return contents;
}

const NO_ROWS: ShardRows = {
  ids: new BigUint64Array(),
  values: new Float32Array(),
  slots: {},
  steps: undefined,
};

function onlyOf(pieces: readonly ShardRows[]): ShardRows {
  if (pieces.length > 1) throw new Error('expected the rows of a shard in one piece');
  return pieces[0] ?? NO_ROWS;
}

async function listOf<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of all) list.push(one);
  return list;
}
