/** What a role says that it waits for outside: when it begins, and when it is over. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import type { RoleContext } from '../../src/cluster/context.ts';
import { holdLease, retryStore } from '../../src/cluster/ownership.ts';
import { createTroubles, troublesOf } from '../../src/cluster/troubles.ts';
import { aStore, Master } from '../roles/master/tasks/service-rig.ts';

const TTL_MS = 3_000;

const full = (): PaddletError => new PaddletError('StoreUnavailable', 'disk full at /d/store.db');
const SAID = [{ kind: 'store', text: 'the store memory:: disk full at /d/store.db' }];

it('the store, from the first renewal of the lease that fails until one succeeds', async () => {
  const { data, clock } = aStore();
  const { context } = new Master(clock, data);
  let isFull = false;
  const leaseKeepAlive: RoleContext['store']['leaseKeepAlive'] = (leaseId) =>
    isFull ? Promise.reject(full()) : context.store.leaseKeepAlive(leaseId);
  const here: RoleContext = { ...context, store: { ...context.store, leaseKeepAlive } };
  const lease = await holdLease(here, TTL_MS);
  await clock.advance(TTL_MS);
  expect(troublesOf(here)).toEqual([]);
  isFull = true;
  await clock.advance(TTL_MS / 2);
  expect(troublesOf(here)).toEqual(SAID);
  isFull = false;
  await clock.advance(TTL_MS);
  expect(troublesOf(here)).toEqual([]);
  await lease.release();
});

it('the store, while a call is repeated', async () => {
  const { data, clock } = aStore();
  const { context } = new Master(clock, data);
  let isFull = true;
  const call = retryStore(context, () => (isFull ? Promise.reject(full()) : Promise.resolve('answered')));
  await clock.advance(0);
  expect(troublesOf(context)).toEqual(SAID);
  isFull = false;
  await clock.advance(10_000);
  expect(await call).toBe('answered');
  expect(troublesOf(context)).toEqual([]);
});

it('what the store knows of its disk goes before what its calls say', () => {
  const troubles = createTroubles();
  troubles.set('store', 'the store memory:: no answer');
  troubles.set('checkpointFolder', 'room in the checkpoint folder /c');
  const trouble = { kind: 'full' as const, path: '/d/store.db', text: 'the disk of /d is full', remedy: 'free it' };
  expect(troublesOf({ troubles, store: { trouble: () => trouble } })).toEqual([
    { kind: 'store', text: 'the store: the disk of /d is full' },
    { kind: 'checkpointFolder', text: 'room in the checkpoint folder /c' },
  ]);
  expect(troublesOf({ troubles, store: {} }).map(({ kind }) => kind)).toEqual(['store', 'checkpointFolder']);
});
