/** Who has waited for the exit of its child ends the leases that this child told it, and no others. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { armFailPoints } from '../../../src/base/fail-points.ts';
import type { ReportedLease } from '../../../src/base/seams.ts';
import { ProofOfDeath } from '../../../src/roles/launcher/proof-of-death.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { storeThrough } from '../../commands/store-through.ts';
import { FakeClock, RecordingLog } from '../../store/support.ts';

const TTL_MS = 60_000;
const INDEX = '/j/ps/0';
const never = new AbortController().signal;

let clock: FakeClock;
let log: RecordingLog;
let data: MemoryStoreData;
let opened: number;
/** Thrown by the next calls, one each. */
let failures: Error[];
let proof: ProofOfDeath;

beforeEach(() => {
  clock = new FakeClock();
  log = new RecordingLog();
  data = new MemoryStoreData({ clock });
  opened = 0;
  failures = [];
  const store = new MemoryStore(data);
  const leaseRevoke = async (leaseId: bigint): Promise<void> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return store.leaseRevoke(leaseId);
  };
  proof = new ProofOfDeath({
    ...{ clock, log, url: 'memory:' },
    store: async () => {
      opened++;
      return storeThrough(store, { leaseRevoke });
    },
  });
});

const away = (): Error => new PaddletError('StoreUnavailable', 'the store is unreachable');

/** A lease, told as by a child. */
function lease(): ReportedLease {
  const { leaseId } = data.leaseGrant(TTL_MS);
  return { leaseId, state: 'held', ttlMs: TTL_MS };
}

/** Whether the claim succeeded. */
function claims({ leaseId }: ReportedLease): boolean {
  const put = { put: INDEX, value: `${leaseId}`, leaseId };
  return data.txn({ if: [{ key: INDEX, createRevision: 0n }], then: [put] }).succeeded;
}

const holderOf = (key: string): string | undefined => data.get(key)?.value;

it('ends the lease when the exit was waited for, and not before', async () => {
  const life = proof.watch('pserver 0');
  const held = lease();
  life.told(held);
  expect(claims(held)).toBe(true);
  await clock.advance(1_000);
  expect(holderOf(INDEX)).toBe(`${held.leaseId}`);
  // The store is at hand before it is needed.
  expect(opened).toBe(1);
  life.exited();
  await clock.advance(0);
  expect(holderOf(INDEX)).toBeUndefined();
  expect(log.messages).toEqual(['revoked the lease of pserver 0, which has exited']);
  expect(opened).toBe(1);
});

it('ends a lease whose report is read after the exit', async () => {
  const life = proof.watch('pserver 0');
  const held = lease();
  claims(held);
  life.exited();
  life.told(held);
  await clock.advance(0);
  expect(holderOf(INDEX)).toBeUndefined();
});

it('ends that lease alone when a later child has told its own in the meantime', async () => {
  const first = proof.watch('pserver 0');
  const old = lease();
  first.exited();
  const second = proof.watch('pserver 0');
  const young = lease();
  second.told(young);
  claims(young);
  first.told(old);
  await clock.advance(0);
  expect(() => data.leaseKeepAlive(old.leaseId)).toThrow('has ended');
  expect(holderOf(INDEX)).toBe(`${young.leaseId}`);
});

it('leaves alone what the child has ended by itself, and asks the store for nothing', async () => {
  const life = proof.watch('pserver 0');
  const held = lease();
  life.told(held);
  life.told({ ...held, state: 'ended' });
  failures.push(new Error('asked'));
  life.exited();
  await clock.advance(1_000);
  expect([failures.length, log.messages]).toEqual([1, []]);
});

it('never ends the lease of a later child, which has the index by the time that the store answers', async () => {
  const first = proof.watch('pserver 0');
  const old = lease();
  first.told(old);
  claims(old);
  failures.push(away(), away(), away(), away());
  first.exited();
  await clock.advance(50);

  // The lease of the first ends in another way, and its successor has the index.
  const second = proof.watch('pserver 0');
  const young = lease();
  second.told(young);
  expect(claims(young)).toBe(false);
  data.leaseRevoke(old.leaseId);
  expect(claims(young)).toBe(true);
  await clock.advance(TTL_MS / 2);
  expect(failures).toEqual([]);
  expect(log.messages.at(-1)).toBe('revoked the lease of pserver 0, which has exited');
  expect(holderOf(INDEX)).toBe(`${young.leaseId}`);
  second.exited();
  await clock.advance(0);
  expect(holderOf(INDEX)).toBeUndefined();
});

it('a child that is started before the lease of the first is revoked takes the index after it', async () => {
  const say = (message: string): void => void log.messages.push(message);
  const hands = { kill: () => {}, stop: () => {}, say };
  armFailPoints('child.revoking:error=StoreUnavailable@1,child.revoking:error=StoreUnavailable@2', hands);
  onTestFinished(() => armFailPoints(undefined, hands));
  const first = proof.watch('pserver 0');
  const old = lease();
  first.told(old);
  claims(old);
  first.exited();
  await clock.advance(0);
  const second = proof.watch('pserver 0');
  const young = lease();
  second.told(young);
  expect(claims(young)).toBe(false);
  await clock.advance(1_000);
  expect(claims(young)).toBe(true);
  await clock.advance(TTL_MS / 2);
  expect(holderOf(INDEX)).toBe(`${young.leaseId}`);
});

it('repeats it for as long as the store does not answer: a store that restarts lets leases run again', async () => {
  const life = proof.watch('pserver 0');
  life.told(lease());
  failures.push(...Array.from({ length: 100 }, away));
  life.exited();
  await clock.advance(3 * TTL_MS);
  expect(failures).toEqual([]);
  expect(log.messages.at(-1)).toBe('revoked the lease of pserver 0, which has exited');
});

it('gives up when the store says that it will not', async () => {
  const life = proof.watch('pserver 0');
  life.told(lease());
  failures.push(new PaddletError('StoreReplaced', 'another store'), new Error('asked again'));
  life.exited();
  await clock.advance(TTL_MS);
  expect(failures).toHaveLength(1);
  expect(log.messages).toEqual(['could not revoke the lease of pserver 0, which has exited: another store']);
});

it('settles when the store has answered, after the TTL, after a limit, or by a signal', async () => {
  const stop = new AbortController();
  for (const { limitMs, afterMs, signal } of [
    { limitMs: undefined, afterMs: TTL_MS, signal: never },
    { limitMs: 2_000, afterMs: 2_000, signal: never },
    { limitMs: undefined, afterMs: 10, signal: stop.signal },
  ]) {
    let attempts = 0;
    const leaseRevoke = async (): Promise<void> => {
      attempts++;
      throw away();
    };
    const broken = new ProofOfDeath({ clock, log, url: 'memory:', store: async () => ({ leaseRevoke }) });
    const life = broken.watch('pserver 0');
    life.told(lease());
    life.exited();
    let isSettled = false;
    const settled = broken.settle(signal, limitMs).then(() => {
      isSettled = true;
    });
    await clock.advance(afterMs - 1);
    expect(isSettled).toBe(false);
    if (signal === stop.signal) stop.abort();
    await clock.advance(1);
    expect(isSettled).toBe(true);
    await settled;
    const before = attempts;
    expect(before).toBeGreaterThan(0);
    await clock.advance(10_000);
    expect(attempts).toBe(before);
    expect(log.messages.at(-1)).toContain('will expire');
  }
});

it('settles at once when nothing is under way, and asks for nothing afterwards', async () => {
  const stop = new AbortController();
  stop.abort();
  await proof.settle(stop.signal, 2_000);
  failures.push(new Error('asked'));
  const life = proof.watch('pserver 0');
  life.exited();
  life.told(lease());
  await clock.advance(1_000);
  expect([failures.length, log.messages]).toEqual([1, []]);
});
