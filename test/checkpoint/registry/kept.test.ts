/** Models that are kept under a name stay, whatever becomes of the pservers' files, and go when they are removed. */
import { beforeEach, describe, expect, it } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { jobTag } from '../../../src/checkpoint/file/paths.ts';
import { findFiles } from '../../../src/checkpoint/registry/discover.ts';
import {
  deleteReleased,
  type KeptPlace,
  keepModelFiles,
  keptNames,
  removeKept,
  removeManifests,
} from '../../../src/checkpoint/registry/kept.ts';
import { type KeptFile, parseKept } from '../../../src/checkpoint/registry/kept-key.ts';
import { manifestPath } from '../../../src/checkpoint/registry/manifest.ts';
import { verifyCheckpoint } from '../../../src/checkpoint/set/verify.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { put, RecordingLog } from '../../store/support.ts';
import { FOLDER } from '../cluster-fixture.ts';
import { createFiles } from '../fixture.ts';
import { JOB, keys, MovedCluster, STAGES } from '../moved-cluster.ts';

const LOCK = { key: keys.masterLock, token: 0n };
const NAMES = { id: JOB.jobId, name: 'small' };

let disk: StoredFiles;
let cluster: MovedCluster;
let place: KeptPlace;

beforeEach(async () => {
  disk = createFiles();
  cluster = new MovedCluster(disk.storage);
  await put(cluster.store, LOCK.key, 'master');
  const { createRevision } = (await cluster.store.get(LOCK.key))!;
  let names = 0;
  place = {
    ...{ storage: disk.storage, random: { uuid: () => `spool-${names++}` }, folder: FOLDER, job: NAMES },
    ...{ log: new RecordingLog(), store: cluster.store, keys, fence: { ...LOCK, token: createRevision } },
  };
});

/** What the pservers have published last. */
const newest = async (): Promise<KeptFile[]> => {
  const files = new Map((await cluster.files()).reverse().map(({ index, generation }) => [index, generation.uuid]));
  return [...files].map(([index, uuid]) => ({ index, uuid })).sort((a, b) => a.index - b.index);
};
const saveAll = async (times = 1): Promise<void> => {
  for (let time = 0; time < times; time++) for (const index of [0, 1]) await cluster.save(index);
};
const pathOf = ({ index, uuid }: KeptFile): string => `${FOLDER}/${index}/${uuid}`;
const areThere = async (files: readonly KeptFile[]): Promise<boolean[]> =>
  Promise.all(files.map((file) => disk.exists(pathOf(file))));
/** What a reader finds that knows the manifest alone. */
async function verified(name: string) {
  const { files } = await findFiles(disk.storage, manifestPath(place, name));
  const { ok, missing } = await verifyCheckpoint({ storage: disk.storage, files });
  return { ok, missing, files: files.map(({ index, uuid }) => ({ index, uuid })) };
}

beforeEach(() => STAGES['2 pservers']!(cluster));

describe('a model that is kept', () => {
  it('is a manifest, which tells readers its files and what was published of them', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    const path = `${FOLDER}/kept/small.${jobTag(JOB.jobId)}/pass-1.json`;
    expect(manifestPath(place, 'pass-1')).toBe(path);
    const manifest = JSON.parse(new TextDecoder().decode(disk.content(path)));
    expect(manifest).toMatchObject({ format: 'paddlet-kept-model', version: 1, jobName: 'small', name: 'pass-1' });
    expect(manifest.files[1]).toMatchObject({ path: `../../1/${files[1]!.uuid}`, index: 1 });
    expect(manifest.files[1].published.md5).toMatch(/^[0-9a-f]{32}$/);
    expect(await verified('pass-1')).toEqual({ ok: true, missing: [], files });
  });

  it('is named by index and name alone, whatever else is known of its files', async () => {
    const files = await newest();
    await keepModelFiles(
      place,
      'round-1',
      files.map((file) => ({ ...file, md5: '0'.repeat(32), bytes: 7 })),
    );
    expect(parseKept(keys.kept, await cluster.store.get(keys.kept)).models).toEqual([{ name: 'round-1', files }]);
  });

  it('stays whatever the pservers save, and they drop its files from their entries as any other', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    await saveAll(3);
    expect(await verified('pass-1')).toMatchObject({ ok: true, files });
    const named = (await cluster.files()).map(({ generation }) => generation.uuid);
    for (const { uuid } of files) expect(named).not.toContain(uuid);
    expect(named).toHaveLength(4);
  });

  it('is not dropped by a pserver that had read what is kept before it was', async () => {
    const files = await newest();
    await saveAll();
    const { txn } = cluster.store;
    cluster.store.txn = async (request) => {
      const isPublish = request.then.some((op) => 'put' in op && op.put === keys.checkpoint(0));
      if (!isPublish) return txn(request);
      cluster.store.txn = txn;
      await keepModelFiles(place, 'pass-1', files);
      return txn(request);
    };
    await cluster.save(0);
    expect(await verified('pass-1')).toMatchObject({ ok: true });
  });

  it('replaces what had the name', async () => {
    const former = await newest();
    await keepModelFiles(place, 'pass-1', former);
    await saveAll(2);
    await keepModelFiles(place, 'pass-1', await newest());
    expect(await verified('pass-1')).toMatchObject({ ok: true, files: await newest() });
    expect(await areThere(former)).toEqual([false, false]);
    expect(await keptNames(place)).toEqual(['pass-1']);
  });

  it('cannot be made of files that newer ones have replaced, and then none is kept', async () => {
    const files = await newest();
    await saveAll(2);
    await expect(keepModelFiles(place, 'pass-1', files)).rejects.toMatchObject({
      code: 'CheckpointMissing',
      message: expect.stringContaining('a newer file has replaced it'),
    });
    expect(await keptNames(place)).toEqual([]);
  });

  it('cannot be made of the files of a pserver that leaves', async () => {
    const key = keys.checkpoint(1);
    const { value } = (await cluster.store.get(key))!;
    await put(cluster.store, key, JSON.stringify({ ...JSON.parse(value), leaving: true }));
    await expect(keepModelFiles(place, 'pass-1', await newest())).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });

  it('cannot be made where the folder of the pservers is not seen', async () => {
    const elsewhere = { ...place, storage: createFiles().storage };
    await expect(keepModelFiles(elsewhere, 'pass-1', await newest())).rejects.toMatchObject({
      code: 'CheckpointMissing',
      hint: expect.stringContaining('set checkpoint.dir to a shared folder'),
    });
  });

  it('is made again by a master that takes over in the middle', async () => {
    disk.failNext('create', 'EIO');
    await expect(keepModelFiles(place, 'pass-1', await newest())).rejects.toMatchObject({ code: 'EIO' });
    expect(await keptNames(place)).toEqual([]);
    await keepModelFiles(place, 'pass-1', await newest());
    expect(await verified('pass-1')).toMatchObject({ ok: true });
  });

  it('is not changed by a master that has lost its lock', async () => {
    await put(cluster.store, LOCK.key, 'another');
    await cluster.store.txn({ if: [], then: [{ delete: LOCK.key }] });
    await put(cluster.store, LOCK.key, 'another');
    const failed = await keepModelFiles(place, 'pass-1', await newest()).catch((error: unknown) => error);
    expect(isPaddletError(failed, 'LeaseGone')).toBe(true);
  });
});

/** Deletes so many files, then fails. */
function failAfter(most: number): KeptPlace['storage']['delete'] {
  let deleted = 0;
  return async (path) => {
    if (deleted++ >= most) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    await place.storage.delete(path);
  };
}

describe('removal', () => {
  it('deletes the files that nothing else names, and leaves the others', async () => {
    const [old, last] = [await newest(), [] as KeptFile[]];
    await keepModelFiles(place, 'pass-1', old);
    await keepModelFiles(place, 'pass-2', old.slice(1));
    await saveAll(2);
    last.push(...(await newest()));
    await keepModelFiles(place, 'pass-3', last);
    await removeKept(place, 'pass-1');
    expect(await areThere(old)).toEqual([false, true]);
    await removeKept(place, 'pass-3');
    expect(await areThere(last)).toEqual([true, true]);
    expect(await keptNames(place)).toEqual(['pass-2']);
    expect(await disk.exists(manifestPath(place, 'pass-1'))).toBe(false);
    await removeKept(place, 'pass-2');
    expect(await areThere(old)).toEqual([false, false]);
    // Of the pservers, as they are published.
    expect((await cluster.files()).length).toBe(4);
  });

  it('goes on where it failed, or where a master died', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    await saveAll(3);
    // The manifest is removed, then the files.
    disk.failNext('remove', 'EIO');
    await expect(removeKept(place, 'pass-1')).rejects.toMatchObject({ code: 'EIO' });
    disk.failNext('list', 'EIO');
    const failing = { ...place, storage: { ...place.storage, delete: failAfter(2) } };
    await expect(removeKept(failing, 'pass-1')).rejects.toMatchObject({ code: 'EIO' });
    expect(await keptNames(place)).toEqual([]);
    expect(await areThere(files)).toEqual([false, true]);
    // They are protected until they are gone.
    await saveAll();
    expect(await areThere(files)).toEqual([false, true]);
    await deleteReleased(place);
    expect(await areThere(files)).toEqual([false, false]);
    expect(parseKept(keys.kept, await cluster.store.get(keys.kept))).toMatchObject({ models: [], released: [] });
  });

  it('deletes a file that its pserver drops while the release is cleared', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    await saveAll();
    const { txn } = cluster.store;
    let writes = 0;
    cluster.store.txn = async (request) => {
      const isKept = request.then.some((op) => 'put' in op && op.put === keys.kept);
      // The first write releases the files, the second clears the release.
      if (isKept && ++writes === 2) {
        cluster.store.txn = txn;
        await saveAll();
      }
      return txn(request);
    };
    await removeKept(place, 'pass-1');
    expect(writes).toBe(2);
    expect(await areThere(files)).toEqual([false, false]);
  });

  it('deletes nothing while an entry cannot be read, and says so', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    await put(cluster.store, keys.checkpoint(1), 'no entry');
    await removeKept(place, 'pass-1');
    expect(await areThere(files)).toEqual([true, true]);
    expect((place.log as RecordingLog).messages.join()).toContain('stay for now');
  });

  it('of all manifests is no error where there is none', async () => {
    await removeManifests(place);
    await keepModelFiles(place, 'pass-1', await newest());
    await removeManifests(place);
    expect(disk.names(`${FOLDER}/kept`)).toEqual([]);
  });
});

describe('the folder as a whole', () => {
  it('is read without the files of kept models, unless a pserver has no others', async () => {
    const old = await newest();
    await keepModelFiles(place, 'pass-1', old);
    const uuids = async () => {
      const { files, kept } = await findFiles(disk.storage, FOLDER);
      return { files: files.map(({ uuid }) => uuid), kept: kept!.map(({ uuid }) => uuid) };
    };
    expect(await uuids()).toEqual({ files: old.map(({ uuid }) => uuid), kept: [] });
    await saveAll(2);
    const published = (await cluster.files()).map(({ generation }) => generation.uuid).sort();
    const found = await uuids();
    expect(found.files.sort()).toEqual(published);
    expect(found.kept).toEqual(old.map(({ uuid }) => uuid));
    disk.place(manifestPath(place, 'pass-1'), new TextEncoder().encode('{ torn'));
    expect((await uuids()).kept).toEqual([]);
  });
});

describe('a manifest', () => {
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value, null, 1));
  const read = (bytes: Uint8Array) => {
    disk.place('/a/manifest', bytes);
    return findFiles(disk.storage, '/a/manifest');
  };

  it.each([
    [
      'without files',
      { format: 'paddlet-kept-model', version: 1, jobId: 'j', jobName: 'j', name: 'n', files: [] },
      'files',
    ],
    ['of another format', { format: 'other manifest' }, 'format'],
    ['of a later version', { format: 'paddlet-kept-model', version: 2 }, 'version'],
  ])('%s is refused', async (_what, value, part) => {
    const files = [
      { path: 'f', index: 0, published: { uuid: (await newest())[0]!.uuid, md5: '0'.repeat(32), timestamp: 1 } },
    ];
    const whole = { jobId: 'j', jobName: 'j', name: 'n', files, ...value };
    await expect(read(text(whole))).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringContaining(part),
    });
  });

  it('that is no JSON, or torn, is refused', async () => {
    await expect(read(new TextEncoder().encode('{ no JSON at all'))).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
    });
  });

  it('of which a file is gone names the file', async () => {
    const files = await newest();
    await keepModelFiles(place, 'pass-1', files);
    await disk.remove(pathOf(files[1]!));
    const found = await findFiles(disk.storage, manifestPath(place, 'pass-1'));
    const { ok, files: verdicts } = await verifyCheckpoint({ storage: disk.storage, files: found.files });
    expect(ok).toBe(false);
    expect(verdicts.find(({ problems }) => problems.length > 0)?.path).toBe(pathOf(files[1]!));
  });
});
