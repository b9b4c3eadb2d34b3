/** What a pserver that leaves has done with units that it was taking, in both modes. When a last checkpoint holds. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Generation } from '../../../src/checkpoint/registry/entry.ts';
import { type Head, takenBy } from '../../../src/cluster/placement/heads.ts';
import { createSignal, type Signal } from '../../../src/cluster/waiting.ts';
import { createShardLedgers } from '../../../src/core/shard/ledgers.ts';
import { OwnedHeads } from '../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../src/roles/pserver/held/owned-shards.ts';
import { NO_UNITS } from '../../../src/roles/pserver/modes/rounds/load.ts';
import { RoundWork, type RoundWorkOptions } from '../../../src/roles/pserver/modes/rounds/round-work.ts';
import { startTaskService, type TaskServiceOptions } from '../../../src/roles/pserver/modes/tasks/service.ts';
import type { OrphanHead } from '../../../src/roles/pserver/take/take-units.ts';
import { settled } from '../master/tasks/service-rig.ts';
import { CutRig, FOLDER, INDEX, JOB, ROUND, UNITS } from './modes/rounds/cut-rig.ts';
import { UNTIMED } from './untimed.ts';

const TASKS = 4;
const TIMELINE = 3;
const GONE = { index: 1, token: '999' };
const SIGNAL = new AbortController().signal;

/** A pserver that serves, and to which no unit is due yet. */
interface Started {
  leave(signal: AbortSignal): Promise<boolean>;
  led(): number[];
}

let rig: CutRig;
let fatal: unknown[];
/** That are due to this pserver. */
let orphans: OrphanHead[];
/** Each test has another one: pservers of earlier tests see no orphans of later ones. */
let orphansSeen: Signal;
/** As the store shows it. */
let recovery: number;
let recoverySeen: Signal;

beforeEach(() => {
  rig = new CutRig();
  const ledgers = createShardLedgers(TASKS, [0], new Map());
  rig.ledgerOf = () => ledgers.encode(0);
  [fatal, orphans, orphansSeen] = [[], [], createSignal()];
  [recovery, recoverySeen] = [0, createSignal()];
});

const createWatch = () => ({
  view: orphansSeen,
  isOrphan: () => true,
  due: () => orphans,
  changed: (signal: AbortSignal) => {
    const seen = orphans;
    return orphansSeen.until(() => orphans !== seen || undefined, signal);
  },
});

/** There is no other pserver. */
const options = (mode: 'async' | 'sync') => ({
  ...{ context: rig.context, fence: rig.fence, index: INDEX, folder: FOLDER, spec: JOB.parameters },
  metrics: { times: UNTIMED, saves: { saved: () => {}, failed: () => {} } },
  reads: { inProgress: () => [] },
  record: {
    ...{ id: JOB.jobId, batchPlanId: '', units: UNITS, train: { records: 8, tasks: TASKS } },
    job: {
      cluster: { shards: JOB.shards, leaseTtlMs: 10_000 },
      data: { recordsPerTask: 2, maxBadRecords: 0 },
      training: { mode, lanes: 2, batchSize: 2, pushEvery: 1, seed: JOB.seed, passes: 1 },
      checkpoint: { keep: 1, intervalMs: 'off' },
      hooks: { before: [], after: [] },
    },
  },
  lease: { isHeld: () => true, lost: SIGNAL, changed: createSignal(), onResume: () => {} },
  view: { changed: createSignal(), version: () => 0, units: () => [], live: () => [], isLoaded: () => true },
  records: { of: () => undefined, bytesOf: () => undefined, isLoaded: () => true, version: () => 0 },
  ...{ orphans: createWatch(), stopSignal: rig.stop.signal, master: { check: () => {} } },
  onWaiting: (what: string | undefined) => void rig.waits.push(what),
  onFatal: (error: unknown) => void fatal.push(error),
});

function startTasks(): ReturnType<typeof startTaskService> {
  const recoveries = { changed: recoverySeen, current: () => ({ number: recovery, modRevision: 1n }) };
  const parts = { ...options('async'), recoveries };
  return startTaskService(parts as unknown as TaskServiceOptions);
}

async function startAsync(): Promise<Started> {
  const service = await startTasks();
  return {
    leave: (signal) => service.leave(signal),
    led: () => service.unitBytes().map(({ unit }) => unit),
  };
}

async function startSync(): Promise<Started> {
  const { context, fence, loading, parameters } = rig;
  rig.putCut({ timeline: TIMELINE, round: ROUND, files: [await rig.save(0, [0, 1]), await rig.save(1, [2, 3])] });
  const cuts = { changed: createSignal(), current: () => ({ cut: rig.cut(), modRevision: 1n }) };
  const heads = new OwnedHeads({ context, fence, signal: SIGNAL }, []);
  const job = { spec: JOB.parameters, shards: JOB.shards, units: UNITS, tasks: TASKS };
  const owned = new OwnedShards(job, heads, { parameters, ...NO_UNITS });
  const parts = { ...options('sync'), cuts, loading, batches: {} };
  const work = new RoundWork(parts as unknown as RoundWorkOptions, TIMELINE, owned);
  work.start();
  return {
    leave: (signal) => work.leave(signal),
    led: () => work.state.shards.heads.units(),
  };
}

/** These units have no primary any more, and their last state is in this file. */
function orphan(units: readonly number[], uuid: string): void {
  orphans = units.map((unit) => {
    const head = takenBy(GONE, undefined, { index: GONE.index, uuid });
    rig.put(rig.keys.head(unit), JSON.stringify(head));
    return { unit, modRevision: rig.data.get(rig.keys.head(unit))!.modRevision, head };
  });
  orphansSeen.notify();
}

function seeRecovery(number: number): void {
  recovery = number;
  recoverySeen.notify();
}

const headOf = (unit: number): Head => JSON.parse(rig.data.get(rig.keys.head(unit))!.value) as Head;
const ownerOf = (unit: number): unknown => headOf(unit).primary;

/** Nothing is written to the store until the returned function is called. */
function holdWrites(): () => void {
  const { store } = rig.context;
  const stored = Promise.withResolvers<void>();
  const txn = store.txn.bind(store);
  vi.spyOn(store, 'txn').mockImplementation(async (transaction) => {
    if (transaction.then.some((one) => 'put' in one)) await stored.promise;
    return txn(transaction);
  });
  return stored.resolve;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await settled();
}

describe.each([
  { mode: 'async', start: startAsync },
  { mode: 'sync', start: startSync },
])('in $mode mode a pserver', ({ start }) => {
  let pserver: Started;
  let uuid: string;

  beforeEach(async () => {
    pserver = await start();
    ({ uuid } = await rig.save(GONE.index, [2, 3], ROUND, TIMELINE));
  });

  it('gives up units that it waits for before it has left, and takes them no more', async () => {
    const away = await rig.putAway(GONE.index, uuid);
    orphan([2, 3], uuid);
    await settle();
    expect(rig.waits.at(-1)).toMatch(/^the checkpoint files of pserver 1: /);
    expect(await pserver.leave(SIGNAL)).toBe(true);
    await away.putBack();
    await rig.clock.advance(10_000);
    await settle();
    expect([pserver.led(), ownerOf(2), fatal]).toEqual([[], GONE, []]);
  });

  it('has units that it is becoming the owner of before it says whether it has left', async () => {
    const letWrite = holdWrites();
    orphan([2, 3], uuid);
    await settle();
    const said: boolean[] = [];
    const leaving = pserver.leave(SIGNAL).then((hasLeft) => void said.push(hasLeft));
    await settle();
    expect(said).toEqual([]);
    letWrite();
    await leaving;
    // No other pserver can take them.
    expect([said, pserver.led(), fatal]).toEqual([[false], [2, 3], []]);
  });

  it('gives up what it is taking, and keeps what it leads, when it is stopped while the store does not answer', async () => {
    orphan([2], uuid);
    await settle();
    const { store } = rig.context;
    const down = async (): Promise<never> => {
      throw new PaddletError('StoreUnavailable', 'the store does not answer');
    };
    vi.spyOn(store, 'get').mockImplementation(down);
    vi.spyOn(store, 'txn').mockImplementation(down);
    orphan([3], uuid);
    await settle();
    rig.stop.abort();
    await settle();
    vi.restoreAllMocks();
    await rig.clock.advance(10_000);
    await settle();
    expect([pserver.led(), ownerOf(3), fatal]).toEqual([[2], GONE, []]);
  });

  it('takes units again when it could not leave', async () => {
    orphan([2], uuid);
    await settle();
    expect(pserver.led()).toEqual([2]);
    const away = await rig.putAway(GONE.index, uuid);
    orphan([3], uuid);
    await settle();
    expect(await pserver.leave(SIGNAL)).toBe(false);
    await away.putBack();
    await settle();
    expect([pserver.led(), fatal]).toEqual([[2, 3], []]);
  });
});

it('a pserver that stops makes another last checkpoint when a unit has come since the one of the job', async () => {
  const { uuid } = await rig.save(GONE.index, [2, 3], ROUND);
  const service = await startTasks();
  orphan([2], uuid);
  await settle();
  const ofJob = await service.serving!.checkpoint('last');
  expect(headOf(2).rest).toEqual({ index: INDEX, uuid: ofJob!.uuid });
  // It is becoming the owner of the unit when it is stopped.
  const letWrite = holdWrites();
  orphan([3], uuid);
  await settle();
  rig.stop.abort();
  service.freeze();
  const saving = service.saveLast(0);
  letWrite();
  await saving;
  const newest = JSON.parse(rig.data.get(rig.keys.checkpoint(INDEX))!.value) as Generation;
  expect(newest.uuid).not.toBe(ofJob!.uuid);
  const rest = { index: INDEX, uuid: newest.uuid };
  expect([headOf(2).rest, headOf(3).rest, fatal]).toEqual([rest, rest, []]);
});

it('a pserver takes updates and saves again when another one is restored after the last checkpoint of the job', async () => {
  const { uuid } = await rig.save(GONE.index, [2], ROUND);
  const { serving } = await startTasks();
  orphan([2], uuid);
  seeRecovery(1);
  await settle();
  const first = await serving!.checkpoint('last');
  // Nothing was restored since.
  seeRecovery(1);
  expect([serving!.isFrozen(), await serving!.checkpoint('due')]).toEqual([true, undefined]);
  expect(await serving!.checkpoint('last')).toBe(first);

  seeRecovery(2);
  expect(serving!.isFrozen()).toBe(false);
  const between = await serving!.checkpoint('due');
  const second = await serving!.checkpoint('last');
  expect(new Set([first, between, second].map((file) => file?.uuid)).size).toBe(3);
  expect([between?.uuid, headOf(2).rest]).toEqual([expect.any(String), { index: INDEX, uuid: second!.uuid }]);
  expect([serving!.isFrozen(), fatal]).toEqual([true, []]);
});
