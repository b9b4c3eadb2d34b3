/** Who holds what is shown a moment after heads have changed, all at once, and only of units that are led here. */
import { beforeEach, expect, it } from 'vitest';
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import { ShownHeads } from '../../../../src/roles/pserver/replicas/shown-heads.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { FakeClock, put, SILENT } from '../../../store/support.ts';

const keys = keysOf('/paddlet/test');
const ME = { index: 0, token: '1' };
let clock: FakeClock;
let store: MemoryStore;
let transactions: number;
let led: Set<number>;
let lost: AbortController;
let shown: ShownHeads;

beforeEach(async () => {
  clock = new FakeClock();
  store = new MemoryStore(new MemoryStoreData({ clock }));
  led = new Set([0, 1]);
  lost = new AbortController();
  transactions = 0;
  const counting = Object.create(store, {
    txn: {
      value: (txn: Parameters<typeof store.txn>[0]) => {
        transactions += 1;
        return store.txn(txn);
      },
    },
  }) as MemoryStore;
  await put(store, keys.ps(0), 'a:1');
  const token = (await store.get(keys.ps(0)))!.createRevision;
  const context = { host: { clock, log: SILENT }, store: counting, keys, stop: lost.signal } as never;
  shown = new ShownHeads({
    ...{ context, fence: { key: keys.ps(0), token }, grouping: { units: 4, shards: 4 }, replicas: 2 },
    ...{ lost: lost.signal },
    heads: {
      of: (unit) => (led.has(unit) ? { unit, head: takenBy(ME, { epoch: unit }), modRevision: 1n } : undefined),
    },
    onFatal: (error) => {
      throw error;
    },
  });
});

const shardsShown = async (): Promise<string[]> => {
  const { entries } = await store.range({ prefix: keys.replicasPrefix });
  return entries.map(({ key }) => key.slice(keys.replicasPrefix.length));
};

it('many changes are one write, of the units that are led then', async () => {
  for (const unit of [0, 1, 2]) shown.changed(unit);
  expect(await shardsShown()).toEqual([]);
  led.delete(1);
  await clock.advance(1_000);
  expect(await shardsShown()).toEqual(['0/0']);
  expect(transactions).toBe(1);
  led.add(1);
  shown.changed(1);
  await clock.advance(1_000);
  expect(await shardsShown()).toEqual(['0/0', '1/0']);
});

it('nothing is written after the end', async () => {
  shown.changed(0);
  shown.close();
  shown.changed(1);
  await clock.advance(5_000);
  expect(transactions).toBe(0);
  expect(clock.pendingTimers).toBe(0);
});

it('a lost index ends it quietly', async () => {
  shown.changed(0);
  await store.txn({ if: [], then: [{ delete: keys.ps(0) }], else: [] });
  lost.abort();
  await clock.advance(1_000);
  expect(await shardsShown()).toEqual([]);
});
