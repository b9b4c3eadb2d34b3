/** The guard of one process: signals go through it, and it ends when its child has, with the lease of that child. */
import { beforeEach, expect, it } from 'vitest';
import type { ReportedLease } from '../../../src/base/seams.ts';
import { type GuardedChild, guard } from '../../../src/roles/launcher/guard.ts';
import { ProofOfDeath } from '../../../src/roles/launcher/proof-of-death.ts';
import { FakeClock, SILENT } from '../../store/support.ts';
import { stateOf } from '../master/tasks/service-rig.ts';

const TTL_MS = 60_000;
const LEASE: ReportedLease = { leaseId: 7n, state: 'held', ttlMs: TTL_MS };

let clock: FakeClock;
let spawning: PromiseWithResolvers<void>;
let ended: PromiseWithResolvers<string>;
let closed: PromiseWithResolvers<void>;
/** Of the store to the one call. */
let answer: PromiseWithResolvers<void>;
let forwarded: string[];
let revoked: bigint[];
let tell: (told: ReportedLease) => void;
let send: (signal: string) => void;
let guarding: Promise<string>;

beforeEach(() => {
  clock = new FakeClock();
  spawning = Promise.withResolvers();
  ended = Promise.withResolvers();
  closed = Promise.withResolvers();
  answer = Promise.withResolvers();
  forwarded = [];
  revoked = [];
  const leaseRevoke = async (leaseId: bigint): Promise<void> => {
    revoked.push(leaseId);
    await answer.promise;
  };
  guarding = guard({
    name: 'pserver 0',
    proof: new ProofOfDeath({ clock, log: SILENT, url: 'memory:', store: async () => ({ leaseRevoke }) }),
    spawn: async (onLease): Promise<GuardedChild<string, string>> => {
      tell = onLease;
      await spawning.promise;
      return { ended: ended.promise, closed: closed.promise, forward: (signal) => void forwarded.push(signal) };
    },
    onSignal: (run) => {
      send = run;
    },
  });
});

it('passes signals on, also those that come before the child is there', async () => {
  send('SIGTERM');
  spawning.resolve();
  await clock.advance(0);
  send('SIGINT');
  send('SIGINT');
  expect(forwarded).toEqual(['SIGTERM', 'SIGINT', 'SIGINT']);
  expect(await stateOf(guarding)).toBe('open');
});

it('ends as its child has, when the store has ended the lease', async () => {
  spawning.resolve();
  tell(LEASE);
  await clock.advance(1_000);
  // A closed pipe proves nothing.
  closed.resolve();
  await clock.advance(1_000);
  expect(revoked).toEqual([]);
  ended.resolve('killed');
  await clock.advance(0);
  expect(revoked).toEqual([7n]);
  expect(await stateOf(guarding)).toBe('open');
  answer.resolve();
  expect(await guarding).toBe('killed');
});

it('hears the last words of its child first', async () => {
  spawning.resolve();
  ended.resolve('killed');
  await clock.advance(0);
  expect(await stateOf(guarding)).toBe('open');
  tell(LEASE);
  closed.resolve();
  answer.resolve();
  expect(await guarding).toBe('killed');
  expect(revoked).toEqual([7n]);
});

it('does not wait for the store longer than for the TTL, nor after a signal', async () => {
  spawning.resolve();
  tell(LEASE);
  ended.resolve('killed');
  closed.resolve();
  await clock.advance(TTL_MS - 1);
  expect(await stateOf(guarding)).toBe('open');
  send('SIGTERM');
  await clock.advance(0);
  expect(await stateOf(guarding)).toBe('killed');
  expect(forwarded).toEqual([]);
});
