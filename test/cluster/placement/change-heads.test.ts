/** Changes of heads: together where they have one reason, each only on the head that was read, none twice. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { changeHeads, type HeadChange } from '../../../src/cluster/placement/change-heads.ts';
import { type Head, parseHead, takenBy } from '../../../src/cluster/placement/heads.ts';
import { showReplicas } from '../../../src/cluster/placement/show-replicas.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore, Master } from '../../roles/master/tasks/service-rig.ts';
import { failureOf } from '../../store/support.ts';

const ME = { index: 0, token: '7' };
const OTHER = { index: 1, token: '8' };

let data: MemoryStoreData;
let actor: Master;

beforeEach(() => {
  const store = aStore();
  data = store.data;
  actor = new Master(store.clock, data);
});

const by = () => ({ context: actor.context, fence: actor.fence });
const keyOf = (unit: number): string => actor.context.keys.head(unit);
const firstOf = (unit: number): HeadChange => ({ unit, modRevision: 0n, head: takenBy(ME, undefined) });
const firsts = (count: number): HeadChange[] => Array.from({ length: count }, (_, unit) => firstOf(unit));
const headOf = (unit: number): Head | undefined => {
  const entry = data.get(keyOf(unit));
  return entry && parseHead(entry.key, entry.value);
};
const put = (unit: number, head: Head): bigint =>
  data.txn({ if: [], then: [{ put: keyOf(unit), value: JSON.stringify(head) }] }).revision;
const writes = (): number[] => actor.troubled.writes.map(({ txn }) => txn.then.length);

/** With time passing, as a retry waits for it. */
async function change(changes: readonly HeadChange[], also: { also?: [{ key: string; createRevision: bigint }] } = {}) {
  const made = changeHeads({ ...by(), ...also }, changes);
  made.catch(() => {});
  for (let i = 0; i < 5; i++) await actor.clock.advance(1_000);
  return made;
}

describe('changes with one reason', () => {
  it('share transactions as large as the store takes', async () => {
    const many = LIMITS.storeTxnOps + 70;
    const made = await change(firsts(many));
    expect(made.map(({ unit }) => unit)).toEqual(firsts(many).map(({ unit }) => unit));
    expect(made.every(({ isMade }) => isMade)).toBe(true);
    expect(writes()).toEqual([LIMITS.storeTxnOps - 1, 71]);
    expect(headOf(many - 1)).toEqual({ epoch: 1, led: 1, primary: ME, inSync: [ME] });
  });

  it('are made without the one that is refused', async () => {
    put(1, takenBy(OTHER, undefined));
    const made = await change(firsts(3));
    expect(made.map(({ unit, isMade, head }) => [unit, isMade, head?.primary.index])).toEqual([
      [0, true, 0],
      [1, false, 1],
      [2, true, 0],
    ]);
    expect(made[1]!.modRevision).toBe(data.get(keyOf(1))!.modRevision);
  });

  it('are refused together when what must hold beside them does not', async () => {
    const made = await change(firsts(2), { also: [{ key: actor.context.keys.ps(3), createRevision: 9n }] });
    expect(made.map(({ isMade, head, modRevision }) => ({ isMade, head, modRevision }))).toEqual([
      { isMade: false, head: undefined, modRevision: 0n },
      { isMade: false, head: undefined, modRevision: 0n },
    ]);
    expect(headOf(0)).toBeUndefined();
  });

  it('are refused with LeaseGone when the claim is gone', async () => {
    data.txn({ if: [], then: [{ delete: actor.fence.key }] });
    expect(await failureOf(change(firsts(2)))).toMatchObject({ code: 'LeaseGone' });
    expect(headOf(0)).toBeUndefined();
  });
});

describe('an attempt with an unknown outcome', () => {
  it('that landed counts as made', async () => {
    actor.troubled.next('unknownLanded');
    const made = await change(firsts(2));
    expect(made.map(({ isMade }) => isMade)).toEqual([true, true]);
    expect(made[0]!.modRevision).toBe(data.get(keyOf(0))!.modRevision);
    expect(headOf(0)!.epoch).toBe(1);
  });

  it('that is lost is made again, and cannot land afterwards', async () => {
    actor.troubled.next('unknownLate');
    const [made] = await change([firstOf(0)]);
    expect(made).toMatchObject({ isMade: true, head: { epoch: 1 } });
    const taken = takenBy(OTHER, headOf(0));
    put(0, taken);
    expect(actor.troubled.landLate()).toEqual([false]);
    expect(headOf(0)).toEqual(taken);
  });

  it('is settled by an answered transaction: what it finds cannot change by the old attempt any more', async () => {
    const modRevision = put(0, takenBy(OTHER, undefined));
    const head = takenBy(ME, headOf(0));
    actor.troubled.next('unknownLate', 'unavailable');
    const [made] = await change([{ unit: 0, modRevision, head }]);
    expect(made).toMatchObject({ isMade: true, head });
    expect(actor.troubled.landLate()).toEqual([false]);
  });
});

it('the key of each shard shows who holds its unit', async () => {
  const grouping = { units: 2, shards: 5 };
  const { keys } = actor.context;
  const alone = takenBy(OTHER, { epoch: 3 });
  await showReplicas({ ...by(), grouping, replicas: 3 }, [{ unit: 1, head: { ...alone, inSync: [ME, OTHER] } }]);
  const backups = [1, 2].map((replica) => data.get(keys.replica(3, replica))?.value);
  expect(JSON.parse(backups[0]!)).toMatchObject({ id: 1, shardid: 3, status: 'backup', pserver: ME.index, epoch: 4 });
  expect(backups[1]).toBeUndefined();
  await showReplicas({ ...by(), grouping, replicas: 3 }, [{ unit: 1, head: alone }]);
  expect(data.get(keys.replica(3, 1))).toBeUndefined();
  const shown = [0, 1, 2, 3, 4].map((shard) => data.get(keys.replica(shard, 0))?.value);
  expect(shown.map((value) => value !== undefined)).toEqual([false, true, false, true, false]);
  expect(JSON.parse(shown[3]!)).toMatchObject({ id: 0, shardid: 3, status: 'master', pserver: 1, epoch: 4 });
});
