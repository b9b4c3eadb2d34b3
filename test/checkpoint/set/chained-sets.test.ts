/**
 * A base and the deltas on it, read as one checkpoint: merged, counted, digested, loaded and restored into another
 * number of pservers, they are what a loader makes of them.
 */
import { expect, it } from 'vitest';
import { checkpointPath } from '../../../src/checkpoint/file/paths.ts';
import { createRowBuffers } from '../../../src/checkpoint/file/row-pieces.ts';
import { loadGeneration } from '../../../src/checkpoint/load/load.ts';
import { loadSet } from '../../../src/checkpoint/load/load-set.ts';
import { restoreFiles } from '../../../src/checkpoint/restore/restore.ts';
import type { CheckpointSet } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { denseContent, tableContent } from '../../../src/checkpoint/set/content.ts';
import { digestSet } from '../../../src/checkpoint/set/inspect.ts';
import { mergeRows } from '../../../src/checkpoint/set/merge.ts';
import { countRows, piecesOf } from '../../../src/checkpoint/set/shard-rows.ts';
import type { ParameterMemory, ShardRows, Parameters as WholeMemory } from '../../../src/tensor/parameters.ts';
import { storedTables } from '../../../src/tensor/stored-tables.ts';
import * as fc from '../../properties.ts';
import { ALL, EXPECTED, type Look, runScene } from '../../roles/pserver/files/delta-scene.ts';
import { createDice } from '../../sim/dice.ts';
import { withSet } from '../cluster-fixture.ts';
import { contentOf, emptyParameters, PLACE, save, uuidOf } from '../fixture.ts';

const STORED = storedTables(EXPECTED.parameters.sparse);

/** What was tried. */
const counts = { chains: 0, removed: 0, replaced: 0, lowered: 0, blocksElsewhere: 0, batches: 0 };

/** Rows in one piece. */
function joined(pieces: readonly ShardRows[]): Pick<ShardRows, 'ids' | 'values' | 'steps' | 'seen' | 'slots'> {
  const floats = (of: (rows: ShardRows) => Float32Array): Float32Array =>
    Float32Array.from(pieces.flatMap((piece) => [...of(piece)]));
  const [first] = pieces;
  return {
    ids: BigUint64Array.from(pieces.flatMap(({ ids }) => [...ids])),
    values: floats(({ values }) => values),
    slots: Object.fromEntries(
      Object.keys(first?.slots ?? {}).map((slot) => [slot, floats(({ slots }) => slots[slot]!)]),
    ),
    steps: first?.steps && Uint32Array.from(pieces.flatMap(({ steps }) => [...steps!])),
    ...(first?.seen && { seen: Uint32Array.from(pieces.flatMap(({ seen }) => [...seen!])) }),
  };
}

async function checkRows({ shards }: CheckpointSet, loaded: ParameterMemory, batchBytes: number): Promise<void> {
  for (const [table, { width, layout }] of STORED.entries()) {
    const buffers = createRowBuffers(width, layout, batchBytes);
    for (const source of shards) {
      const pieces: ShardRows[] = [];
      for await (const piece of piecesOf(source, table, buffers)) pieces.push(structuredClone(piece));
      const expected = loaded.exportRows(source.shard, table);
      expect(await countRows(source, table)).toBe(expected.ids.length);
      if (expected.ids.length === 0) expect(pieces).toEqual([]);
      else expect(joined(pieces)).toEqual(expected);
      counts.batches += Math.max(0, pieces.length - 1);
    }
    const merged: ShardRows[] = [];
    for await (const piece of mergeRows({ shards, table, width, state: layout, batchBytes }))
      merged.push(structuredClone(piece));
    const ids = ALL.flatMap((shard) => [...loaded.exportRows(shard, table).ids]).sort((a, b) => (a < b ? -1 : 1));
    expect(merged.flatMap((piece) => [...piece.ids])).toEqual(ids);
  }
}

/** The same shards in a whole file. */
async function checkDigests(set: CheckpointSet, { scene, loaded }: Published): Promise<void> {
  const moments = new Map(set.shards.map((source) => [source.shard, source]));
  const looks = new Map(
    await Promise.all(set.shards.map(async ({ reader, shard }) => [shard, await reader.looksOf(shard)] as const)),
  );
  const whole = await save({
    ...{ disk: scene.files, parameters: loaded as WholeMemory, job: EXPECTED, meta: { uuid: uuidOf(0x9000) } },
    moment: (shard) => {
      const { epoch, seq } = moments.get(shard)!;
      return { shard, epoch, seq, ledger: new Uint8Array(0), looks: looks.get(shard)! };
    },
  });
  const path = checkpointPath(PLACE, whole.uuid);
  await withSet(scene.files.storage, [{ path }], async (other) => {
    expect(await digestSet(set)).toEqual(await digestSet(other));
    for (const table of STORED.keys()) expect(await tableContent(set, table)).toEqual(await tableContent(other, table));
    for (const parameter of EXPECTED.parameters.dense.keys())
      expect(await denseContent(set, parameter)).toEqual(await denseContent(other, parameter));
  });
  await scene.files.storage.delete(path);
}

async function checkRestored(set: CheckpointSet, { scene, loaded }: Published): Promise<void> {
  const { storage } = scene.files;
  const variables = { dense: [0], sparse: [...EXPECTED.parameters.sparse.keys()] };
  let name = 0x9100;
  const random = { uuid: () => uuidOf(name++) };
  const folder = '/restored';
  const target = { folder, pservers: 2, token: 9n, random, clock: { wallSeconds: () => 9 } };
  const { generations, paths } = await restoreFiles({ storage, set, variables, ...target });
  const into = emptyParameters(EXPECTED);
  for (const [index, generation] of generations.entries()) {
    expect(generation.kind).toBe('full');
    const { positions, looks, ledgers } = await loadGeneration(generation, {
      ...{ storage, place: { folder, index }, expected: EXPECTED, into },
    });
    for (const { shard, seq } of positions) {
      const { reader, seq: before } = set.shards.find((one) => one.shard === shard)!;
      expect(seq).toBe(before);
      expect(looks.get(shard)).toEqual(await reader.looksOf(shard));
      expect(Buffer.compare(ledgers.get(shard)!, await reader.ledgerOf(shard))).toBe(0);
    }
  }
  expect(contentOf(into, EXPECTED)).toEqual(contentOf(loaded, EXPECTED));
  for (const path of paths) await storage.delete(path);
}

type Published = Parameters<Look>[0];

async function tally({ shards }: CheckpointSet): Promise<void> {
  for (const { shard, reader, links, blocksIn } of shards) {
    if (links.length === 1) continue;
    counts.chains += 1;
    if (blocksIn !== reader) counts.blocksElsewhere += 1;
    const [newest, oldest] = [await reader.looksOf(shard), await links.at(-1)!.looksOf(shard)];
    if (newest!.base > oldest!.base) counts.lowered += 1;
    for (const link of links.slice(0, -1)) {
      const gone = await link.goneRange(shard, 1);
      if (gone.end > gone.first) counts.removed += 1;
      if ((await link.rowCount(shard, 1)) > 0) counts.replaced += 1;
    }
  }
}

it.each(['async', 'sync'] as const)('a chain of files is read as one checkpoint, in %s mode', async (mode) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(2 ** 31), async (seed) => {
      const dice = createDice(seed, 'sets');
      await runScene(seed, mode, async (published) => {
        const { scene, uuid, loaded } = published;
        const path = checkpointPath(PLACE, uuid);
        await withSet(scene.files.storage, [{ path }], async (set) => {
          await tally(set);
          await checkRows(set, loaded, dice.pick([1, 60, 300, 10_000]));
          if (dice.chance(0.2)) {
            await checkDigests(set, published);
            await checkRestored(set, published);
            expect(contentOf(await loadSet(set), EXPECTED)).toEqual(contentOf(loaded, EXPECTED));
          }
        });
      });
    }),
    { numRuns: 8 },
  );
  for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(0);
});
