/** `seen`, candidates and looks (docs/decisions/0168) through files: written, loaded, distributed again, compared. */
import { expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/checkpoint/file/reader.ts';
import { loadGeneration } from '../../../src/checkpoint/load/load.ts';
import { writeResharded } from '../../../src/checkpoint/restore/reshard.ts';
import { chooseVariables, openCheckpointSet } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { digestSet, inspectCheckpoint } from '../../../src/checkpoint/set/inspect.ts';
import { shardDigest } from '../../../src/checkpoint/set/shard-digest.ts';
import { verifyCheckpoint } from '../../../src/checkpoint/set/verify.ts';
import type { LookState } from '../../../src/core/shard/looks.ts';
import { applyAll, rowsPart } from '../../tensor/fixture.ts';
import {
  allShards,
  contentOf,
  createFiles,
  emptyParameters,
  jobOf,
  metaOf,
  momentOf,
  PLACE,
  save,
  uuidOf,
} from '../fixture.ts';

const plain = jobOf({ optimizer: { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, l2: 0 } });
const rules = { hasSeen: true, admission: { type: 'count' as const, min: 2 } };
const JOB = {
  ...plain,
  parameters: { dense: [], sparse: plain.parameters.sparse.map((one) => ({ ...one, ...rules })) },
};
const FILE = { path: `${PLACE.folder}/${PLACE.index}/${uuidOf(1)}`, index: PLACE.index, uuid: uuidOf(1) };

const looksOf = (shard: number): LookState => ({
  ...{ base: 10 * shard, moveAt: shard === 2 ? 99 : undefined, lookAt: [shard === 1 ? 50 : undefined, 60 + shard] },
  begins: Array.from({ length: shard }, (_, pass) => [pass + 3, 7 * pass + shard]),
});
const moment = (shard: number) => ({ ...momentOf()(shard), looks: looksOf(shard) });

/** Half of the ids have a row, the others are candidates. */
function filled() {
  const parameters = emptyParameters(JOB);
  for (const shard of allShards(JOB)) parameters.addShard(shard);
  const ids = Array.from({ length: 400 }, (_, id) => BigInt(977 * id));
  for (const [seq, some] of [ids, ids.slice(0, 200), ids.slice(100, 150)].entries()) {
    const parts = JOB.parameters.sparse.map(({ width }, table) =>
      rowsPart(table, some, new Float32Array(some.length * width).fill(seq + table)),
    );
    const seen = new Uint32Array(JOB.shards).fill(seq + 1);
    parameters.push(parts, [], applyAll(JOB.shards), { seen, name: { round: seq } });
  }
  return parameters;
}

async function saved(extentBytes = 3000) {
  const disk = createFiles();
  const parameters = filled();
  const generation = await save({ disk, parameters, job: JOB, moment, extentBytes });
  return { disk, parameters, generation };
}

it.each([3000, 1_000_000])('are loaded as they were written, in extents of %i bytes', async (extentBytes) => {
  const { disk, parameters, generation } = await saved(extentBytes);
  const into = emptyParameters(JOB);
  const loaded = await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: JOB, into });
  expect(contentOf(into, JOB)).toEqual(contentOf(parameters, JOB));
  expect([...loaded.looks].sort(([a], [b]) => a - b)).toEqual(allShards(JOB).map((shard) => [shard, looksOf(shard)]));
  expect(loaded.facts.rows).toBe(400);
  await verifyCheckpoint({ storage: disk.storage, files: [FILE] });
});

it('stay with their shards when a checkpoint is distributed to other pservers, and the digests stay', async () => {
  const { disk, parameters } = await saved();
  const set = await openCheckpointSet(disk.storage, [FILE]);
  const into = emptyParameters(JOB);
  const looks = new Map<number, LookState>();
  const files = [0, 1].map((index) => ({ path: `/new/${index}/${uuidOf(7)}`, index, uuid: uuidOf(7) }));
  for (const { path, index } of files) {
    const meta = metaOf(JOB, { uuid: uuidOf(7), index });
    const shards = set.shards.filter(({ shard }) => shard % 2 === index);
    await disk.storage.put(path, {
      spool: `${path}.part`,
      write: (file) =>
        writeResharded({ file, meta, shards, variables: { dense: [], sparse: [0, 1] }, extentBytes: 2000 }),
    });
    const reader = await openCheckpoint(disk.storage, path);
    for (const { shard } of reader.positions) {
      into.addShard(shard);
      for (let table = 0; table < 4; table++)
        for await (const rows of reader.rowsOf(shard, table)) into.importRows(shard, table, rows);
      looks.set(shard, (await reader.looksOf(shard))!);
    }
    await reader.close();
  }
  expect(contentOf(into, JOB)).toEqual(contentOf(parameters, JOB));
  for (const shard of allShards(JOB)) expect(looks.get(shard)).toEqual(looksOf(shard));
  const now = await openCheckpointSet(disk.storage, files);
  expect(await digestSet(now)).toEqual(await digestSet(set));
});

it('of tables that are left out are left out', async () => {
  const { disk } = await saved();
  const set = await openCheckpointSet(disk.storage, [FILE]);
  const path = `/new/${uuidOf(8)}`;
  const parameters = { dense: [], sparse: JOB.parameters.sparse.slice(1) };
  const meta = metaOf({ ...JOB, parameters }, { uuid: uuidOf(8) });
  await disk.storage.put(path, {
    spool: `${path}.part`,
    write: (file) => writeResharded({ file, meta, shards: set.shards, variables: { dense: [], sparse: [1] } }),
  });
  const reader = await openCheckpoint(disk.storage, path);
  for (const shard of allShards(JOB))
    expect(await reader.looksOf(shard)).toEqual({ ...looksOf(shard), lookAt: looksOf(shard).lookAt.slice(1) });
  for await (const rows of reader.rowsOf(3, 1))
    for await (const before of set.shards[3]!.reader.rowsOf(3, 3)) expect(rows).toEqual(before);
  await reader.close();
});

it('a file whose rows have a `seen` is refused without looks', async () => {
  const disk = createFiles();
  await save({ disk, parameters: filled(), job: JOB });
  await expect(openCheckpoint(disk.storage, FILE.path)).rejects.toMatchObject({
    code: 'CheckpointCorrupt',
    message: expect.stringContaining('paddlet/looks.0'),
  });
});

it('change the digest of the state, not that of the model', async () => {
  const { disk } = await saved();
  const before = await digestSet(await openCheckpointSet(disk.storage, [FILE]));
  const other = createFiles();
  const parameters = filled();
  // Takes out the candidates of one shard.
  const { ids } = parameters.exportRows(3, 2);
  expect(parameters.removeIds(3, 0, ids)).toBeGreaterThan(0);
  await save({ disk: other, parameters, job: JOB, moment });
  const after = await digestSet(await openCheckpointSet(other.storage, [FILE]));
  expect(after.modelDigest).toBe(before.modelDigest);
  expect(after.stateDigest).not.toBe(before.stateDigest);
});

it('are counted by an inspection', async () => {
  const { disk } = await saved();
  const set = await openCheckpointSet(disk.storage, [FILE]);
  const { tables } = await inspectCheckpoint(set, { variables: chooseVariables(JOB.parameters, []), digests: false });
  // Half of the ids of each table are candidates.
  expect(tables.map(({ rows, candidates }) => ({ rows, candidates }))).toEqual(
    JOB.parameters.sparse.map(() => ({ rows: 200, candidates: { count: 200, bytes: 3_200 } })),
  );
});

it('that are damaged are named', async () => {
  const disk = createFiles();
  const broken = (shard: number) => ({
    ...moment(shard),
    looks: {
      ...looksOf(shard),
      begins: [
        [5, 1],
        [5, 2],
      ] as const,
    },
  });
  await save({ disk, parameters: filled(), job: JOB, moment: broken });
  const reader = await openCheckpoint(disk.storage, FILE.path);
  await expect(reader.looksOf(1)).rejects.toThrow(/paddlet\/looks\.0: row 0 does not say when a shard looks/);
});

it('and looks are in the digest by which copies of a shard are compared', () => {
  const parameters = filled();
  const ledger = new Uint8Array(3);
  const digest = (looks: LookState | undefined): string =>
    shardDigest(parameters, JOB.parameters, 3, { ledger, looks });
  const before = digest(looksOf(3));
  expect(digest({ ...looksOf(3), moveAt: 5 })).not.toBe(before);
  expect(digest({ ...looksOf(3), begins: [] })).not.toBe(before);
  const [candidate] = parameters.exportRows(3, 2).ids;
  parameters.removeIds(3, 0, BigUint64Array.of(candidate!));
  expect(digest(looksOf(3))).not.toBe(before);
});
