/**
 * A pserver is killed, and its parent ends its lease. Here leases outlast the tests: one that is gone was ended, it did
 * not run out.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { commandOf, type Running } from './processes.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, oneOf, ROLES, SLOWLY, startRun } from './run.ts';

const LONG_LEASES = { ...JOB, cluster: { ...JOB.cluster, leaseTtl: '1h' } };
const INTERRUPTED = 130;
const KILLED = 128 + 9;
const REVOKED = /revoked the lease of pserver \d, which has exited/;

const hasLease = async (store: JobStore, leaseId: bigint): Promise<boolean> =>
  [...(await store.entries()).values()].some((entry) => entry.leaseId === leaseId);

test.each([
  { when: 'before its successor is started', fails: 0 },
  { when: 'when its successor waits for the index', fails: 12 },
])('SIGKILL of a pserver under `run`: its lease is ended $when', async ({ fails }) => {
  const place = openPlace();
  const points = Array.from({ length: fails }, (_, i) => `child.revoking:error=StoreUnavailable@${i + 1}`);
  const { running, store } = await startRun(place, await plantedJob(place, LONG_LEASES), [SLOWLY, ...points].join(','));
  const { index = -1, pid } = oneOf(await liveProcesses(place, ROLES), 'pserver');
  await store.passesOver(2, running);
  const key = `/ps/${index}`;
  const { leaseId } = (await store.get(key))!;
  process.kill(pid, 'SIGKILL');
  await running.said(REVOKED);
  expect(await hasLease(store, leaseId)).toBe(false);
  await store.until((entries) => entries.has(key), running);
  await expectMidRun(store);
  const log = (): string => readFileSync(place.path(JOB_FOLDER, `logs/pserver-${index}.log`), 'utf8');
  expect(/waiting for index \d: held by/.test(log())).toBe(fails > 0);

  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  // Its successor was told of no loss: the lease that was ended was not its own.
  expect(running.err.match(/restarting it/g)).toHaveLength(1);
});

interface Hand {
  readonly place: Place;
  readonly store: JobStore;
  readonly master: Running;
  readonly startGuard: () => Running;
}

async function startWithGuard(place: Place, storeUrl: string): Promise<Hand> {
  const lines = commandLines(await plantedJob(place, LONG_LEASES));
  const start = (name: string, ...more: string[]): Running =>
    place.start(name, [...lines[name]!, ...more], { PADDLET_STORE: storeUrl, PADDLET_FAIL: SLOWLY });
  const master = start('master');
  for (const name of ['pserver 1', 'trainer 0', 'trainer 1']) start(name);
  const store = await openJobStore(storeUrl, JOB.name);
  return { place, store, master, startGuard: () => start('pserver 0', '--guard') };
}

/** The child of the guard, which is the pserver itself. */
function childOf({ place }: Hand): number {
  const found = place.alive().filter((pid) => {
    const command = commandOf(pid) ?? [];
    return (
      command.includes('pserver') && command[command.indexOf('--index') + 1] === '0' && !command.includes('--guard')
    );
  });
  expect(found).toHaveLength(1);
  return found[0]!;
}

/** Starts the guard, and strikes when the pserver serves and so many passes are over. */
async function strike(hand: Hand, passes: number, act: (guard: Running, child: number) => void): Promise<string> {
  const { store, master } = hand;
  const guard = hand.startGuard();
  await guard.said(/serving \d+ shards/);
  await store.passesOver(passes, master);
  const { leaseId } = (await store.get('/ps/0'))!;
  act(guard, childOf(hand));
  // Its outputs are those of its child, too: both are gone then.
  const { code, signal, err } = await guard.ended;
  expect(await hasLease(store, leaseId)).toBe(false);
  await expectMidRun(store);
  return `${signal ?? code}\n${err}`;
}

async function strikeAll(hand: Hand): Promise<void> {
  const { place, store, master } = hand;
  const killed = await strike(hand, 1, (_, child) => process.kill(child, 'SIGKILL'));
  expect(killed).toMatch(new RegExp(`^${KILLED}\n`));
  expect(killed).toMatch(REVOKED);

  const alone = await strike(hand, 3, (guard) => guard.kill('SIGKILL'));
  expect(alone).toMatch(/^SIGKILL\n/);
  expect(alone).toContain('the guard has exited; ending without a save');
  expect(alone).not.toMatch(/draining|ending at once/);
  expect(await store.get('/checkpoints/0')).toBeUndefined();

  // As a service manager does: both get the signal, and the guard passes it on.
  const stopped = await strike(hand, 5, (guard, child) => {
    process.kill(child, 'SIGTERM');
    guard.kill('SIGTERM');
  });
  expect(stopped).toMatch(new RegExp(`^${INTERRUPTED}\n`));
  expect(stopped).toContain('handing over all units');
  expect(stopped).not.toMatch(REVOKED);

  const last = hand.startGuard();
  await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
  expect((await last.ended).code).toBe(0);
}

test('pserver --guard: SIGKILL of the pserver, of its guard, and SIGTERM of both', async () => {
  const place = openPlace();
  await strikeAll(await startWithGuard(place, `sqlite:${place.path('store.db')}`));
});

const reason = whyNoEtcd();
describe.skipIf(reason !== undefined)(`on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('pserver --guard: SIGKILL of the pserver, of its guard, and SIGTERM of both', async () => {
    const place = openPlace();
    await strikeAll(await startWithGuard(place, (await startEtcd()).url));
  });
});
