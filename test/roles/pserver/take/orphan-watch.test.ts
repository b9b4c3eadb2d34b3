/** What a pserver is to take, as heads, claims and the wanted number of pservers change. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseHead, takenBy } from '../../../../src/cluster/placement/heads.ts';
import { followPlacement, type PlacementView } from '../../../../src/cluster/placement/placement-view.ts';
import type { PserverRecord, UnitBytes } from '../../../../src/cluster/placement/pserver-record.ts';
import { followPserverRecords, type PserverRecords } from '../../../../src/cluster/placement/pserver-records.ts';
import { type OrphanWatch, watchOrphans } from '../../../../src/roles/pserver/take/orphan-watch.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { aStore, Master, stateOf } from '../../master/tasks/service-rig.ts';

const BOUND_MS = 4_000;

let data: MemoryStoreData;
let process: Master;
let view: PlacementView;
let records: PserverRecords;
let watch: OrphanWatch;

beforeEach(async () => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
  const { keys } = process.context;
  data.txn({ if: [], then: [{ put: keys.psDesired, value: '2' }] });
  view = followPlacement(process.context, { units: 4, shards: 8 }, (error) => process.ends.push(error));
  records = followPserverRecords(
    process.context,
    () => view.changed.notify(),
    (error) => process.ends.push(error),
  );
  watch = watchOrphans({
    ...{ clock: process.clock, view, records, index: 0, boundMs: BOUND_MS },
    restored: { headOf: (_unit, entry) => entry && parseHead(entry.key, entry.value) },
  });
  await settle();
});
afterEach(() => {
  view.cancel();
  records.cancel();
  expect(process.ends).toEqual([]);
});

const settle = (): Promise<void> => process.clock.advance(0);
const put = async (key: string, value: string): Promise<bigint> => {
  const { revision } = data.txn({ if: [], then: [{ put: key, value }] });
  await settle();
  return revision;
};
const claim = (index: number) => put(process.context.keys.ps(index), `host:${index}`);
const leave = async (index: number): Promise<void> => {
  data.txn({ if: [], then: [{ delete: process.context.keys.ps(index) }] });
  await settle();
};
const take = (unit: number, index: number, token: bigint) =>
  put(process.context.keys.head(unit), JSON.stringify(takenBy({ index, token: String(token) }, undefined)));
const tell = (id: number, status: PserverRecord['status'], units: readonly UnitBytes[]) =>
  put(
    process.context.keys.pserver(id),
    JSON.stringify({ id, instance: 'here', status, start_time: 1, sync: true, units }),
  );
const due = (): number[] => watch.due().map(({ unit }) => unit);

it('units that never had a primary are shared out; those of an absent pserver come after a while', async () => {
  await claim(0);
  expect(due()).toEqual([0, 2]);
  await process.clock.advance(BOUND_MS - 1);
  expect(due()).toEqual([0, 2]);
  await process.clock.advance(1);
  expect(due()).toEqual([0, 1, 2, 3]);
  await claim(1);
  expect(due()).toEqual([0, 2]);
});

it('units of a pserver that dies are waited for; the wait begins when it dies', async () => {
  const [me, other] = [await claim(0), await claim(1)];
  for (const unit of [0, 2]) await take(unit, 0, me);
  for (const unit of [1, 3]) await take(unit, 1, other);
  expect(due()).toEqual([]);
  await process.clock.advance(2 * BOUND_MS);
  await leave(1);
  expect(due()).toEqual([]);
  const changed = watch.changed(new AbortController().signal);
  await process.clock.advance(BOUND_MS - 1);
  expect(await stateOf(changed)).toBe('open');
  await process.clock.advance(1);
  await changed;
  const orphans = watch.due();
  expect(orphans.map(({ unit }) => unit)).toEqual([1, 3]);
  expect(watch.isOrphan(orphans[0]!)).toBe(true);
  await take(1, 2, await claim(2));
  expect(watch.isOrphan(orphans[0]!)).toBe(false);
});

it('a wait that has ended is told once: one that takes nothing for now does not spin', async () => {
  const [me, other] = [await claim(0), await claim(1)];
  for (const unit of [0, 2]) await take(unit, 0, me);
  for (const unit of [1, 3]) await take(unit, 1, other);
  await leave(1);
  expect(due()).toEqual([]);
  await process.clock.advance(2 * BOUND_MS);
  await Promise.all([watch.changed(new AbortController().signal), process.clock.advance(1)]);
  const again = watch.changed(new AbortController().signal);
  await process.clock.advance(BOUND_MS);
  expect(await stateOf(again)).toBe('open');
  expect(due()).toEqual([1, 3]);
});

it('an index that is not wanted any more is not waited for', async () => {
  const [me, other] = [await claim(0), await claim(1)];
  for (const unit of [0, 2]) await take(unit, 0, me);
  for (const unit of [1, 3]) await take(unit, 1, other);
  await leave(1);
  expect(due()).toEqual([]);
  await put(process.context.keys.psDesired, '1');
  expect(due()).toEqual([1, 3]);
});

it('nothing is due before the store has answered', () => {
  const unseen = followPlacement(process.context, { units: 4, shards: 8 }, () => {});
  const early = watchOrphans({
    ...{ clock: process.clock, view: unseen, records, index: 0, boundMs: 0 },
    restored: { headOf: () => undefined },
  });
  expect(early.due()).toEqual([]);
  unseen.cancel();
});

it('sizes and who is leaving are as the records have them, and a change of these is a change', async () => {
  const [me, other] = [await claim(0), await claim(1)];
  await take(0, 0, me);
  await take(1, 1, other);
  expect(due()).toEqual([2]);
  const changed = watch.changed(new AbortController().signal);
  await tell(0, 'up', [{ unit: 0, bytes: 9_000_000 }]);
  await changed;
  expect(due()).toEqual([]);
  await tell(1, 'draining', []);
  expect(due()).toEqual([2, 3]);
});
