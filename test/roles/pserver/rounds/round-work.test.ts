/** Sync mode: what a pserver does one thing at a time, and what it has done before it leaves. */
import { beforeEach, expect, it, vi } from 'vitest';
import { type Head, takenBy } from '../../../../src/cluster/placement/heads.ts';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import { createShardLedgers } from '../../../../src/core/shard/ledgers.ts';
import { OwnedHeads } from '../../../../src/roles/pserver/owned-heads.ts';
import { NO_UNITS } from '../../../../src/roles/pserver/rounds/load.ts';
import { RoundWork, type RoundWorkOptions } from '../../../../src/roles/pserver/rounds/round-work.ts';
import { OwnedShards } from '../../../../src/roles/pserver/shards.ts';
import type { OrphanHead } from '../../../../src/roles/pserver/take-units.ts';
import { settled } from '../../master/tasks/service-rig.ts';
import { CutRig, FOLDER, INDEX, JOB, ROUND, UNITS } from './cut-rig.ts';

const TIMELINE = 3;
const TASKS = 4;
const GONE = { index: 1, token: '999' };
const SIGNAL = new AbortController().signal;

let rig: CutRig;
let work: RoundWork;
let fatal: unknown[];
/** That are due to this pserver. */
let orphans: OrphanHead[];
const orphansSeen = createSignal();

beforeEach(async () => {
  rig = new CutRig();
  const ledgers = createShardLedgers(TASKS, [0], new Map());
  rig.ledgerOf = () => ledgers.encode(0);
  [fatal, orphans] = [[], []];
  rig.putCut({ timeline: TIMELINE, round: ROUND, files: [await rig.save(0, [0, 1]), await rig.save(1, [2, 3])] });
  const { context, fence, loading, parameters } = rig;
  const heads = new OwnedHeads({ context, fence, signal: SIGNAL }, []);
  const job = { spec: JOB.parameters, shards: JOB.shards, units: UNITS, tasks: TASKS };
  const owned = new OwnedShards(job, heads, { parameters, ...NO_UNITS });
  const options = {
    ...{ context, fence, index: INDEX, folder: FOLDER, loading, spec: JOB.parameters, stopSignal: SIGNAL, batches: {} },
    record: {
      ...{ id: JOB.jobId, batchPlanId: '', units: UNITS, train: { records: 8, tasks: TASKS } },
      job: {
        cluster: { shards: JOB.shards, leaseTtlMs: 10_000 },
        data: { recordsPerTask: 2, maxBadRecords: 0 },
        training: { mode: 'sync', lanes: 2, batchSize: 2, seed: JOB.seed, passes: 1 },
        checkpoint: {},
      },
    },
    lease: { isHeld: () => true, lost: SIGNAL, onResume: () => {} },
    view: { changed: createSignal(), version: () => 0, units: () => [], live: () => [], isLoaded: () => true },
    records: { of: () => undefined, bytesOf: () => undefined, isLoaded: () => true, version: () => 0 },
    cuts: { changed: createSignal(), current: () => ({ cut: rig.cut(), modRevision: 1n }) },
    orphans: {
      view: orphansSeen,
      isOrphan: () => true,
      due: () => orphans,
      changed: (signal: AbortSignal) => {
        const seen = orphans;
        return orphansSeen.until(() => orphans !== seen || undefined, signal);
      },
    },
    master: { check: () => {} },
    metrics: {},
    onFatal: (error: unknown) => void fatal.push(error),
  } as unknown as RoundWorkOptions;
  work = new RoundWork(options, TIMELINE, owned);
  work.start();
});

/** These units have no primary any more, and their last state is in this file. */
function orphan(units: readonly number[], uuid: string): void {
  orphans = units.map((unit) => {
    const head = takenBy(GONE, undefined, { index: 1, uuid });
    rig.put(rig.keys.head(unit), JSON.stringify(head));
    return { unit, modRevision: rig.data.get(rig.keys.head(unit))!.modRevision, head };
  });
  orphansSeen.notify();
}

const ownerOf = (unit: number): unknown => (JSON.parse(rig.data.get(rig.keys.head(unit))!.value) as Head).primary;
const led = (): number[] => [...work.state.shards.heads.units()];

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await settled();
}

it('gives up units that it waits for before it has left, and takes them no more', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const away = await rig.putAway(1, uuid);
  orphan([2, 3], uuid);
  await settle();
  expect(rig.waits.at(-1)).toMatch(/^the checkpoint files of pserver 1: /);
  expect(await work.leave(SIGNAL)).toBe(true);
  await away.putBack();
  await rig.clock.advance(10_000);
  await settle();
  expect([led(), ownerOf(2), rig.parameters.shards(), fatal]).toEqual([[], GONE, [], []]);
});

it('has units that it is becoming the owner of before it says whether it has left', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const { store } = rig.context;
  const stored = Promise.withResolvers<void>();
  const txn = store.txn.bind(store);
  vi.spyOn(store, 'txn').mockImplementation(async (transaction) => {
    if (transaction.then.some((one) => 'put' in one)) await stored.promise;
    return txn(transaction);
  });
  orphan([2, 3], uuid);
  await settle();
  const said: boolean[] = [];
  const leaving = work.leave(SIGNAL).then((hasLeft) => void said.push(hasLeft));
  await settle();
  expect(said).toEqual([]);
  stored.resolve();
  await leaving;
  // No other pserver can take them.
  expect([said, led(), fatal]).toEqual([[false], [2, 3], []]);
});

it('takes units again when it could not leave', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  orphan([2], uuid);
  await settle();
  expect(led()).toEqual([2]);
  const away = await rig.putAway(1, uuid);
  orphan([3], uuid);
  await settle();
  expect(await work.leave(SIGNAL)).toBe(false);
  await away.putBack();
  await settle();
  expect([led(), fatal]).toEqual([[2, 3], []]);
});
