/** Work with live processes ends when their job does. */
import { expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { orAborted } from '../../../src/cluster/waiting.ts';
import { whileJobRuns } from '../../../src/commands/base/while-job-runs.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { settled, stateOf } from '../../roles/master/tasks/service-rig.ts';
import { FakeClock, SILENT } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
const forEver = new Promise<never>(() => {});

function setUp() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const stop = new AbortController();
  const unused = (): never => {
    throw new Error('not used here');
  };
  const host = {
    clock,
    log: SILENT,
    random: { uuid: unused, fraction: unused },
    disk: {} as never,
    storage: {} as never,
  };
  const job = { host, store: new MemoryStore(data), keys };
  const end = () => data.txn({ if: [], then: [{ put: keys.result, value: '{}' }] });
  return { job, stop, end };
}

test('what was done first counts', async () => {
  const { job, stop } = setUp();
  expect(await whileJobRuns(job, stop.signal, async () => 7)).toBe(7);
});

test.each([
  ['before', 0],
  ['in the meantime', 1],
])('undefined when the job has ended %s', async (_, when) => {
  const { job, stop, end } = setUp();
  if (when === 0) end();
  const working = whileJobRuns(job, stop.signal, (stopSignal) => orAborted(forEver, stopSignal));
  await settled();
  if (when === 1) {
    expect(await stateOf(working)).toBe('open');
    end();
  }
  expect(await working).toBeUndefined();
});

test('an interruption, a failure and a store that is lost are thrown as they are', async () => {
  const { job, stop, end } = setUp();
  const lost = whileJobRuns(job, stop.signal, (stopSignal, onFatal) => {
    onFatal(new PaddletError('StoreReplaced', 'wiped'));
    return orAborted(forEver, stopSignal);
  });
  expect(await stateOf(lost)).toBe('refused: StoreReplaced');
  const failed = whileJobRuns(job, stop.signal, async () => {
    end();
    await settled();
    throw new PaddletError('DataMissing', 'no file');
  });
  expect(await stateOf(failed)).toBe('refused: DataMissing');
  const { job: other } = setUp();
  const stopped = whileJobRuns(other, stop.signal, (stopSignal) => orAborted(forEver, stopSignal));
  await settled();
  stop.abort();
  expect(await stateOf(stopped)).toBe('refused: Interrupted');
});
