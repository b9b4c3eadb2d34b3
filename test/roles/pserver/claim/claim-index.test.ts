/** A wanted index that is held: waited for, and refused only when its owner is alive. */
import { beforeEach, describe, expect, it } from 'vitest';
import { REFUSED_INDEX } from '../../../../scripts/chaos/cluster.ts';
import { isPaddletError, PaddletError } from '../../../../src/base/errors.ts';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import { type HeldLease, holdLease } from '../../../../src/cluster/ownership.ts';
import { createSignal, type Signal } from '../../../../src/cluster/waiting.ts';
import { claimIndex } from '../../../../src/roles/pserver/claim/claim-index.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { asyncPserver, waitingPserver, waitingTrainer } from '../../../cluster/role-infos.ts';
import { aStore, Master, stateOf } from '../../master/tasks/service-rig.ts';

const LEASE_TTL_MS = 2_000;
const HOLDER = 'there:1';

let data: MemoryStoreData;
let process: Master;
/** What the holder of the index answers; undefined: nothing. */
let holder: object | undefined;
let asked: number;
let lease: HeldLease;
let desired: number;
let needed: number | undefined;
let desiredChanged: Signal;

beforeEach(async () => {
  const store = aStore();
  data = store.data;
  process = new Master(store.clock, data);
  holder = undefined;
  asked = 0;
  desired = 1;
  needed = undefined;
  desiredChanged = createSignal();
  lease = await holdLease(process.context, LEASE_TTL_MS);
  data.txn({ if: [], then: [{ put: process.context.keys.ps(0), value: HOLDER }] });
});

const network = {
  connect: (address: string) => ({
    address,
    close: () => {},
    async request() {
      asked += 1;
      expect(address).toBe(HOLDER);
      if (holder === undefined) throw new PaddletError('RequestTimeout', 'no answer');
      return { header: { type: 'info', info: holder }, free: () => {} };
    },
  }),
} as unknown as RoleContext['network'];

const claim = (wanted: number | undefined): ReturnType<typeof claimIndex> =>
  claimIndex({
    context: { ...process.context, network },
    lease,
    address: 'here:1',
    wanted,
    desired: () => desired,
    desiredChanged,
    isNeeded: async (index) => index === needed,
    leaseTtlMs: LEASE_TTL_MS,
    stopSignal: new AbortController().signal,
  });

/** Longer than an index is waited for, while our own lease is renewed. */
const longer = (): Promise<void> => process.clock.advance(2 * LEASE_TTL_MS + 1_000);

/** A live process, of which this version cannot tell more. */
const OF_ANOTHER_VERSION = { role: 'pserver', index: 0, of: 'another version' };

describe('a wanted index', () => {
  it('that the job does not want is refused, unless something of it is needed', async () => {
    const refused: unknown = await claim(2).catch((error: unknown) => error);
    // As the chaos runs find it in the log.
    expect(isPaddletError(refused, 'Usage') && `error ${refused.code}: ${refused.message}`).toContain(REFUSED_INDEX);
    needed = 2;
    expect(await claim(2)).toMatchObject({ index: 2 });
  });

  it.each([asyncPserver(0, 1), waitingPserver, OF_ANOTHER_VERSION])(
    'whose owner answers %o is refused',
    async (info) => {
      holder = info;
      const claimed = claim(0);
      claimed.catch(() => {});
      await process.clock.advance(LEASE_TTL_MS);
      expect(await stateOf(claimed)).toBe('open');
      await longer();
      expect(await stateOf(claimed)).toBe('refused: IndexTaken');
    },
  );

  it.each([undefined, waitingTrainer, asyncPserver(1, 1)])(
    'at whose address %o answers is waited for until it is free',
    async (info) => {
      holder = info;
      const claimed = claim(0);
      claimed.catch(() => {});
      await longer();
      await longer();
      expect(await stateOf(claimed)).toBe('open');
      expect(asked).toBeGreaterThan(1);
      data.txn({ if: [], then: [{ delete: process.context.keys.ps(0) }] });
      await process.clock.advance(0);
      expect(await claimed).toMatchObject({ index: 0 });
    },
  );
});

it('whose owner had the address of this very process is waited for: that owner is dead', async () => {
  holder = waitingPserver;
  data.txn({ if: [], then: [{ put: process.context.keys.ps(0), value: 'here:1' }] });
  const claimed = claim(0);
  claimed.catch(() => {});
  await longer();
  expect([await stateOf(claimed), asked]).toEqual(['open', 0]);
  data.txn({ if: [], then: [{ delete: process.context.keys.ps(0) }] });
  await process.clock.advance(0);
  expect(await claimed).toMatchObject({ index: 0 });
});

it('without a wanted one, no holder is asked', async () => {
  const claimed = claim(undefined);
  claimed.catch(() => {});
  await longer();
  expect(await stateOf(claimed)).toBe('open');
  expect(asked).toBe(0);
});

it('stands by until the job is to have more pservers', async () => {
  const claimed = claim(undefined);
  claimed.catch(() => {});
  await longer();
  expect(await stateOf(claimed)).toBe('open');
  desired = 2;
  desiredChanged.notify();
  await process.clock.advance(0);
  expect(await claimed).toMatchObject({ index: 1 });
});
