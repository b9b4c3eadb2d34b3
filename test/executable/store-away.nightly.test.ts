/**
 * The store of a cluster with two copies of each unit is away for three lease times: nothing that was acknowledged is
 * lost, and nothing is loaded from a checkpoint as long as one copy is alive.
 */
import { readFileSync, renameSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { HeadHistory } from './head-history.ts';
import { type Entries, type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';
import { describeProcesses, expectMidRun, JOB_FOLDER } from './run.ts';

const PSERVERS = 3;
const LEASE_MS = 4_000;
const OUTAGE_MS = 3 * LEASE_MS;
const COPIES = 2;
const COPIED = {
  ...JOB,
  cluster: { ...JOB.cluster, pservers: PSERVERS, replicas: COPIES, leaseTtl: `${LEASE_MS}ms` },
};
/** The job lasts for several times the outage. */
const SLOWLY = 'trainer.dealt:delay=150';

interface Run {
  readonly place: Place;
  readonly running: Running;
  readonly store: JobStore;
  readonly heads: HeadHistory;
  readonly where: readonly string[];
}

const isOk = (entries: Entries): boolean =>
  entries.get('/pserver_cluster_status')?.value.includes('"cluster_status":"OK"') ?? false;

/** In mid-run, with all copies in sync. */
async function startCopied(storeUrl: string): Promise<Run> {
  const place = openPlace();
  const where = ['--store', storeUrl];
  const job = await plantedJob(place, COPIED);
  const args = ['run', job, '--dir', JOB_FOLDER, '--json', ...where];
  const running = place.start('run', args, { PADDLET_FAIL: SLOWLY });
  await running.said(/logs in/);
  const store = await openJobStore(storeUrl, JOB.name);
  const heads = new HeadHistory(store);
  await store.until((entries) => isOk(entries) && entries.has('/tasks/passes/0'), running);
  return { place, running, store, heads, where };
}

/** How long the fault lasts: nothing is waited for. */
const outage = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));

const logOf = ({ place }: Run, index: number): string =>
  readFileSync(place.path(JOB_FOLDER, `logs/pserver-${index}.log`), 'utf8');
const allLogs = (run: Run): string[] => Array.from({ length: PSERVERS }, (_, index) => logOf(run, index));

async function expectNothingLost({ place, running, heads }: Run): Promise<void> {
  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  expect(heads.faults).toEqual([]);
}

/** No state of before the last acknowledged push was loaded: nothing was replayed, and no file was read. */
async function expectNothingLoaded(run: Run): Promise<void> {
  expect(await run.store.get('/recovery')).toBeUndefined();
  expect([...run.heads.loaded]).toEqual([]);
  for (const log of allLogs(run)) expect(log).not.toMatch(/from=[0-9a-f-]{36}|repaired/);
}

/** All are suspended, and go on with their copies. */
async function stayAway(run: Run, store: Store): Promise<void> {
  const done = await expectMidRun(run.store);
  run.heads.keepCopies(COPIES);
  await store.take();
  await outage();
  await store.giveBack();
  await run.store.until((entries) => isOk(entries) && entries.has('/tasks/passes/2'), run.running);
  expect(await expectMidRun(run.store)).toBeGreaterThan(done);
  for (const log of allLogs(run)) expect(log).toContain('suspended: the store did not renew the lease in time');

  await expectNothingLost(run);
  await expectNothingLoaded(run);
  expect(run.running.err).not.toContain('restarting it');
}

/** Its units are led by the other copies then, and get new ones. */
async function stayAwayWhileOneDies(run: Run, store: Store): Promise<void> {
  const { place, where } = run;
  const live = await describeProcesses(place, where, 1 + PSERVERS);
  const { pid, index = -1 } = live.find(({ role }) => role === 'pserver')!;
  await store.take();
  process.kill(pid, 'SIGKILL');
  await run.running.said(new RegExp(`pserver ${index} ended \\(SIGKILL\\); restarting it`));
  await outage();
  await store.giveBack();
  await run.store.until((entries) => run.heads.led.size > 0 && isOk(entries), run.running);
  await expectMidRun(run.store);

  await expectNothingLost(run);
  await expectNothingLoaded(run);
}

interface Store {
  readonly take: () => Promise<void> | void;
  readonly giveBack: () => Promise<void> | void;
}

const reason = whyNoEtcd();
describe.skipIf(reason !== undefined)(`etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  async function startOnEtcd() {
    const etcd = await startEtcd();
    const run = await startCopied(etcd.url);
    return { etcd, run, dies: { take: () => etcd.kill(), giveBack: () => etcd.restart() } };
  }

  test('killed, and started again on its data after three lease times: all copies stay', async () => {
    const { run, dies } = await startOnEtcd();
    await stayAway(run, dies);
  });

  test('a pserver dies in that time: pushes wait for etcd, and go on with the other copies', async () => {
    const { run, dies } = await startOnEtcd();
    await stayAwayWhileOneDies(run, dies);
  });

  test('stopped for three lease times, which ends every lease: the parting snapshots have everything', async () => {
    const { etcd, run } = await startOnEtcd();
    await etcd.pause();
    await outage();
    etcd.resume();
    await run.store.until((entries) => isOk(entries) && entries.has('/tasks/passes/2'), run.running);
    await expectMidRun(run.store);

    await expectNothingLost(run);
    for (const log of allLogs(run)) expect(log).toMatch(/parting snapshot \S+ announced/);
    expect(run.running.err.match(/pserver \d ended \(exit code 5\); restarting it/g)).toHaveLength(PSERVERS);
  });
});

describe('SQLite', () => {
  async function startOnDisk() {
    const disk = openPlace().path('disk');
    const run = await startCopied(`sqlite:${disk}/store.db`);
    return {
      run,
      isAway: { take: () => renameSync(disk, `${disk}.away`), giveBack: () => renameSync(`${disk}.away`, disk) },
    };
  }

  test('its disk is away for three lease times: all copies stay', async () => {
    const { run, isAway } = await startOnDisk();
    await stayAway(run, isAway);
  });

  test('a pserver dies in that time: pushes wait for the disk, and go on with the other copies', async () => {
    const { run, isAway } = await startOnDisk();
    await stayAwayWhileOneDies(run, isAway);
  });
});
