/** A role that waits has read the job: it ends, to be started again, when that is no longer the job in the store. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import type { ReportedLease } from '../../src/base/seams.ts';
import type { RoleContext } from '../../src/cluster/context.ts';
import { followTrainers } from '../../src/roles/master/trainers.ts';
import { holdReportedLease } from '../../src/roles/pserver/claim/reported-lease.ts';
import { runPserver } from '../../src/roles/pserver/pserver.ts';
import { runTrainer } from '../../src/roles/trainer/trainer.ts';
import type { MemoryStoreData } from '../../src/store/memory-store.ts';
import type { Op } from '../../src/store/store.ts';
import { aJob, publishing, recordOf } from '../cluster/job/stored-job.ts';
import { storeThrough } from '../commands/store-through.ts';
import { aStore, Master, stateOf } from './master/tasks/service-rig.ts';

const LEASE_MS = 600_000;
const record = recordOf(aJob());
const successor = recordOf(aJob(), { id: '6f8d2c1a-0000-4000-8000-00000000000b' });

let data: MemoryStoreData;
let rig: Master;
let context: RoleContext;
let stop: AbortController;

const write = (...then: Op[]): void => void data.txn({ if: [], then });

beforeEach(() => {
  const store = aStore();
  data = store.data;
  rig = new Master(store.clock, data);
  stop = new AbortController();
  const server = { port: 1, close: async () => {} };
  context = {
    ...rig.context,
    stop: stop.signal,
    host: { ...rig.context.host, random: { uuid: () => crypto.randomUUID(), fraction: () => 0.5 } },
    network: { ...rig.context.network, listen: async () => server } as unknown as RoleContext['network'],
    health: () => async () => undefined,
  };
  write(...publishing(context.keys, record));
});

/** `run --fresh` of the job, which sees none of those who wait. */
function startOver(): void {
  write({ deletePrefix: `${context.keys.chroot}/` });
  write(...publishing(context.keys, successor));
}

const morePasses = (): void => write({ put: context.keys.passesDesired, value: '4' });

const ROLES: readonly (readonly [string, RegExp, () => Promise<unknown>])[] = [
  [
    'trainer',
    /waiting for pserver 1/,
    () => runTrainer(context, { dataDir: undefined, cacheDir: '/cache', jobDir: '/job' }),
  ],
  ['pserver', /waiting for index 0/, () => runPserver(context, { index: 0, checkpointDir: '/checkpoints' })],
];

describe.each(ROLES)('a %s that waits', (_role, waits, run) => {
  it.each([
    ['was started over', startOver],
    ['has more passes', morePasses],
  ])('ends when the job %s', async (_what, change) => {
    const { leaseId } = data.leaseGrant(LEASE_MS);
    write({ put: context.keys.ps(0), value: 'there:1', leaseId });
    const running = run();
    running.catch(() => {});
    await rig.clock.advance(1_000);
    expect(rig.log.messages.join('\n')).toMatch(waits);
    expect(await stateOf(running)).toBe('open');
    change();
    await rig.clock.advance(1_000);
    expect(await stateOf(running)).toBe('refused: JobChanged');
    expect(rig.log.messages.join('\n')).not.toContain('serving');
    stop.abort();
  });
});

it('a trainer of another job takes no place among those of this one', async () => {
  const { keys } = context;
  const trainer = (id: string, value: string): void => write({ put: keys.trainer(id), value });
  const joined: string[] = [];
  const gone: string[] = [];
  const rosters: (readonly string[])[] = [];
  trainer('a', JSON.stringify({ address: 'there:1', job: record.id }));
  trainer('b', JSON.stringify({ address: 'there:2', job: successor.id }));
  trainer('c', 'there:3');
  const live = followTrainers(context, record, {
    onRoster: (list) => rosters.push(list),
    onJoined: (id) => joined.push(id),
    onGone: (id) => gone.push(id),
    onFatal: (error) => {
      throw error;
    },
  });
  await rig.clock.advance(10);
  trainer('d', JSON.stringify({ address: 'there:4', job: successor.id }));
  trainer('e', JSON.stringify({ address: 'there:5', job: record.id }));
  for (const id of ['a', 'b', 'd']) write({ delete: keys.trainer(id) });
  await rig.clock.advance(10);
  expect({ rosters, joined, gone }).toEqual({ rosters: [['a']], joined: ['e'], gone: ['a'] });
  expect([...live.addresses]).toEqual([['e', 'there:5']]);
  expect(rig.log.messages.filter((one) => one.includes('not counted'))).toHaveLength(3);
  live.cancel();
});

describe('the lease of a pserver', () => {
  it('is told before anything is claimed under it, and when the pserver has ended it', async () => {
    const told: ReportedLease[] = [];
    const { leaseId } = data.leaseGrant(LEASE_MS);
    write({ put: context.keys.ps(0), value: 'there:1', leaseId });
    const reportLease = (lease: ReportedLease): void => void told.push(lease);
    const running = runPserver(context, { index: 0, checkpointDir: '/checkpoints', reportLease });
    await rig.clock.advance(1_000);
    const held = { leaseId: leaseId + 1n, state: 'held', ttlMs: record.job.cluster.leaseTtlMs };
    expect(told).toEqual([held]);
    stop.abort();
    await rig.clock.advance(1_000);
    expect(await stateOf(running)).toBe('stopped');
    expect(told).toEqual([held, { ...held, state: 'ended' }]);
  });

  it('is not told as ended when the store did not confirm it', async () => {
    const told: ReportedLease[] = [];
    const leaseRevoke = async (): Promise<void> => {
      throw new PaddletError('StoreUnavailable', 'the store is unreachable');
    };
    const lease = await holdReportedLease(
      { ...context, store: storeThrough(context.store, { leaseRevoke }) },
      LEASE_MS,
      (one) => void told.push(one),
    );
    expect(await lease.release()).toBe(false);
    expect(told.map(({ state }) => state)).toEqual(['held']);
  });
});
