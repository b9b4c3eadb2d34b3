/** Loads whole shards of an open file. */
import { assert } from '../../base/assert.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { LookState } from '../../core/shard/looks.ts';
import { blockShards } from '../../tensor/blocks.ts';
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { corrupt } from '../file/files.ts';
import type { FileFacts, ShardPosition } from '../file/format.ts';
import type { CheckpointReader } from '../file/reader.ts';
import { eachRowPiece } from './load-rows.ts';

export interface LoadedCheckpoint {
  readonly facts: FileFacts;
  readonly positions: readonly ShardPosition[];
  /** By shard. Equal ones may be one array. */
  readonly ledgers: ReadonlyMap<number, Uint8Array>;
  /** By shard; empty if rows have no `seen`. */
  readonly looks: ReadonlyMap<number, LookState>;
}

/** Loads all shards of an open file, or the given ones. Throws `CheckpointCorrupt`; then nothing was loaded. */
export async function loadShards(
  reader: CheckpointReader,
  { into, shards }: { readonly into: ParameterMemory; readonly shards?: readonly number[] },
): Promise<LoadedCheckpoint> {
  const wanted = new Set(shards ?? reader.positions.map(({ shard }) => shard));
  const positions = reader.positions.filter(({ shard }) => wanted.has(shard));
  if (positions.length !== wanted.size) {
    const here = new Set(positions.map(({ shard }) => shard));
    const missing = [...wanted].filter((shard) => !here.has(shard));
    throw corrupt(reader.path, `has no shard ${missing.slice(0, 20).join(', ')}`);
  }
  const partly = positions.find(({ parent }) => parent !== undefined);
  if (partly !== undefined)
    throw corrupt(reader.path, `has only what changed in shard ${partly.shard} since ${partly.parent?.uuid}`);
  const order = positions.map(({ shard }) => shard);
  const ledgers = new Map<number, Uint8Array>();
  const looks = new Map<number, LookState>();
  const added: number[] = [];
  into.prepare(Math.floor((reader.source.bytes * order.length) / Math.max(1, reader.positions.length)));
  try {
    for (const shard of order) {
      assert(!into.hasShard(shard), `a shard ${shard} of this job is loaded`);
      into.addShard(shard);
      added.push(shard);
    }
    await eachRowPiece(reader, order, ({ shard, table, rows }) =>
      asDamage(reader, shard, () => into.importRows(shard, table, rows)),
    );
    await loadBlocks(reader, order, into);
    for (const shard of order) {
      ledgers.set(shard, await reader.ledgerOf(shard));
      const state = await reader.looksOf(shard);
      if (state !== undefined) looks.set(shard, state);
    }
  } catch (error) {
    for (const shard of added) into.dropShard(shard);
    throw error;
  }
  return { facts: reader.facts, positions, ledgers, looks };
}

export async function loadBlocks(
  reader: CheckpointReader,
  shards: readonly number[],
  into: ParameterMemory,
): Promise<void> {
  const expected = blocksByShard(reader.facts);
  for (const shard of shards) {
    let found = 0;
    for await (const block of reader.blocksOf(shard)) {
      asDamage(reader, shard, () => into.importBlock(shard, block));
      found += 1;
    }
    const blocks = expected[shard]!;
    if (found !== blocks) throw corrupt(reader.path, `shard ${shard}: has ${found} of its ${blocks} dense blocks`);
  }
}

/** What parameter memory refuses is the file's fault. */
export function asDamage(reader: CheckpointReader, shard: number, put: () => void): void {
  try {
    put();
  } catch (error) {
    if (!isPaddletError(error, 'BadMessage', 'WrongShard', 'UnknownParameter')) throw error;
    throw corrupt(reader.path, `shard ${shard}: ${error.message}`, error);
  }
}

function blocksByShard({ parameters, shards }: FileFacts): Uint32Array {
  const blocks = new Uint32Array(shards);
  for (const dense of parameters.dense) for (const shard of blockShards(dense, shards)) blocks[shard]! += 1;
  return blocks;
}
