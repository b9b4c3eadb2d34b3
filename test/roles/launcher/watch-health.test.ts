/** What `run` says that the job waits for. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Network } from '../../../src/protocol/messages/channel.ts';
import type { LiveChild } from '../../../src/roles/launcher/suspended-children.ts';
import { watchHealth } from '../../../src/roles/launcher/watch-health.ts';
import { type Waiting, waitingText } from '../../../src/view/health.ts';
import { asyncMaster, asyncPserver, workingTrainer } from '../../cluster/role-infos.ts';
import { MemoryLog } from '../../protocol/rig.ts';
import { aStore, Master } from '../master/tasks/service-rig.ts';

const EVERY_MS = 1_000;

let master: Master;
let clock: ReturnType<typeof aStore>['clock'];
let dead: Set<string>;
let isAdvancing: boolean;
let asked: number;
let waitingFor: string[] | undefined;
let children: LiveChild[];
let resumed: number[];
let data: ReturnType<typeof aStore>['data'];

beforeEach(() => {
  ({ data, clock } = aStore());
  master = new Master(clock, data);
  const { keys } = master.context;
  dead = new Set();
  children = [];
  resumed = [];
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
    log: new MemoryLog(),
    children: () => children,
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
  expect(waitingFor).toEqual(['an answer of pserver 0, or the end of its lease, 5 s']);
  await clock.advance(2 * EVERY_MS);
  expect(waitingFor).toEqual(['an answer of pserver 0, or the end of its lease, 3 s']);
  dead.clear();
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual([]);
});

it('says that the store does not answer', async () => {
  master.troubled.isAway = true;
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual(['the store memory:: the store is unreachable']);
});

/** What the operating system would say of children with these pids. */
const childOf = (name: string, role: LiveChild['role'], pid: number, isSuspended = true): LiveChild => ({
  ...{ name, role, pid, isSuspended: () => isSuspended, resume: () => void resumed.push(pid) },
});

it('names a suspended child whose lease has ended, and resumes it after two lease times', async () => {
  data.txn({ if: [], then: [{ delete: master.context.keys.masterAddr }] });
  children = [
    childOf('master', 'master', 71),
    childOf('pserver 0', 'pserver', 72),
    childOf('trainer 0', 'trainer', 73),
  ];
  await clock.advance(EVERY_MS);
  expect(waitingFor).toEqual(['the master (pid 71), which is suspended, to be resumed by this run, 10 s']);
  await clock.advance(9 * EVERY_MS);
  expect(resumed).toEqual([]);
  await clock.advance(EVERY_MS);
  expect(resumed).toEqual([71]);
});

it('leaves alone a child that is not suspended, and one whose job advances without it', async () => {
  data.txn({ if: [], then: [{ delete: master.context.keys.ps(0) }] });
  children = [childOf('pserver 0', 'pserver', 72, false)];
  await clock.advance(20 * EVERY_MS);
  expect(waitingFor).toEqual(['pserver 0 (0 of 1 are running)']);
  children = [childOf('pserver 0', 'pserver', 72)];
  isAdvancing = true;
  await clock.advance(20 * EVERY_MS);
  expect(resumed).toEqual([]);
});
