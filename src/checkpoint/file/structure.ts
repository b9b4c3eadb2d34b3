/** Checks a file beyond what reading it needs: the order of ids, the shard of each row, all dense blocks. */
import { isPaddletError } from '../../base/errors.ts';
import { blockLength, blockShards } from '../../tensor/blocks.ts';
import { createIdRouter, type IdRouter } from '../../tensor/id-router.ts';
import { storedTable, storedTables } from '../../tensor/stored-tables.ts';
import { corrupt } from './files.ts';
import { type CheckpointReader, readGone } from './reader.ts';
import { readElements } from './safetensors/reader.ts';
import { wordsOf } from './words.ts';

const PIECE_IDS = 128 * 1024;

/** Throws `CheckpointCorrupt`, naming the tensor; and the signal's reason. */
export async function checkStructure(reader: CheckpointReader, signal?: AbortSignal): Promise<void> {
  const { facts, positions } = reader;
  const router = createIdRouter({ shards: facts.shards });
  const tables = storedTables(facts.parameters.sparse);
  const ids = new BigUint64Array(PIECE_IDS);
  const here = new Int32Array(facts.shards).fill(-1);
  for (const { shard } of positions) {
    signal?.throwIfAborted();
    await reader.ledgerOf(shard);
    await reader.looksOf(shard);
    here[shard] = 0;
    for (const table of tables.keys()) await checkIds(reader, { shard, table, router, here, ids });
    for (const table of facts.parameters.sparse.keys()) await checkGone(reader, { shard, table, router, here });
    here[shard] = -1;
  }
  for (const parameter of facts.parameters.dense.keys()) await checkBlocks(reader, parameter);
}

interface IdsToCheck {
  readonly shard: number;
  readonly table: number;
  readonly router: IdRouter;
  /** 0 for `shard`, -1 for all others. */
  readonly here: Int32Array;
  /** Room for a piece. */
  readonly ids: BigUint64Array;
}

async function checkIds(reader: CheckpointReader, { shard, table, router, here, ids }: IdsToCheck): Promise<void> {
  const { facts, source } = reader;
  const { tensors, first, end } = await reader.rowRange(shard, table);
  let last: bigint | undefined;
  for (let from = first; from < end; from += ids.length) {
    const piece = ids.subarray(0, Math.min(ids.length, end - from));
    await readElements(source, tensors.ids, from, piece);
    if ((last !== undefined && piece[0]! <= last) || !isAscending(piece)) {
      throw corrupt(source.name, `${tensors.ids.name}: ids of shard ${shard} are not ascending`);
    }
    last = piece.at(-1);
    const { name } = storedTable(facts.parameters.sparse, table)!;
    expectHere(reader, { router, here, name, what: tensors.ids.name, shard }, piece);
  }
}

/** An id is a row, a candidate or gone. */
async function checkGone(
  reader: CheckpointReader,
  { shard, table, router, here }: Omit<IdsToCheck, 'ids'>,
): Promise<void> {
  const { facts, source } = reader;
  const gone = await readGone(reader, shard, table);
  if (gone.length === 0) return;
  const { name } = facts.parameters.sparse[table]!;
  const what = `gone/${name}`;
  if (!isAscending(gone)) throw corrupt(source.name, `${what}: ids of shard ${shard} are not ascending`);
  expectHere(reader, { router, here, name, what, shard }, gone);
  const left = new Set(gone);
  for (const [place, stored] of storedTables(facts.parameters.sparse).entries()) {
    if (stored.name !== name) continue;
    for await (const { ids } of reader.rowsOf(shard, place)) {
      const both = ids.find((id) => left.has(id));
      if (both !== undefined) throw corrupt(source.name, `${what}: id ${both} of shard ${shard} is there as well`);
    }
  }
}

interface Expected extends Pick<IdsToCheck, 'router' | 'here' | 'shard'> {
  /** Name of the table. */
  readonly name: string;
  /** For messages. */
  readonly what: string;
}

function expectHere({ source }: CheckpointReader, { router, here, name, what, shard }: Expected, ids: BigUint64Array) {
  const bytes = new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
  try {
    router.route(name, bytes, ids.length, here);
  } catch (error) {
    if (!isPaddletError(error, 'StalePlacement')) throw error;
    throw corrupt(source.name, `${what}: shard ${shard} holds ids of other shards`, error);
  }
}

/** Compared by halves: loops over BigInts are slow. */
export function isAscending(ids: BigUint64Array): boolean {
  const halves = wordsOf(ids);
  for (let at = 2; at < halves.length; at += 2) {
    const high = halves[at + 1]!;
    const highBefore = halves[at - 1]!;
    if (high < highBefore || (high === highBefore && halves[at]! <= halves[at - 2]!)) return false;
  }
  return true;
}

async function checkBlocks(reader: CheckpointReader, parameter: number): Promise<void> {
  const { facts, path } = reader;
  const spec = facts.parameters.dense[parameter]!;
  const homes = blockShards(spec, facts.shards);
  const wanted = Map.groupBy(homes.keys(), (block) => homes[block]!);
  for (const { shard, seq, parent } of reader.positions) {
    const places = await reader.blockPlaces(shard, parameter);
    // Where nothing has changed since the parent, there are none.
    if (places.length === 0 && parent?.seq === seq) continue;
    const found = places.map(({ block }) => block).sort((a, b) => a - b);
    if (found.join() !== (wanted.get(shard) ?? []).join()) {
      throw corrupt(
        path,
        `${spec.name}: expected blocks ${wanted.get(shard) ?? 'none'} in shard ${shard}, got ${found}`,
      );
    }
    for (const { block, length } of places) {
      if (length === blockLength(spec, block)) continue;
      throw corrupt(path, `${spec.name}: expected ${blockLength(spec, block)} floats in block ${block}, got ${length}`);
    }
  }
}
