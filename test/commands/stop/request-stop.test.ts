/** `paddlet stop`: the request reaches the job that was meant, and no other, however late it lands. */
import { describe, expect, test } from 'vitest';
import { requestStop, warnUnreadable } from '../../../src/commands/stop/request-stop.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { settled, stateOf, TroubledStore } from '../../roles/master/tasks/service-rig.ts';
import { FakeClock, RecordingLog, SILENT } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');

function setUp() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const troubled = new TroubledStore(data);
  const put = (key: string, value = '{}') => data.txn({ if: [], then: [{ put: key, value }] });
  const remove = (key: string) => data.txn({ if: [], then: [{ delete: key }] });
  put(keys.job);
  put(keys.masterLock);
  const job = data.get(keys.job)!;
  const stop = new AbortController();
  const request = () => requestStop({ clock, log: SILENT, store: troubled.store, signal: stop.signal }, keys, job);
  /** What a master does that takes the job up again. */
  const startAgain = () => {
    remove(keys.masterLock);
    put(keys.masterLock);
    remove(keys.stop);
  };
  const requests = () => troubled.writes.filter(({ succeeded }) => succeeded).length;
  return { clock, data, troubled, put, remove, request, startAgain, requests, stop };
}

describe('a request to stop', () => {
  test('is kept, even when it is not the first one', async () => {
    const { request, data, requests, clock } = setUp();
    await request();
    expect(JSON.parse(data.get(keys.stop)!.value)).toEqual({ requested: 1 });
    clock.jump(500);
    await request();
    expect(JSON.parse(data.get(keys.stop)!.value)).toEqual({ requested: 1.5 });
    expect(requests()).toBe(2);
  });

  test.each(['unavailable', 'unknownLost'] as const)('is repeated when its first try was %s', async (trouble) => {
    const { request, data, troubled, clock, requests } = setUp();
    troubled.next(trouble);
    const requesting = request();
    await clock.advance(5_000);
    await requesting;
    expect([data.get(keys.stop) !== undefined, requests()]).toEqual([true, 1]);
  });

  test.each([
    ['a master was running', true],
    ['no master was there', false],
  ])('that lands late does not stop a job that was started again; first %s', async (_, hasMaster) => {
    const { request, data, troubled, clock, startAgain, remove } = setUp();
    if (!hasMaster) remove(keys.masterLock);
    troubled.next('unknownLate');
    const requesting = request();
    await clock.advance(5_000);
    await requesting;
    // All have left, and others are on their way.
    remove(keys.masterLock);
    expect(troubled.landLate()).toEqual([false]);
    startAgain();
    expect(data.get(keys.stop)).toBeUndefined();
  });

  test('that lands after the job was started again', async () => {
    const { request, data, troubled, clock, startAgain } = setUp();
    troubled.next('unknownLate');
    const requesting = request();
    await clock.advance(5_000);
    await requesting;
    startAgain();
    expect(troubled.landLate()).toEqual([false]);
    expect(data.get(keys.stop)).toBeUndefined();
  });

  test('is not repeated when it may have stopped a job that was started since', async () => {
    const { request, data, troubled, clock, startAgain } = setUp();
    troubled.next('unknownLanded');
    const requesting = request();
    await settled();
    startAgain();
    const state = stateOf(requesting);
    await clock.advance(5_000);
    await state;
    expect(await stateOf(requesting)).toBe('refused: StoreUnknownOutcome');
    expect(data.get(keys.stop)).toBeUndefined();
  });

  test('follows a master that took over before the first try', async () => {
    const { request, data, troubled, put, remove } = setUp();
    troubled.hold();
    const requesting = request();
    await settled();
    remove(keys.masterLock);
    put(keys.masterLock);
    troubled.releaseHold();
    await requesting;
    expect(data.get(keys.stop)).toBeDefined();
  });

  test('is not for another job of that name', async () => {
    const { request, data, put, remove, troubled, clock } = setUp();
    troubled.next('unavailable');
    const requesting = request();
    const state = stateOf(requesting);
    remove(keys.job);
    put(keys.job);
    await clock.advance(5_000);
    await state;
    expect(await stateOf(requesting)).toBe('refused: JobUnknown');
    expect(data.get(keys.stop)).toBeUndefined();
  });
});

test('a job that this paddlet cannot read is named when it is asked to stop', () => {
  const { data } = setUp();
  const log = new RecordingLog();
  warnUnreadable(log, data.get(keys.job)!);
  expect(log.messages).toEqual([expect.stringMatching(/cannot read the job: \/paddlet\/test\/job: /)]);
});
