/** Loads what a delta has of shards that are in the memory as their parents have them (docs/decisions/0168). */
import type { LookState } from '../../core/shard/looks.ts';
import type { ParameterMemory } from '../../tensor/parameters.ts';
import { storedTables } from '../../tensor/stored-tables.ts';
import { corrupt } from '../file/files.ts';
import { type CheckpointReader, readGone } from '../file/reader.ts';
import { eachRowPiece } from './load-rows.ts';
import { asDamage, type LoadedCheckpoint, loadBlocks } from './load-shards.ts';

/** A shard as its parent has it. */
export interface ParentState {
  readonly uuid: string;
  readonly seq: number;
  /** Its `seen` count from there. */
  readonly base: number;
}

export interface LoadChangesOptions {
  readonly into: ParameterMemory;
  /** Those to change. After an error they are in no state that any file has. */
  readonly before: ReadonlyMap<number, ParentState>;
}

/** Throws `CheckpointCorrupt`: the file does not build on these parents, or is damaged. */
export async function loadChanges(
  reader: CheckpointReader,
  { into, before }: LoadChangesOptions,
): Promise<LoadedCheckpoint> {
  const positions = reader.positions.filter(({ shard }) => before.has(shard));
  if (positions.length !== before.size)
    throw corrupt(reader.path, `has ${positions.length} of ${before.size} shards that it was published with`);
  const [looks, ledgers] = [new Map<number, LookState>(), new Map<number, Uint8Array>()];
  for (const { shard, parent } of positions) {
    const state = before.get(shard)!;
    if (parent === undefined || parent.uuid !== state.uuid || parent.seq !== state.seq) {
      const expected = parent === undefined ? 'no file' : `update ${parent.seq} in ${parent.uuid}`;
      throw corrupt(reader.path, `shard ${shard} builds on ${expected}, got update ${state.seq} in ${state.uuid}`);
    }
    const now = await reader.looksOf(shard);
    if (now === undefined || now.base < state.base)
      throw corrupt(reader.path, `shard ${shard}: its seen count from ${now?.base}, those before from ${state.base}`);
    if (now.base > state.base) into.lowerSeen(shard, now.base - state.base);
    looks.set(shard, now);
    ledgers.set(shard, await reader.ledgerOf(shard));
  }
  await changeRows(reader, [...looks.keys()], into);
  const changed = positions.filter(({ seq, parent }) => seq !== parent!.seq).map(({ shard }) => shard);
  await loadBlocks(reader, changed, into);
  return { facts: reader.facts, positions, ledgers, looks };
}

/** An id is row, candidate or gone. What the file has of an id replaces what it was. */
async function changeRows(reader: CheckpointReader, shards: readonly number[], into: ParameterMemory): Promise<void> {
  const { sparse } = reader.facts.parameters;
  for (const shard of shards) {
    for (const table of sparse.keys()) {
      const gone = await readGone(reader, shard, table);
      if (gone.length > 0) asDamage(reader, shard, () => void into.removeIds(shard, table, gone));
    }
  }
  const tableOf = storedTables(sparse).map(({ name }) => sparse.findIndex((table) => table.name === name));
  await eachRowPiece(reader, shards, ({ shard, table, rows }) =>
    asDamage(reader, shard, () => {
      into.removeIds(shard, tableOf[table]!, rows.ids);
      into.importRows(shard, table, rows);
    }),
  );
}
