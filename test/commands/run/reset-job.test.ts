/** `run --fresh`: what it removes, and that it removes nothing while processes work on the job. */
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { resetJob } from '../../../src/commands/run/reset-job.ts';
import type { Network } from '../../../src/protocol/messages/channel.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { FOLDER, saveCluster } from '../../checkpoint/cluster-fixture.ts';
import { JOB_ID, jobOf, uuidOf } from '../../checkpoint/fixture.ts';
import { settled, stateOf, TroubledStore } from '../../roles/master/tasks/service-rig.ts';
import { createSimulatedDisk } from '../../simulated-disk.ts';
import { FakeClock, RecordingLog } from '../../store/support.ts';

const keys = keysOf('/paddlet/small');
const LEASE_MS = 4_000;

const recordOf = (id: string, leaseTtlMs = LEASE_MS, dir?: string): string =>
  JSON.stringify({ id, job: { cluster: { leaseTtlMs }, checkpoint: { dir } } });

async function setUp() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const troubled = new TroubledStore(data);
  const log = new RecordingLog();
  const disk = createSimulatedDisk();
  const stop = new AbortController();
  const put = (key: string, value = 'x', leaseId?: bigint) =>
    data.txn({ if: [], then: [leaseId === undefined ? { put: key, value } : { put: key, value, leaseId }] });
  const { generations } = await saveCluster({ storage: disk.storage, pservers: 2 });
  const publish = (id: string) => {
    put(keys.job, recordOf(id));
    put(keys.psDesired, '2');
    for (const [index, one] of generations.entries()) put(keys.checkpoint(index), JSON.stringify(one));
  };
  publish(JOB_ID);
  put('/paddlet/smaller/job', recordOf('another'));
  /** Addresses at which somebody answers. */
  const answering = new Set<string>();
  const network = {
    connect: (address: string) => ({
      address,
      close: () => {},
      async request() {
        if (!answering.has(address)) throw new PaddletError('RequestTimeout', 'no answer');
        return { header: { type: 'info', info: {} }, free: () => {} };
      },
    }),
  } as unknown as Network;
  const begin = () =>
    resetJob({
      ...{ clock, log, storage: disk.storage, keys, network, signal: stop.signal, store: troubled.store },
      ...{ folder: FOLDER, leaseTtlMs: 1_000 },
    });
  const files = async () =>
    (await Promise.all(['0', '1'].map((index) => disk.list(`${FOLDER}/${index}`)))).flat().sort();
  const ofJob = () => data.range({ prefix: `${keys.chroot}/` }).entries.map(({ key }) => key);
  return { clock, data, troubled, log, disk, stop, put, publish, begin, files, ofJob, answering };
}

describe('--fresh', () => {
  test('removes the files from the folder that the job in the store names', async () => {
    const { begin, put, disk } = await setUp();
    const dir = '/elsewhere';
    await saveCluster({ storage: disk.storage, pservers: 2, folder: dir });
    put(keys.job, recordOf(JOB_ID, LEASE_MS, dir));
    expect((await disk.list(`${dir}/0`)).length).toBeGreaterThan(0);
    await begin();
    expect(await disk.list(`${dir}/0`)).toEqual([]);
  });

  test('forgets the keys and files of the job, and of no other', async () => {
    const { begin, data, files, ofJob, disk } = await setUp();
    await saveCluster({ storage: disk.storage, pservers: 2, job: jobOf({ jobId: 'job-b' }), names: 20 });
    const torn = `${FOLDER}/1/${uuidOf(2)}`;
    for (const path of [`${FOLDER}/0/notes.txt`, `${FOLDER}/1/${uuidOf(99)}`, torn]) {
      await disk.makeFolder(dirname(path));
      await (await disk.create(path)).close();
    }
    await begin();
    expect(ofJob()).toEqual([]);
    expect(data.get('/paddlet/smaller/job')).toBeDefined();
    // A file of the job that is damaged is known by its name; others that cannot be read may be anybody's.
    expect(await files()).toEqual([uuidOf(21), uuidOf(22), uuidOf(99), 'notes.txt'].sort());
  });

  test.each([
    [keys.masterLock, '{"address":"host:1"}'],
    [keys.ps(1), 'host:1'],
    [keys.trainer('t'), 'host:1'],
  ])('is refused while %s is renewed and its owner answers', async (key, value) => {
    const { begin, clock, data, put, log, files, ofJob, answering } = await setUp();
    const { leaseId } = data.leaseGrant(LEASE_MS);
    put(key, value, leaseId);
    answering.add('host:1');
    const before = ofJob();
    const beginning = begin();
    const state = stateOf(beginning);
    for (let second = 0; second < 7; second++) {
      await clock.advance(1_000);
      data.leaseKeepAlive(leaseId);
    }
    await state;
    expect(await stateOf(beginning)).toBe('refused: JobConflict');
    expect(log.messages).toEqual([
      `waiting for the leases of ${key} = ${value} to expire, in case these processes are dead`,
    ]);
    expect([ofJob(), (await files()).length]).toEqual([before, 2]);
  });

  test.each([
    [keys.masterLock, '{"address":"host:1"}'],
    [keys.masterLock, 'of another version'],
    [keys.ps(1), 'host:1'],
  ])('waits while %s = %s outlives its lease time without an answer', async (key, value) => {
    const { begin, clock, data, put, log, ofJob } = await setUp();
    const { leaseId } = data.leaseGrant(LEASE_MS);
    put(key, value, leaseId);
    const beginning = begin();
    const state = stateOf(beginning);
    for (let second = 0; second < 9; second++) {
      await clock.advance(1_000);
      data.leaseKeepAlive(leaseId);
    }
    await state;
    expect(await stateOf(beginning)).toBe('open');
    expect(log.messages).toContain(`${key} = ${value}: no answer; waiting for the leases to expire`);
    await clock.advance(LEASE_MS);
    await beginning;
    expect([ofJob(), clock.pendingTimers]).toEqual([[], 0]);
  });

  test('waits for the leases of the dead', async () => {
    const { begin, clock, data, put, ofJob } = await setUp();
    put(keys.ps(0), 'host:1', data.leaseGrant(LEASE_MS).leaseId);
    const beginning = begin();
    await clock.advance(LEASE_MS - 1);
    expect([await stateOf(beginning), data.get(keys.job) === undefined]).toEqual(['open', false]);
    await clock.advance(1);
    await beginning;
    expect([ofJob(), clock.pendingTimers]).toEqual([[], 0]);
  });

  test.each([
    ['a master took the lock', keys.masterLock],
    ['a pserver claimed an index', keys.ps(1)],
    ['another job was published', keys.job],
  ])('removes nothing when %s', async (_, key) => {
    const { begin, troubled, put, files, ofJob } = await setUp();
    troubled.hold();
    const beginning = begin();
    const state = stateOf(beginning);
    await settled();
    put(key, recordOf('new'));
    const before = ofJob();
    troubled.releaseHold();
    await state;
    expect(await stateOf(beginning)).toBe('refused: JobConflict');
    expect([ofJob(), (await files()).length]).toEqual([before, 2]);
  });

  test('a try that lands late does not hit the job that was begun since', async () => {
    const { begin, troubled, clock, publish, ofJob } = await setUp();
    troubled.next('unknownLate');
    const beginning = begin();
    await clock.advance(5_000);
    await beginning;
    publish('new');
    expect(troubled.landLate()).toEqual([false]);
    expect(ofJob()).toContain(keys.job);
  });

  test('is not repeated on the job that another began since, whose files stay', async () => {
    const { begin, troubled, clock, publish, disk, files, data } = await setUp();
    troubled.next('unknownLanded');
    const beginning = begin();
    await settled();
    publish('new');
    await saveCluster({ storage: disk.storage, pservers: 2, job: jobOf({ jobId: 'new' }), names: 20 });
    await clock.advance(5_000);
    await beginning;
    expect([data.get(keys.job)?.value, await files()]).toEqual([recordOf('new'), [uuidOf(21), uuidOf(22)]]);
  });

  test('is repeated when its first try was lost, also where there is no job', async () => {
    const { begin, troubled, clock, data, ofJob } = await setUp();
    for (const _ of ['a job', 'only what is left of one']) {
      troubled.next('unknownLost');
      const beginning = begin();
      await clock.advance(5_000);
      await beginning;
      expect(ofJob()).toEqual([]);
      data.txn({ if: [], then: [{ put: keys.tasksState, value: 'left' }] });
    }
  });

  test('forgets a job whose record it cannot read; an interruption ends its wait', async () => {
    const { begin, put, data, ofJob, clock, stop } = await setUp();
    put(keys.job, 'of another version');
    await begin();
    expect(ofJob()).toEqual([]);
    put(keys.masterLock, 'x', data.leaseGrant(60_000).leaseId);
    const beginning = begin();
    await clock.advance(100);
    stop.abort();
    expect(await stateOf(beginning)).toBe('refused: Interrupted');
  });
});
