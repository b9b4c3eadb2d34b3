/** What `run` says that the job waits for. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { type Waiting, waitingText } from '../../../src/cluster/job/health.ts';
import type { Network } from '../../../src/protocol/messages/channel.ts';
import { watchHealth } from '../../../src/roles/launcher/watch-health.ts';
import { asyncMaster, asyncPserver, workingTrainer } from '../../cluster/role-infos.ts';
import { aStore, Master } from '../master/tasks/service-rig.ts';

const EVERY_MS = 1_000;

let master: Master;
let clock: ReturnType<typeof aStore>['clock'];
let dead: Set<string>;
let isAdvancing: boolean;
let asked: number;
let waitingFor: string[] | undefined;

beforeEach(() => {
  const { data, clock: itsClock } = aStore();
  clock = itsClock;
  master = new Master(clock, data);
  const { keys } = master.context;
  dead = new Set();
  isAdvancing = false;
  asked = 0;
  const infos: Record<string, object> = { m: asyncMaster(), p: asyncPserver(0, 1), t: workingTrainer };
  const network = {
    connect: (address: string) => ({
      address,
      close: () => {},
      request: async () => {
        asked += 1;
        if (dead.has(address)) throw new PaddletError('ConnectionLost', 'refused');
        return { header: { type: 'info', info: infos[address] }, free: () => {} };
      },
    }),
  } as unknown as Network;
  for (const [key, value] of [
    [keys.masterAddr, 'm'],
    [keys.ps(0), 'p'],
    [keys.trainer(workingTrainer.id), 't'],
  ] as const) {
    const { leaseId } = data.leaseGrant(60_000);
    data.txn({ if: [], then: [{ put: key, value, leaseId }] });
  }
  const cancel = watchHealth({
    ...master.context,
    clock,
    network,
    needs: () => ({ pservers: 1, minTrainers: 1, leaseTtlMs: 5_000 }),
    hasAdvanced: () => isAdvancing,
    onWaiting: (waiting: readonly Waiting[]) => {
      waitingFor = waiting.map(waitingText);
    },
  });
  onTestFinished(cancel);
});

it('says nothing while all that the job needs is there', async () => {
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual([]);
  expect(asked).toBe(3);
});

it('asks nothing while the job advances', async () => {
  isAdvancing = true;
  dead.add('p');
  await clock.advance(3 * EVERY_MS);
  expect(waitingFor).toEqual([]);
  expect(asked).toBe(0);
});

it('counts down to the end of the lease of a process that does not answer, and forgets it when it does', async () => {
  dead.add('p');
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual(['the lease of pserver 0 to expire, 5 s']);
  await clock.advance(2 * EVERY_MS);
  expect(waitingFor).toEqual(['the lease of pserver 0 to expire, 3 s']);
  dead.clear();
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual([]);
});

it('says that the store does not answer', async () => {
  master.troubled.isAway = true;
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual(['the store memory:: the store is unreachable']);
});
