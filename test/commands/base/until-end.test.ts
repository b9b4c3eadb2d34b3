/** Work with live processes ends when their job does. */
import { expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { orAborted } from '../../../src/cluster/waiting.ts';
import { untilEnd } from '../../../src/commands/base/until-end.ts';
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
  const host = { clock, log: SILENT, random: { uuid: unused, fraction: unused }, disk: {} as never };
  const job = { host, store: new MemoryStore(data), keys };
  const end = () => data.txn({ if: [], then: [{ put: keys.result, value: '{}' }] });
  return { job, stop, end };
}

test('what was done first counts', async () => {
  const { job, stop } = setUp();
  expect(await untilEnd(job, stop.signal, async () => 7)).toBe(7);
});

test.each([
  ['before', 0],
  ['meanwhile', 1],
])('undefined when the job has ended %s', async (_, when) => {
  const { job, stop, end } = setUp();
  if (when === 0) end();
  const working = untilEnd(job, stop.signal, (either) => orAborted(forEver, either));
  await settled();
  if (when === 1) {
    expect(await stateOf(working)).toBe('open');
    end();
  }
  expect(await working).toBeUndefined();
});

test('an interruption, a failure and a store that is lost are thrown as they are', async () => {
  const { job, stop, end } = setUp();
  const lost = untilEnd(job, stop.signal, (either, crash) => {
    crash(new PaddletError('StoreReplaced', 'wiped'));
    return orAborted(forEver, either);
  });
  expect(await stateOf(lost)).toBe('refused: StoreReplaced');
  const failed = untilEnd(job, stop.signal, async () => {
    end();
    await settled();
    throw new PaddletError('DataMissing', 'no file');
  });
  expect(await stateOf(failed)).toBe('refused: DataMissing');
  const { job: other } = setUp();
  const stopped = untilEnd(other, stop.signal, (either) => orAborted(forEver, either));
  await settled();
  stop.abort();
  expect(await stateOf(stopped)).toBe('refused: Interrupted');
});
