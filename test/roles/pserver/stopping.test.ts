/** Who hands over its units before it ends, and who saves them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { JobWatch } from '../../../src/cluster/job/job-watch.ts';
import { type Owner, takenBy } from '../../../src/cluster/placement/heads.ts';
import { parsePserverRecord } from '../../../src/cluster/placement/pserver-record.ts';
import { createSignal, type Signal } from '../../../src/cluster/waiting.ts';
import type { OwnedIndex } from '../../../src/roles/pserver/claim/owned-index.ts';
import type { ShardService } from '../../../src/roles/pserver/shard-service.ts';
import { serveUntilStopped } from '../../../src/roles/pserver/stopping.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { createSimulatedDisk } from '../../simulated-disk.ts';
import { aStore, Master, stateOf } from '../master/tasks/service-rig.ts';

const INDEX = 3;
const LIMIT_MS = 20_000;
const LEASE_MS = 10_000;

let data: MemoryStoreData;
let process: Master;
let desired: number;
let changed: Signal;
/** Of this process, of the job by a signal to this process, and of the job by its store. */
let stop: AbortController;
let jobStop: AbortController;
let job: AbortController;
let lost: AbortController;
let fatal: AbortController;
let leave: ShardService['leave'];
/** One for each time that it was asked to leave. */
let leaving: PromiseWithResolvers<boolean>[];
let saving: PromiseWithResolvers<void> | undefined;
let events: string[];
/** For copies that their primaries have not saved, one for each last save. */
let patiencesMs: number[];
let isDiskFull: boolean;
let serving: ReturnType<typeof serveUntilStopped>;

beforeEach(() => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
  desired = INDEX + 1;
  changed = createSignal();
  [stop, jobStop, job, lost, fatal] = [1, 2, 3, 4, 5].map(() => new AbortController()) as [
    AbortController,
    AbortController,
    AbortController,
    AbortController,
    AbortController,
  ];
  leaving = [];
  saving = undefined;
  events = [];
  patiencesMs = [];
  isDiskFull = false;
  leave = (signal) => {
    const left = Promise.withResolvers<boolean>();
    leaving.push(left);
    events.push('leaves');
    let isOver = false;
    void left.promise
      .catch(() => {})
      .then(() => {
        isOver = true;
      });
    signal.addEventListener('abort', () => {
      if (!isOver) events.push('gives up');
      left.reject(new PaddletError('Interrupted', 'interrupted'));
    });
    return left.promise;
  };
});

const serve = async (): Promise<void> => {
  const service = {
    unitBytes: () => [{ unit: 1, bytes: 1_000 }],
    leave,
    freeze: () => void events.push('freezes'),
    saveLast: async (patienceMs: number) => {
      events.push('saves');
      patiencesMs.push(patienceMs);
      await saving?.promise;
    },
    stopSaving: async () => {},
    saveParting: async () => {
      events.push('parts');
      if (isDiskFull) throw new PaddletError('CheckpointNotWritten', 'the disk is full');
    },
  } as unknown as ShardService;
  const watch = {
    stopSignal: AbortSignal.any([stop.signal, job.signal]),
    jobSignal: job.signal,
    end: () => undefined,
    stopRequested: () => job.signal.aborted,
  } as unknown as JobWatch;
  const { context } = process;
  const disk = createSimulatedDisk();
  const owned = {
    context: { ...context, host: { ...context.host, disk, storage: disk.storage }, jobStop: jobStop.signal },
    ...{ fence: process.fence, index: INDEX, started: 7, labels: {} },
    listening: { address: 'here:1' },
    lease: { lost: lost.signal },
    record: { job: { training: { mode: 'async' }, cluster: { leaseTtlMs: LEASE_MS } } },
  } as unknown as OwnedIndex;
  const view = { changed, desired: () => desired };
  serving = serveUntilStopped({
    owned,
    service,
    watch,
    view,
    fatal: fatal.signal,
    leaveLimitMs: LIMIT_MS,
    folder: '/data',
  });
  serving.catch(() => {});
  await process.clock.advance(0);
};
const want = async (pservers: number): Promise<void> => {
  desired = pservers;
  changed.notify();
  await process.clock.advance(0);
};
const abort = async (controller: AbortController): Promise<void> => {
  controller.abort();
  await process.clock.advance(0);
};
const key = (): string => process.context.keys.pserver(INDEX);
const status = (): string => parsePserverRecord(key(), data.get(key())!.value).status;

describe('a pserver that the job does not want any more', () => {
  it('hands over all units while it serves, and has left', async () => {
    await serve();
    expect(status()).toBe('up');
    await want(INDEX);
    expect([status(), events]).toEqual(['draining', ['leaves']]);
    leaving[0]!.resolve(true);
    expect(await serving).toBe('left');
    expect(data.get(key())).toBeUndefined();
    expect(events).not.toContain('saves');
  });

  it('says that it leaves while something of it is needed, even when its units went before it could say so', async () => {
    // One that its index led before, whose files are needed until another has taken it.
    const before = takenBy({ index: INDEX, token: '1' }, undefined);
    data.txn({ if: [], then: [{ put: process.context.keys.head(0), value: JSON.stringify(before) }] });
    await serve();
    process.troubled.next('unavailable');
    await want(INDEX);
    leaving[0]!.resolve(true);
    await process.clock.advance(0);
    expect([status(), await stateOf(serving)]).toEqual(['draining', 'open']);
  });

  it('stays until it is wanted again when the store is unreachable in the meantime', async () => {
    await serve();
    process.troubled.isAway = true;
    await want(INDEX);
    leaving[0]!.resolve(true);
    await process.clock.advance(10_000);
    expect(await stateOf(serving)).toBe('open');
    await want(INDEX + 1);
    process.troubled.isAway = false;
    await process.clock.advance(10_000);
    expect([await serving, status()]).toEqual(['left', 'down']);
  });

  it('keeps what the others cannot take, and asks them again', async () => {
    await serve();
    await want(INDEX);
    leaving[0]!.resolve(false);
    await process.clock.advance(1_000);
    expect([status(), events]).toEqual(['draining', ['leaves']]);
    await process.clock.advance(1_000);
    expect(events).toEqual(['leaves', 'leaves']);
    expect(await stateOf(serving)).toBe('open');
    leaving[1]!.resolve(true);
    expect(await serving).toBe('left');
  });

  it('stays when it is wanted again in the meantime, and leaves another time', async () => {
    await serve();
    await want(1);
    await want(2);
    expect(events).toEqual(['leaves']);
    await want(INDEX + 1);
    expect([status(), events]).toEqual(['up', ['leaves', 'gives up']]);
    await want(INDEX);
    leaving[1]!.resolve(true);
    expect(await serving).toBe('left');
  });

  it('stays too when that comes while it waits to ask again', async () => {
    await serve();
    await want(INDEX);
    leaving[0]!.resolve(false);
    await process.clock.advance(1_000);
    await want(INDEX + 1);
    await process.clock.advance(10_000);
    expect([status(), events]).toEqual(['up', ['leaves']]);
  });

  it('saves what it has when the job stops in the meantime', async () => {
    await serve();
    await want(INDEX);
    await abort(job);
    expect(await serving).toBe('left');
    expect(events).toEqual(['leaves', 'gives up', 'freezes', 'saves']);
  });
});

describe('a pserver that is stopped alone', () => {
  it('hands over all units, and saves nothing', async () => {
    await serve();
    await abort(stop);
    expect([status(), events]).toEqual(['draining', ['leaves']]);
    leaving[0]!.resolve(true);
    expect(await serving).toBe('stopped');
    expect(status()).toBe('down');
    expect(events).not.toContain('saves');
  });

  it('saves what no other can take', async () => {
    await serve();
    await abort(stop);
    leaving[0]!.resolve(false);
    expect(await serving).toBe('stopped');
    expect(events).toEqual(['leaves', 'freezes', 'saves']);
    // The others go on, and have their copies.
    expect(patiencesMs).toEqual([0]);
  });

  it('saves what was not handed over within the limit', async () => {
    await serve();
    await abort(stop);
    await process.clock.advance(LIMIT_MS - 1);
    expect(events).toEqual(['leaves']);
    await process.clock.advance(1);
    expect(await serving).toBe('stopped');
    expect(events).toEqual(['leaves', 'gives up', 'freezes', 'saves']);
  });

  it.each([
    ['its launcher or a second signal says so', () => jobStop],
    ['the store says so', () => job],
  ])('and then learns that the whole job stops, as %s, saves at once', async (_, which) => {
    await serve();
    await abort(stop);
    await abort(which());
    expect(await serving).toBe('stopped');
    expect(events).toEqual(['leaves', 'gives up', 'freezes', 'saves']);
  });

  it('after it was not wanted any more has the same limit', async () => {
    await serve();
    await want(INDEX);
    await abort(stop);
    expect(events).toEqual(['leaves', 'gives up', 'leaves']);
    await process.clock.advance(LIMIT_MS);
    expect(await serving).toBe('left');
  });
});

it.each([
  ['with its process', () => [jobStop, stop]],
  ['by the store', () => [job]],
])('a pserver whose whole job stops %s hands over nothing', async (_, which) => {
  await serve();
  for (const controller of which()) controller.abort();
  expect(await serving).toBe('stopped');
  expect(events).toEqual(['freezes', 'saves']);
  // Those that have died by then have lost their leases.
  expect(patiencesMs).toEqual([2 * LEASE_MS]);
});

describe('a pserver whose last save does not end', () => {
  const failure = new PaddletError('Internal', 'a bug');

  beforeEach(async () => {
    saving = Promise.withResolvers();
    await serve();
    await abort(job);
    expect([events, await stateOf(serving)]).toEqual([['freezes', 'saves'], 'open']);
  });

  it('parts when its index turns out to be lost', async () => {
    fatal.abort(new PaddletError('LeaseGone', 'gone'));
    await process.clock.advance(0);
    expect(await stateOf(serving)).toBe('refused: LeaseGone');
    expect(events).toEqual(['freezes', 'saves', 'parts']);
  });

  it('ends with what is fatal', async () => {
    fatal.abort(failure);
    await process.clock.advance(0);
    await expect(serving).rejects.toBe(failure);
    expect(events).toEqual(['freezes', 'saves']);
  });
});

it('a pserver that has lost its index hands over nothing: it parts', async () => {
  await serve();
  lost.abort(new PaddletError('LeaseGone', 'gone'));
  expect(await stateOf(serving)).toBe('refused: LeaseGone');
  expect(events).toEqual(['freezes', 'parts']);
});

it('one that finds its index lost while it hands over parts with what it has', async () => {
  await serve();
  data.txn({ if: [], then: [{ delete: process.fence.key }] });
  await want(INDEX);
  expect(await stateOf(serving)).toBe('refused: LeaseGone');
  expect(events).toEqual(['leaves', 'gives up', 'freezes', 'parts']);
});

it('one that the disk refuses tries again as long as a head counts on it, as the primary or as in sync', async () => {
  const me = { index: INDEX, token: process.fence.token.toString() };
  const other = { index: 1, token: '9' };
  const name = (primary: Owner, inSync: Owner[]): void => {
    const value = JSON.stringify({ ...takenBy(primary, undefined), inSync });
    data.txn({ if: [], then: [{ put: process.context.keys.head(0), value }] });
  };
  name(other, [other, me]);
  isDiskFull = true;
  await serve();
  lost.abort(new PaddletError('LeaseGone', 'gone'));
  await process.clock.advance(60_000);
  expect(await stateOf(serving)).toBe('open');
  expect(events.filter((event) => event === 'parts').length).toBeGreaterThan(10);
  name(other, [other]);
  await process.clock.advance(10_000);
  expect(await stateOf(serving)).toBe('refused: LeaseGone');
});
