/** The launcher follows the numbers of pservers and trainers in the store. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { WantedSizes } from '../../../src/roles/launcher/wanted-sizes.ts';
import { keysOf } from '../../../src/store/keys.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { type FakeClock, SILENT } from '../../store/support.ts';
import { aStore, TroubledStore } from '../master/tasks/service-rig.ts';

const keys = keysOf('/paddlet/test');
let data: MemoryStoreData;
let clock: FakeClock;
let troubled: TroubledStore;
let sizes: WantedSizes;
let changes: number;

beforeEach(() => {
  const store = aStore();
  ({ data, clock } = store);
  troubled = new TroubledStore(data);
  changes = 0;
  sizes = new WantedSizes({ store: troubled.store, keys, clock, log: SILENT }, { pservers: 2, trainers: 3 });
  sizes.onChange(() => {
    changes += 1;
  });
  onTestFinished(() => sizes.cancel());
});

const put = (key: string, value: string): void => void data.txn({ if: [], then: [{ put: key, value }] });
const wantTrainers = (trainers: number): void => put(keys.trainersDesired, JSON.stringify({ trainers, jobFile: 3 }));

it('has those of the job file until the store has others', async () => {
  await clock.advance(0);
  expect([sizes.current(), changes]).toEqual([{ pservers: 2, trainers: 3 }, 0]);
  put(keys.psDesired, '2');
  await clock.advance(0);
  expect(changes).toBe(0);
  put(keys.psDesired, '4');
  await clock.advance(0);
  expect([sizes.current(), changes]).toEqual([{ pservers: 4, trainers: 3 }, 1]);
  wantTrainers(1);
  await clock.advance(0);
  expect([sizes.current(), changes]).toEqual([{ pservers: 4, trainers: 1 }, 2]);
});

it('a look reads them at once, and whether the job has ended', async () => {
  put(keys.psDesired, '5');
  wantTrainers(6);
  expect(await sizes.look()).toBe(false);
  expect(sizes.current()).toEqual({ pservers: 5, trainers: 6 });
  put(keys.result, '{}');
  expect(await sizes.look()).toBe(true);
});

it('a look does not wait long for a store that does not answer', async () => {
  troubled.isAway = true;
  const looking = sizes.look();
  await clock.advance(3_000);
  expect(await looking).toBeUndefined();
});

it('tells once that the job has ended, and with which result', async () => {
  const ends: string[] = [];
  sizes.onJobEnd(({ value }) => void ends.push(value));
  await clock.advance(0);
  expect(ends).toEqual([]);
  put(keys.result, '{"first":1}');
  await clock.advance(0);
  await sizes.look();
  expect(ends).toEqual(['{"first":1}']);
});
