/** A request to stop reaches the processes that run when it is put, and none that starts later. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobWatch, readStopRevision, watchJob } from '../../../src/cluster/job/job-watch.ts';
import { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { Master } from '../../roles/master/tasks/service-rig.ts';
import { FakeClock } from '../../store/support.ts';

const HISTORY = 4;

let data: MemoryStoreData;
let master: Master;
let watch: JobWatch | undefined;

beforeEach(() => {
  const clock = new FakeClock();
  data = new MemoryStoreData({ clock, historyRevisions: HISTORY });
  master = new Master(clock, data);
});
afterEach(() => watch?.cancel());

const settle = (): Promise<void> => master.clock.advance(1_000);
const put = (key: string): void => void data.txn({ if: [], then: [{ put: key, value: '{}' }] });
const stop = (): void => put(master.context.keys.stop);

it('one that is put while the watch goes on', async () => {
  watch = watchJob(master.context);
  await settle();
  expect(watch.stopRequested()).toBe(false);
  stop();
  await settle();
  expect(watch.stopRequested()).toBe(true);
  expect(watch.stopSignal.aborted).toBe(true);
});

it('one that is found is old', async () => {
  stop();
  watch = watchJob(master.context);
  await settle();
  expect(watch.stopRequested()).toBe(false);
  stop();
  await settle();
  expect(watch.stopRequested()).toBe(true);
});

describe('a master, which knows what stood when it came', () => {
  it('hears one that is put before its watch has begun', async () => {
    stop();
    const old = await readStopRevision(master.context);
    stop();
    watch = watchJob(master.context, { oldStop: old });
    await settle();
    expect(watch.stopRequested()).toBe(true);
  });

  it('hears the first one, too', async () => {
    const old = await readStopRevision(master.context);
    expect(old).toBe(0n);
    stop();
    watch = watchJob(master.context, { oldStop: old });
    await settle();
    expect(watch.stopRequested()).toBe(true);
  });

  it('does not hear the old one', async () => {
    stop();
    watch = watchJob(master.context, { oldStop: await readStopRevision(master.context) });
    await settle();
    expect(watch.stopRequested()).toBe(false);
  });
});

it('one that is put in a part of the history that was lost', async () => {
  stop();
  watch = watchJob(master.context);
  await settle();
  stop();
  // More than is kept, before the watch hears of anything.
  for (let i = 0; i <= HISTORY; i++) put(`/other/${i}`);
  await settle();
  expect(watch.stopRequested()).toBe(true);
});
