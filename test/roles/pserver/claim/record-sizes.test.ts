/** `/pservers/<index>` follows the units of a pserver and their size, and is not written without need. */
import { beforeEach, expect, it } from 'vitest';
import { parsePserverRecord, type UnitBytes } from '../../../../src/cluster/placement/pserver-record.ts';
import type { OwnedIndex } from '../../../../src/roles/pserver/claim/owned-index.ts';
import { keepRecordCurrent } from '../../../../src/roles/pserver/claim/record-sizes.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { failureOf } from '../../../store/support.ts';
import { aStore, Master } from '../../master/tasks/service-rig.ts';

let data: MemoryStoreData;
let process: Master;
let units: UnitBytes[];

beforeEach(() => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
  units = [{ unit: 1, bytes: 1_000 }];
});

const ended = new AbortController();
const keep = () => {
  const { context, fence } = process;
  const owned = { context, fence, index: 3, started: 7, listening: { address: 'here:1' } } as unknown as OwnedIndex;
  const told = keepRecordCurrent(owned, { unitBytes: () => units }, 'up', ended.signal);
  told.catch(() => {});
  return told;
};
const key = (): string => process.context.keys.pserver(3);
const told = () => parsePserverRecord(key(), data.get(key())!.value).units;
const later = (): Promise<void> => process.clock.advance(2_500);

it('is told when units come, go or grow, and not when nothing notable has changed', async () => {
  const keeping = keep();
  await later();
  expect(told()).toEqual(units);
  const { modRevision } = data.get(key())!;
  units = [{ unit: 1, bytes: 1_010 }];
  await later();
  expect(data.get(key())!.modRevision).toBe(modRevision);
  for (const next of [
    [{ unit: 1, bytes: 1_030 }],
    [
      { unit: 1, bytes: 1_030 },
      { unit: 2, bytes: 5 },
    ],
    [],
    [{ unit: 2, bytes: 5 }],
  ]) {
    units = next;
    await later();
    expect(told()).toEqual(next);
  }
  data.txn({ if: [], then: [{ delete: process.fence.key }] });
  units = [];
  const failure = failureOf(keeping);
  await later();
  expect(await failure).toMatchObject({ code: 'LeaseGone' });
});

it('is not undone by a try that was given up and lands late', async () => {
  process.troubled.next('unknownLate');
  keep();
  units = [{ unit: 2, bytes: 5 }];
  await later();
  await later();
  expect(told()).toEqual(units);
  expect(process.troubled.landLate()).toEqual([false]);
  expect(told()).toEqual(units);
});
