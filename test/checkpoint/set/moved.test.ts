/** Commands and the stored model find the newest copy of each shard, whichever pserver has published it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { loadFirstUsable, loadGeneration } from '../../../src/checkpoint/load/load.ts';
import { loadWarmStart } from '../../../src/checkpoint/load/warm-load.ts';
import { planWarmStart } from '../../../src/checkpoint/load/warm-plan.ts';
import { filesOfEntries, findFiles, newestOfEntries } from '../../../src/checkpoint/registry/discover.ts';
import type { FileRef } from '../../../src/checkpoint/registry/file-ref.ts';
import { encodeKept } from '../../../src/checkpoint/registry/kept-key.ts';
import { listGenerations } from '../../../src/checkpoint/registry/listing.ts';
import { newestFirst } from '../../../src/checkpoint/registry/newest.ts';
import { readQuietJob } from '../../../src/checkpoint/registry/quiet-job.ts';
import { removeFormer } from '../../../src/checkpoint/registry/remove-former.ts';
import { restoreFiles } from '../../../src/checkpoint/restore/restore.ts';
import { chooseVariables, withCheckpointAt } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { verifyCheckpoint } from '../../../src/checkpoint/set/verify.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { put } from '../../store/support.ts';
import { FOLDER, withSet } from '../cluster-fixture.ts';
import { allShards, contentOf, createFiles, emptyParameters, uuidOf } from '../fixture.ts';
import { JOB, keys, MovedCluster, STAGES } from '../moved-cluster.ts';

let disk: StoredFiles;
let cluster: MovedCluster;

beforeEach(() => {
  disk = createFiles();
  cluster = new MovedCluster(disk.storage);
});

const content = () => contentOf(cluster.newest(), JOB);
const refs = async (which: 'newest' | 'all') =>
  which === 'all'
    ? filesOfEntries(FOLDER, await cluster.published())
    : newestOfEntries(FOLDER, await cluster.published(), await cluster.partings());

let restores = 0;

/** What these files have, once they are distributed to so many pservers. */
async function restored(files: readonly FileRef[], pservers: number): Promise<unknown> {
  const folder = `/to/${restores++}`;
  const into = emptyParameters(JOB);
  await withSet(disk.storage, files, async (set) => {
    const random = { uuid: () => uuidOf(0x1000 + restores++) };
    const variables = chooseVariables(set.facts.parameters, []);
    const options = {
      storage: disk.storage,
      random,
      clock: { wallSeconds: () => 1 },
      set,
      variables,
      token: 77n,
      pservers,
      folder,
    };
    for (const [index, generation] of (await restoreFiles(options)).generations.entries()) {
      const loaded = await loadGeneration(generation, {
        storage: disk.storage,
        place: { folder, index },
        expected: JOB,
        into,
      });
      for (const [shard, ledger] of loaded.ledgers) {
        expect(Buffer.from(ledger).toString()).toBe(`save ${cluster.saltOf.get(shard)}`);
      }
    }
  });
  return contentOf(into, JOB);
}

describe.each(Object.keys(STAGES))('%s', (stage) => {
  beforeEach(() => STAGES[stage]!(cluster));

  it('restores the newest copy of each shard, of what is published and of what is in the folder', async () => {
    expect(await restored(await refs('newest'), 3)).toEqual(content());
    expect(await restored(await refs('all'), 1)).toEqual(content());
    expect(await restored((await findFiles(disk.storage, FOLDER)).files, 2)).toEqual(content());
  });

  it('names no file as one of the newest that has no newest copy', async () => {
    await withSet(disk.storage, await refs('newest'), async (set) => {
      expect(set.missing).toEqual([]);
      expect(set.parts.map(({ path }) => path)).toEqual((await refs('newest')).map(({ path }) => path));
    });
  });

  it('verifies, and says which shards are missing without one of the newest files', async () => {
    const files = await refs('all');
    const newest = await refs('newest');
    const verify = (some: readonly FileRef[]) =>
      verifyCheckpoint({ storage: disk.storage, files, newest: new Set(some.map(({ path }) => path)) });
    expect(await verify(newest)).toMatchObject({ ok: true, missing: [] });
    const [first, ...others] = newest;
    const missing = allShards(JOB).filter((shard) => uuidOf(cluster.saltOf.get(shard)!) === first!.uuid);
    expect(await verify(others)).toMatchObject({ ok: false, missing });
    await expect(restored(others, 1)).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });

  it('is loaded from the stored files, by the job itself and by another one that begins with it', async () => {
    const into = emptyParameters(JOB);
    const filesOf = newestFirst(await cluster.files(), allShards(JOB));
    const outcome = await loadFirstUsable(filesOf, { storage: disk.storage, folder: FOLDER, expected: JOB, into });
    expect(outcome).toMatchObject({ lost: [], complaints: [] });
    expect(contentOf(into, JOB)).toEqual(content());

    const wish = { from: FOLDER, vars: ['*'], optimizerState: true, missing: 'fail' as const };
    const plan = await withCheckpointAt(disk.storage, FOLDER, (set) =>
      planWarmStart(set, { wish, spec: JOB.parameters }),
    );
    const warm = emptyParameters(JOB);
    for (const shard of allShards(JOB)) warm.addShard(shard);
    const shared = {
      storage: disk.storage,
      plan,
      spec: JOB.parameters,
      shardCount: JOB.shards,
      shards: allShards(JOB),
    };
    await loadWarmStart({ ...shared, into: warm });
    expect(contentOf(warm, JOB)).toEqual(content());
  });

  it('lists every file that is published, newest first of each pserver', async () => {
    const published = await cluster.published();
    const listed = await listGenerations({ storage: disk.storage, files: await refs('all'), published });
    expect(listed.map(({ uuid }) => uuid)).toEqual((await refs('all')).map(({ uuid }) => uuid));
    expect(new Set(listed.map(({ state }) => state))).toEqual(new Set(['running']));
  });
});

it('falls back to an older copy of only those shards whose newest file is damaged', async () => {
  await STAGES['3 → 1, of which one has left nothing newer, and only the first has saved']!(cluster);
  const [newest] = await refs('newest');
  disk.flip(newest!.path, disk.content(newest!.path)!.length - 100);
  const into = emptyParameters(JOB);
  const filesOf = newestFirst(await cluster.files(), allShards(JOB));
  const outcome = await loadFirstUsable(filesOf, { storage: disk.storage, folder: FOLDER, expected: JOB, into });
  expect(outcome.complaints.map(({ code }) => code)).toEqual(['CheckpointCorrupt']);
  expect(outcome.lost).toEqual([]);
  expect(outcome.parts.map(({ file }) => file.generation.uuid)).not.toContain(newest!.uuid);
});

it('is, in sync mode, the newest round of which every shard is saved, though one pserver saved twice', async () => {
  cluster.place(2);
  for (const index of [0, 1]) await cluster.save(index, { round: 10 });
  cluster.place(4);
  for (const index of [0, 1, 2, 3]) await cluster.save(index, { round: 20 });
  cluster.place(3);
  await cluster.save(0, { round: 20 });
  const before = content();
  const expected = await restored(await refs('newest'), 2);
  expect(expected).toEqual(before);
  // Two of three have saved the next one.
  const salts = new Map(cluster.saltOf);
  for (const index of [1, 2]) await cluster.save(index, { round: 30 });
  for (const [shard, salt] of salts) cluster.saltOf.set(shard, salt);
  expect(await restored(await refs('newest'), 2)).toEqual(before);
});

it('is in the parting snapshot of an owner that lost its index, until another has saved the shards', async () => {
  await STAGES['2 pservers']!(cluster);
  await cluster.part(1);
  expect(await restored(await refs('newest'), 3)).toEqual(content());
  const [parting] = await cluster.partings();
  expect((await refs('newest')).map(({ uuid }) => uuid)).toContain(parting!.generation.uuid);
  cluster.place(1);
  await cluster.save(0);
  expect((await refs('newest')).map(({ index }) => index)).toEqual([0]);
  expect(await restored(await refs('newest'), 2)).toEqual(content());
});

it('leaves nothing once it was restored, in the folder of any pserver', async () => {
  await STAGES['2 → 4, and the last one has not saved yet']!(cluster);
  await cluster.part(1);
  const { store, clock } = cluster;
  for (const index of [0, 1, 2, 3]) await store.txn({ if: [], then: [{ delete: keys.ps(index) }] });
  for (const key of [keys.job, keys.psDesired]) await put(store, key, '4');
  const quiet = await readQuietJob({ store, keys, clock }, 0);
  disk.place(`${FOLDER}/2/new`, new Uint8Array(1));
  expect(await removeFormer({ storage: disk.storage, folder: FOLDER, keys, quiet })).toEqual([]);
  expect(disk.names(FOLDER)).toEqual(['2']);
  expect(disk.names(`${FOLDER}/2`)).toEqual(['new']);
});

it('leaves the files of a model that is kept when it was restored', async () => {
  await STAGES['2 pservers']!(cluster);
  const { store, clock } = cluster;
  const [kept] = (await cluster.files()).map(({ index, generation: { uuid } }) => ({ index, uuid }));
  for (const index of [0, 1]) await store.txn({ if: [], then: [{ delete: keys.ps(index) }] });
  for (const key of [keys.job, keys.psDesired]) await put(store, key, '2');
  await put(store, keys.kept, encodeKept({ models: [{ name: 'pass-1', files: [kept!] }], released: [] }));
  const quiet = await readQuietJob({ store, keys, clock }, 0);
  expect(await removeFormer({ storage: disk.storage, folder: FOLDER, keys, quiet })).toEqual([]);
  expect(disk.names(FOLDER)).toEqual([String(kept!.index)]);
  expect(disk.names(`${FOLDER}/${kept!.index}`)).toEqual([kept!.uuid]);
});
