/** The placement is followed among a fixed number of pservers. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { followPlacement, type PlacementView } from '../../../src/cluster/placement/placement-view.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore, Master } from '../../roles/master/tasks/service-rig.ts';

let data: MemoryStoreData;
let master: Master;
let view: PlacementView;
let ends: Error[];

beforeEach(() => {
  const store = aStore();
  data = store.data;
  master = new Master(store.clock, data);
  ends = [];
});
afterEach(() => view.cancel());

const begin = (): void => {
  view = followPlacement(master.context, { shards: 1, pservers: 2 }, (error) => ends.push(error));
};
const desire = async (pservers: number): Promise<void> => {
  data.txn({ if: [], then: [{ put: master.context.keys.psDesired, value: String(pservers) }] });
  await master.clock.advance(0);
};

it('ends when the job was restored to another number', async () => {
  await desire(2);
  begin();
  await master.clock.advance(0);
  await desire(2);
  expect(ends).toEqual([]);
  await desire(3);
  expect(ends.map((error) => isPaddletError(error, 'Resized') && error.message)).toEqual([
    'the job now has 3 pservers; it had 2 when this process started',
  ]);
});

it('ends at once when that was before it began to follow', async () => {
  await desire(1);
  begin();
  await master.clock.advance(0);
  expect(ends).toHaveLength(1);
});
