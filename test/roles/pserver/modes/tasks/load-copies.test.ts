/** Async mode: units with copies, when all processes that had one have lost their indexes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { checkpointPath } from '../../../../../src/checkpoint/file/paths.ts';
import type { LoadedShards } from '../../../../../src/roles/pserver/modes/tasks/load.ts';
import { FOLDER } from '../../../../checkpoint/cluster-fixture.ts';
import { contentOf, uuidOf } from '../../../../checkpoint/fixture.ts';
import { JOB, keys, type MovedCluster, STAGES } from '../../../../checkpoint/moved-cluster.ts';
import { put } from '../../../../store/support.ts';
import { DEAD, exactness, FormerRig, LIMIT_MS, ledBy } from './load-former-rig.ts';

let rig: FormerRig;
let cluster: MovedCluster;

beforeEach(() => {
  rig = new FormerRig();
  ({ cluster } = rig);
});

describe('the last state of units with copies', () => {
  const MEMBER = { index: 0, token: '97' };
  const COPIED = ledBy(DEAD, MEMBER);
  const UNITS_LED = [1, 3, 5, 7];

  const claim = (index: number): Promise<unknown> => put(cluster.store, keys.ps(index), 'host:9');
  const unclaim = async (index: number): Promise<void> => {
    await cluster.store.txn({ if: [], then: [{ delete: keys.ps(index) }] });
  };
  const exactOf = async (loading: Promise<LoadedShards[]>) => (await loading).map(({ exact }) => exact);

  beforeEach(async () => {
    await STAGES['2 pservers']!(cluster);
    for (const { index } of [DEAD, MEMBER]) await unclaim(index);
  });

  it('is what a copy has written down, when its primary has written nothing', async () => {
    await rig.parting(MEMBER.index, 40, 1, UNITS_LED, BigInt(MEMBER.token));
    const parts = await rig.load(COPIED, UNITS_LED);
    expect(exactness(parts)).toBe(true);
    const whole = contentOf(cluster.newest(), JOB) as { shard: number }[];
    expect(contentOf(rig.into, JOB)).toEqual(whole.filter(({ shard }) => shard % 2 === 1));
    expect(rig.waitedFor.filter((what) => what !== undefined)).toEqual([]);
  });

  it.each(['damaged', 'out of sight'])('is another file of a copy when the first one is %s', async (what) => {
    await rig.parting(DEAD.index, 41, 1, UNITS_LED, BigInt(DEAD.token));
    await rig.parting(MEMBER.index, 40, 1, UNITS_LED, BigInt(MEMBER.token));
    const path = checkpointPath({ folder: FOLDER, index: DEAD.index }, uuidOf(41));
    if (what === 'damaged') rig.disk.flip(path, rig.disk.content(path)!.length - 100);
    else {
      await rig.hide(DEAD.index);
      await rig.disk.remove(path);
    }
    expect(exactness(await rig.load(COPIED, UNITS_LED))).toBe(true);
  });

  it('is waited for, as long as a process may be writing it', async () => {
    const loading = rig.load(COPIED, UNITS_LED);
    await rig.untilWaiting();
    expect(rig.waitedFor.at(-1)).toBe('what pserver 1, 0 may be writing down of its copies');
    await claim(DEAD.index);
    await cluster.clock.advance(2_000);
    expect(rig.waitedFor.at(-1)).toBe('what pserver 0 may be writing down of its copies');
    await rig.parting(MEMBER.index, 40, 1, UNITS_LED, BigInt(MEMBER.token));
    await cluster.clock.advance(2_000);
    expect(await exactOf(loading)).toEqual([true]);
  });

  it('is not waited for once other processes have the indexes of all that had a copy', async () => {
    for (const { index } of [DEAD, MEMBER]) await claim(index);
    expect(await exactOf(rig.load(COPIED, UNITS_LED))).toEqual([false]);
    expect(rig.waitedFor.filter((what) => what !== undefined)).toEqual([]);
  });

  it('is waited for so long and no longer', async () => {
    const loading = rig.load(COPIED, UNITS_LED);
    await cluster.clock.advance(LIMIT_MS - 100);
    expect(rig.into.shards()).toEqual([]);
    await cluster.clock.advance(LIMIT_MS);
    expect(await exactOf(loading)).toEqual([false]);
    expect(rig.waitedFor.at(-1)).toBeUndefined();
  });
});
