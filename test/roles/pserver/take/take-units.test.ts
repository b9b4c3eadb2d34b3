/** Units without a live primary are taken as they were seen: by one, and never while their owner lives. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Head, parseHead, takenBy } from '../../../../src/cluster/placement/heads.ts';
import {
  formerUnits,
  type OrphanHead,
  type TakeUnits,
  takeUnits,
  unchanged,
} from '../../../../src/roles/pserver/take/take-units.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { aStore, Master } from '../../master/tasks/service-rig.ts';

const ME = { index: 0, token: '70' };
const DEAD = { index: 1, token: '50' };
const REST = { index: 1, uuid: '504ec9a6-7a47-4c17-9e1b-7a364a8cfbe0' };

let data: MemoryStoreData;
let actor: Master;

beforeEach(() => {
  const store = aStore();
  data = store.data;
  actor = new Master(store.clock, data);
});

const put = (key: string, value: string): bigint => data.txn({ if: [], then: [{ put: key, value }] }).revision;
const headOf = (unit: number): Head => parseHead('head', data.get(actor.context.keys.head(unit))!.value);

function orphanOf(unit: number, head?: Head): OrphanHead {
  const modRevision = head === undefined ? 0n : put(actor.context.keys.head(unit), JSON.stringify(head));
  return { unit, modRevision, head };
}

const take = (orphans: readonly OrphanHead[], more: Partial<TakeUnits> = {}) =>
  takeUnits(
    {
      ...{ context: actor.context, fence: actor.fence, me: ME, grouping: { units: 4, shards: 8 } },
      ...{ rests: new Map(), partings: new Map([[DEAD.token, 0n]]), ...more },
    },
    orphans,
  );

describe('units', () => {
  it('are taken with one more epoch, since which they are led', async () => {
    const taken = await take([orphanOf(0), orphanOf(2, takenBy(DEAD, { epoch: 4 }, REST))]);
    expect(taken.map(({ unit }) => unit)).toEqual([0, 2]);
    expect(headOf(0)).toEqual({ epoch: 1, led: 1, primary: ME, inSync: [ME] });
    expect(headOf(2)).toEqual({ epoch: 6, led: 6, primary: ME, inSync: [ME] });
    expect(taken[1]).toMatchObject({ head: headOf(2), modRevision: data.get(actor.context.keys.head(2))!.modRevision });
  });

  it('keep the name of the file that they were loaded from, when nothing is missing in it', async () => {
    await take([orphanOf(2, takenBy(DEAD, undefined, REST))], { rests: new Map([[2, REST]]) });
    expect(headOf(2).rest).toEqual(REST);
  });

  it('that another has taken since are left to it; the others are not', async () => {
    const [first, second] = [orphanOf(0), orphanOf(1)];
    put(actor.context.keys.head(0), JSON.stringify(takenBy({ index: 3, token: '71' }, undefined)));
    expect((await take([first, second])).map(({ unit }) => unit)).toEqual([1]);
    expect(headOf(0).primary.index).toBe(3);
  });
});

describe('units of an owner', () => {
  it('who lives are not taken', async () => {
    const token = String(put(actor.context.keys.ps(DEAD.index), 'there:1'));
    const orphan = orphanOf(1, takenBy({ ...DEAD, token }, undefined));
    expect(await take([orphan])).toEqual([]);
    // Nor if this process has looked for its parting snapshot.
    expect(await take([orphan], { partings: new Map([[token, 0n]]) })).toEqual([]);
    expect(headOf(1).primary.token).toBe(token);
  });

  it('are taken when another process has its index, which may leave and take nothing', async () => {
    const orphan = orphanOf(1, takenBy(DEAD, undefined));
    put(actor.context.keys.ps(DEAD.index), 'there:1');
    expect((await take([orphan])).map(({ unit }) => unit)).toEqual([1]);
  });

  it('who has parted since with more than was loaded are not taken without it', async () => {
    const orphan = orphanOf(1, takenBy(DEAD, undefined));
    const parted = put(actor.context.keys.parting(BigInt(DEAD.token)), '{}');
    expect(await take([orphan])).toEqual([]);
    const again = await take([orphan], { partings: new Map([[DEAD.token, parted]]) });
    expect(again.map(({ unit }) => unit)).toEqual([1]);
  });

  it('of which a copy was written down since are not taken without it', async () => {
    const member = { index: 4, token: '51' };
    const orphan = orphanOf(1, { ...takenBy(DEAD, undefined), inSync: [DEAD, member] });
    const seen = new Map([[DEAD.token, 0n]]);
    const parted = put(actor.context.keys.parting(BigInt(member.token)), '{}');
    expect(await take([orphan], { partings: new Map([...seen, [member.token, 0n]]) })).toEqual([]);
    const again = await take([orphan], { partings: new Map([...seen, [member.token, parted]]) });
    expect(again.map(({ unit }) => unit)).toEqual([1]);
  });

  it('of which a live process has a copy are not taken, unless the owner has left by a clean stop', async () => {
    const { keys } = actor.context;
    const token = String(put(keys.ps(4), 'there:1'));
    const copied = { inSync: [DEAD, { index: 4, token }] };
    const [lost, rests] = [
      { ...takenBy(DEAD, undefined), ...copied },
      { ...takenBy(DEAD, undefined, REST), ...copied },
    ];
    const orphans = [orphanOf(1, lost), orphanOf(2, rests)];
    expect((await unchanged(actor.context, orphans)).map(({ unit }) => unit)).toEqual([2]);
    expect((await take(orphans)).map(({ unit }) => unit)).toEqual([2]);
    data.txn({ if: [], then: [{ delete: keys.ps(4) }] });
    expect((await unchanged(actor.context, orphans)).map(({ unit }) => unit)).toEqual([1]);
    expect((await take([orphans[0]!])).map(({ unit }) => unit)).toEqual([1]);
  });

  it('of which this process has a copy are not taken from files', async () => {
    const me = { index: ME.index, token: String(put(actor.context.keys.ps(ME.index), 'here:1')) };
    const orphan = orphanOf(1, { ...takenBy(DEAD, undefined), inSync: [DEAD, me] });
    expect(await take([orphan])).toEqual([]);
  });

  it('do not hold up those of others', async () => {
    const token = String(put(actor.context.keys.ps(DEAD.index), 'there:1'));
    const held = orphanOf(1, takenBy({ ...DEAD, token }, undefined));
    const free = orphanOf(2, takenBy({ index: 2, token: '51' }, undefined));
    expect((await take([held, free])).map(({ unit }) => unit)).toEqual([2]);
  });
});

it('the last state is looked for once for all units that have it in one place', () => {
  const orphans = [
    orphanOf(0),
    orphanOf(1, takenBy(DEAD, undefined)),
    orphanOf(2, takenBy(DEAD, { epoch: 3 })),
    orphanOf(3, takenBy(DEAD, undefined, REST)),
  ];
  const copied = { ...takenBy(DEAD, undefined), inSync: [DEAD, ME] };
  expect(formerUnits([...orphans, orphanOf(4, copied)])).toEqual([
    { primary: DEAD, inSync: [DEAD], rest: undefined, units: [1, 2] },
    { primary: DEAD, inSync: [DEAD], rest: REST, units: [3] },
    { primary: DEAD, inSync: [DEAD, ME], rest: undefined, units: [4] },
  ]);
});
