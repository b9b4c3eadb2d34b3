/** Async mode: units without a live copy are loaded from the newest file of any pserver. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { checkpointPath } from '../../../../../src/checkpoint/file/paths.ts';
import { forgetFiles } from '../../../../../src/checkpoint/registry/forgotten.ts';
import { encodeKept } from '../../../../../src/checkpoint/registry/kept-key.ts';
import type { PublishedFile } from '../../../../../src/checkpoint/registry/newest.ts';
import { encodeParting, parsePartings } from '../../../../../src/checkpoint/registry/partings.ts';
import { sweepOrphans } from '../../../../../src/roles/pserver/files/sweep.ts';
import type { LoadedShards } from '../../../../../src/roles/pserver/modes/tasks/load.ts';
import type { Parameters } from '../../../../../src/tensor/parameters.ts';
import { FOLDER } from '../../../../checkpoint/cluster-fixture.ts';
import { contentOf, uuidOf } from '../../../../checkpoint/fixture.ts';
import { JOB, keys, type MovedCluster, STAGES } from '../../../../checkpoint/moved-cluster.ts';
import type { SimulatedDisk } from '../../../../simulated-disk.ts';
import { put, type RecordingLog } from '../../../../store/support.ts';
import { ALL, DEAD, exactness, FormerRig, ledBy, ME } from './load-former-rig.ts';

let rig: FormerRig;
let disk: SimulatedDisk;
let cluster: MovedCluster;
let log: RecordingLog;
let into: Parameters;
let waitedFor: (string | undefined)[];

beforeEach(() => {
  rig = new FormerRig();
  ({ disk, cluster, log, into, waitedFor } = rig);
});

const load: FormerRig['load'] = (...of) => rig.load(...of);
const parting: FormerRig['parting'] = (...of) => rig.parting(...of);
const hide: FormerRig['hide'] = (index) => rig.hide(index);

const rests = (parts: readonly LoadedShards[]) => parts.flatMap((part) => [...part.rests]);

const content = () => contentOf(cluster.newest(), JOB);

describe('the newest copy of each shard', () => {
  it.each(Object.keys(STAGES))('is loaded, from any pserver: %s', async (stage) => {
    await STAGES[stage]!(cluster);
    const parts = await load();
    expect(contentOf(into, JOB)).toEqual(content());
    expect(exactness(parts)).toBe(false);
    expect(rests(parts)).toEqual([]);
    const ledgers = new Map(parts.flatMap((part) => [...part.ledgers]));
    for (const shard of ALL) {
      expect(Buffer.from(ledgers.get(shard)!).toString()).toBe(`save ${cluster.saltOf.get(shard)}`);
    }
    const own = (await cluster.files()).filter(({ index }) => index === ME).map(({ generation: { uuid } }) => uuid);
    for (const name of parts.flatMap(({ files }) => files)) expect(own).toContain(name);
  });

  it('is in the parting snapshot of an owner that had handed its units over to one that never saved', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(0, 40, 1, [0, 2], 7n);
    const parts = await load();
    expect(contentOf(into, JOB)).toEqual(content());
    expect(exactness(parts)).toBe(false);
  });

  it('is in no parting snapshot of an epoch before that of a published file', async () => {
    await STAGES['2 → 4, and the last one has not saved yet']!(cluster);
    const before = content();
    await parting(0, 40, 1, [4, 6], 7n);
    await load();
    expect(contentOf(into, JOB)).toEqual(before);
  });

  it('is looked for in older files when its file is damaged, and elsewhere if need be', async () => {
    await STAGES['3 → 1, of which one has left nothing newer, and only the first has saved']!(cluster);
    const newest = (await cluster.files())[0]!;
    const path = checkpointPath({ folder: FOLDER, index: newest.index }, newest.generation.uuid);
    disk.flip(path, disk.content(path)!.length - 100);
    const parts = await load();
    expect(into.shards()).toEqual(ALL);
    expect(log.messages.filter((message) => message.startsWith('CheckpointCorrupt'))).toHaveLength(1);
    expect(exactness(parts)).toBe(false);
  });

  it('is lost when no pserver has published one: such shards are left out', async () => {
    cluster.place(2);
    await cluster.save(0);
    await load();
    expect(into.shards()).toEqual([0, 2, 4, 6]);
    expect(log.messages).toContainEqual(expect.stringMatching(/pserver 1 died without a checkpoint: 4 shards start/));
  });
});

describe('the last state', () => {
  it('is the file of any pserver that the head names, though others are newer', async () => {
    await STAGES['2 → 4, and the last one has not saved yet']!(cluster);
    const [, older] = (await cluster.files()).filter(({ index }) => index === 1);
    const rest = { index: 1, uuid: older!.generation.uuid };
    const parts = await load({ ...ledBy({ index: 3, token: '98' }), rest }, [1, 3]);
    expect(exactness(parts)).toBe(true);
    expect(new Map(rests(parts))).toEqual(
      new Map([
        [1, rest],
        [3, rest],
      ]),
    );
  });

  it('is not an older file, when the one that the head names is damaged', async () => {
    await STAGES['2 → 4, and the last one has not saved yet']!(cluster);
    const { uuid } = (await cluster.files()).find(({ index }) => index === 1)!.generation;
    const path = checkpointPath({ folder: FOLDER, index: 1 }, uuid);
    disk.flip(path, disk.content(path)!.length - 100);
    const parts = await load({ ...ledBy({ index: 3, token: '98' }), rest: { index: 1, uuid } }, [1, 3]);
    expect(into.shards()).toEqual([1, 3]);
    expect(exactness(parts)).toBe(false);
    expect(rests(parts)).toEqual([]);
  });

  it('is the parting snapshot of the primary, of the units that it has; of the others the newest file', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 1, [3, 5], BigInt(DEAD.token));
    const parts = await load(ledBy(DEAD), [1, 3, 5, 7]);
    expect(parts.map(({ exact }) => exact)).toEqual([true, false]);
    expect(into.shards()).toEqual([1, 3, 5, 7]);
    const whole = contentOf(cluster.newest(), JOB) as { shard: number }[];
    expect(contentOf(into, JOB)).toEqual(whole.filter(({ shard }) => shard % 2 === 1));
    // Of another index: no entry will name it.
    expect(rests(parts)).toEqual([]);
  });

  it('that comes while it is looked again does not count: the units are not to be taken then', async () => {
    await STAGES['2 pservers']!(cluster);
    const [newest] = (await cluster.files()).filter(({ index }) => index === 1) as [PublishedFile];
    const path = checkpointPath({ folder: FOLDER, index: 1 }, newest.generation.uuid);
    disk.flip(path, disk.content(path)!.length - 100);
    const { range } = cluster.store;
    let looks = 0;
    cluster.store.range = async (request) => {
      const answer = await range.call(cluster.store, request);
      const isEnd = 'prefix' in request && request.prefix === keys.checkpointsPrefix;
      if (isEnd && ++looks === 1) await parting(1, 40, 1, [3, 5], BigInt(DEAD.token));
      return answer;
    };
    const parts = await load(ledBy(DEAD), [1, 3, 5, 7]);
    expect(looks).toBeGreaterThan(1);
    for (const { partedAt } of parts) expect(partedAt.get(DEAD.token)).toBe(0n);
  });
});

describe('files of another pserver that cannot be found', () => {
  beforeEach(() => STAGES['2 → 4, and the last one has not saved yet']!(cluster));

  it('are waited for, named by their index, as long as they have the newest copy of a shard', async () => {
    const show = await hide(1);
    const loading = load();
    await rig.untilWaiting();
    await cluster.clock.advance(60_000);
    expect(waitedFor.at(-1)).toMatch(/^the checkpoint files of pserver 1: /);
    expect(into.shards()).toEqual([]);
    show();
    await cluster.clock.advance(60_000);
    await loading;
    expect(contentOf(into, JOB)).toEqual(content());
  });

  it('are not waited for when others have the newest copies', async () => {
    await hide(0);
    await load(ledBy(DEAD), [4, 6, 1]);
    expect(into.shards()).toEqual([1, 4, 6]);
    expect(waitedFor.filter((what) => what !== undefined)).toEqual([]);
  });

  it.each([
    { what: 'one that is back at once', fails: [2] },
    { what: 'one that is away for a while', fails: [2, 3, 4, 5] },
  ])('are looked for again when they vanished since they were seen: $what', async ({ fails }) => {
    const [newest] = (await cluster.files()).filter(({ index }) => index === 2);
    const path = checkpointPath({ folder: FOLDER, index: 2 }, newest!.generation.uuid);
    const openFile = disk.open.bind(disk);
    let opens = 0;
    vi.spyOn(disk, 'open').mockImplementation((opened) => {
      if (opened === path && fails.includes(++opens)) {
        return Promise.reject(Object.assign(new Error(path), { code: 'ENOENT' }));
      }
      return openFile(opened);
    });
    const loading = load(ledBy(DEAD), [4, 6]);
    await cluster.clock.advance(60_000);
    await loading;
    expect(opens).toBeGreaterThan(Math.max(...fails));
    expect(into.shards()).toEqual([4, 6]);
    const wanted = contentOf(cluster.newest(), JOB) as { shard: number }[];
    expect(contentOf(into, JOB)).toEqual(wanted.filter(({ shard }) => shard === 4 || shard === 6));
  });

  it('are not looked for again when they alone are gone', async () => {
    const files = (await cluster.files()).filter(({ index }) => index === 0);
    expect(files.length).toBeGreaterThan(1);
    await disk.remove(checkpointPath({ folder: FOLDER, index: 0 }, files[0]!.generation.uuid));
    await load(ledBy(DEAD), [0, 2]);
    expect(into.shards()).toEqual([0, 2]);
    expect(log.messages.filter((message) => message.startsWith('CheckpointMissing'))).toHaveLength(1);
  });

  it('are given up by a word to all live pservers, and then older copies of others are loaded', async () => {
    await hide(2);
    const { leaseId } = await cluster.store.leaseGrant(1_000_000);
    const claim = { put: keys.ps(ME), value: 'host:3', leaseId };
    await cluster.store.txn({ if: [], then: [claim] });
    const loading = load(ledBy(DEAD), [4, 6, 1]);
    await rig.untilWaiting();
    expect(await forgetFiles(cluster.store, keys, 2)).toHaveLength(1);
    await cluster.clock.advance(60_000);
    await loading;
    expect(into.shards()).toEqual([1, 4, 6]);
    expect(log.messages.join()).toContain('no longer waiting for');
  });
});

describe('the sweep of a new owner', () => {
  const sweep = async (index: number, loaded: readonly string[] = []): Promise<string[]> => {
    const key = keys.ps(index);
    await cluster.store.txn({ if: [], then: [{ delete: key }] });
    await put(cluster.store, key, 'host:9');
    const fence = { key, token: (await cluster.store.get(key))!.createRevision };
    await sweepOrphans({ context: rig.context, record: { id: JOB.jobId }, index, fence, folder: FOLDER }, loaded);
    return (await disk.list(`${FOLDER}/${index}`)).sort();
  };

  it('leaves a parting snapshot of its index that another pserver may need, until newer files replace it', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 1, [3, 5], 2n);
    expect(await sweep(1)).toEqual([2, 40].map(uuidOf));
    cluster.place(4);
    for (const index of [0, 2, 3]) await cluster.save(index);
    expect(await sweep(1)).toContain(uuidOf(40));
    cluster.place(1);
    await cluster.save(0);
    expect(await sweep(1)).toEqual([uuidOf(2)]);
    expect((await cluster.store.range({ prefix: keys.partingPrefix })).entries).toEqual([]);
  });

  it('leaves the files of a model that is kept', async () => {
    await STAGES['2 pservers']!(cluster);
    const files = [{ index: 1, uuid: uuidOf(2) }];
    await put(cluster.store, keys.kept, encodeKept({ models: [{ name: 'pass-1', files }], released: [] }));
    for (let times = 0; times < 3; times++) await cluster.save(1);
    expect(await sweep(1)).toEqual([2, 4, 5].map(uuidOf));
    await put(cluster.store, keys.kept, encodeKept({ models: [], released: [] }));
    expect(await sweep(1)).toEqual([4, 5].map(uuidOf));
  });

  it('leaves a snapshot of several files until newer ones have the shards of all of them', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 0, [1], 2n);
    await parting(1, 41, 2, [3], 3n);
    const announced = (await cluster.store.range({ prefix: keys.partingPrefix })).entries;
    const files = parsePartings(keys.partingPrefix, announced).map(({ generation }) => generation);
    for (const { key } of announced) await cluster.store.txn({ if: [], then: [{ delete: key }] });
    const [first, second] = files;
    await put(cluster.store, keys.parting(4n), encodeParting({ index: 1, files: [first!, second!] }));
    cluster.place(1);
    await cluster.save(0);
    // The second file is of a later epoch.
    expect(await sweep(1)).toEqual([2, 40, 41].map(uuidOf));
    for (const pservers of [2, 1]) cluster.place(pservers);
    await cluster.save(0);
    expect(await sweep(1)).toEqual([uuidOf(2)]);
    expect((await cluster.store.range({ prefix: keys.partingPrefix })).entries).toEqual([]);
  });

  it('removes one when a later one has its shards: an owner that loses its index again and again saves nothing else', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 1, [3, 5], 2n);
    await parting(1, 41, 2, [3], 3n);
    expect(await sweep(1)).toEqual([2, 40, 41].map(uuidOf));
    await parting(1, 42, 3, [3, 5], 4n);
    expect(await sweep(1)).toEqual([2, 42].map(uuidOf));
    const { entries } = await cluster.store.range({ prefix: keys.partingPrefix });
    expect(entries.map(({ key }) => key)).toEqual([keys.parting(4n)]);
  });

  it('leaves one from after all went back to a cut: files from before have higher positions, and are older', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 1, [3, 5], 2n, { seq: 7, timeline: 1n });
    await parting(1, 41, 1, [3, 5], 3n, { seq: 7 });
    expect(await sweep(1)).toEqual([2, 40].map(uuidOf));
    const { entries } = await cluster.store.range({ prefix: keys.partingPrefix });
    expect(entries.map(({ key }) => key)).toEqual([keys.parting(2n)]);
  });

  it('leaves what was loaded, and what a head names', async () => {
    await STAGES['2 pservers']!(cluster);
    await parting(1, 40, 0, [3, 5], 2n);
    await parting(1, 41, 0, [3, 5], 3n);
    const rest = { index: 1, uuid: uuidOf(41) };
    const head = { epoch: 1, led: 1, ...ledBy(DEAD), rest };
    await put(cluster.store, keys.head(0), JSON.stringify(head));
    expect(await sweep(1, [uuidOf(40)])).toEqual([2, 40, 41].map(uuidOf));
  });
});
