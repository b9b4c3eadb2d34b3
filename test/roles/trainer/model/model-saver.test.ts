/** A trainer that is chosen to write the model, keeps the choice, and gives up quietly when it has lost it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { MasterClient } from '../../../../src/cluster/client/master-client.ts';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { throwIfAborted } from '../../../../src/cluster/waiting.ts';
import { createModelSaver, type ModelSaver } from '../../../../src/roles/trainer/model/model-saver.ts';
import { FakeClock, RecordingLog } from '../../../store/support.ts';

const LEASE_TTL_MS = 3_000;
const RENEWAL_MS = (2 * LEASE_TTL_MS) / 3;

type Header = { readonly type: string; readonly choice?: number };

let clock: FakeClock;
let log: RecordingLog;
/** The choice that stands at the master. */
let standing: { pass: number; choice: number } | undefined;
let asked: Header[];
let told: Header[];
let ends: unknown[];
let writing: { confirm: () => Promise<void>; signal: AbortSignal; done: PromiseWithResolvers<string> } | undefined;
let stop: AbortController;
let saver: ModelSaver;

const master = {
  async request({ header }: { header: Header }) {
    if (header.type === 'savedModel') told.push(header);
    else asked.push(header);
    const isMine = header.choice === undefined || header.choice === standing?.choice;
    return { header: { type: header.type, ...(standing && isMine && { chosen: standing }) }, free: () => {} };
  },
} as unknown as MasterClient;

beforeEach(() => {
  clock = new FakeClock();
  log = new RecordingLog();
  standing = { pass: 3, choice: 7 };
  asked = [];
  told = [];
  ends = [];
  writing = undefined;
  stop = new AbortController();
  saver = createModelSaver({
    context: { host: { clock, log } } as unknown as RoleContext,
    record: { id: 'j', batchPlanId: 'c', job: { cluster: { leaseTtlMs: LEASE_TTL_MS } } } as unknown as JobRecord,
    id: 'a',
    master,
    save: (_pass, confirm, signal) => {
      const done = Promise.withResolvers<string>();
      signal.addEventListener('abort', () => done.reject(new PaddletError('Interrupted', 'interrupted')));
      writing = { confirm, signal, done };
      return done.promise;
    },
    stopSignal: stop.signal,
    onFatal: (error) => ends.push(error),
  });
});
afterEach(() => expect(ends).toEqual([]));

const settle = (): Promise<void> => clock.advance(0);

async function begin(): Promise<NonNullable<typeof writing>> {
  saver.wanted();
  await settle();
  return writing!;
}

const diskFull = (): Error => Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });

describe('who is chosen', () => {
  it('keeps the choice while it writes, and tells where the model is', async () => {
    const { done, confirm, signal } = await begin();
    await clock.advance(2 * RENEWAL_MS);
    expect(asked.map(({ choice }) => choice)).toEqual([undefined, 7, 7]);
    await confirm();
    throwIfAborted(signal);
    done.resolve('/models/m');
    await settle();
    expect(told).toEqual([
      { type: 'savedModel', job: 'j', batchPlanId: 'c', trainer: 'a', pass: 3, choice: 7, path: '/models/m' },
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('tells what keeps it from writing', async () => {
    const { done } = await begin();
    done.reject(diskFull());
    await settle();
    expect(told).toMatchObject([{ choice: 7, error: 'ENOSPC: no space left' }]);
  });

  it('starts again after that', async () => {
    (await begin()).done.reject(diskFull());
    await settle();
    standing = { pass: 3, choice: 8 };
    (await begin()).done.resolve('/models/m');
    await settle();
    expect(told).toMatchObject([{ choice: 7 }, { choice: 8, path: '/models/m' }]);
  });
});

describe('who has lost the choice', () => {
  it('hears of it at the next renewal and stops', async () => {
    const { signal } = await begin();
    standing = { pass: 3, choice: 8 };
    expect(signal.aborted).toBe(false);
    await clock.advance(RENEWAL_MS);
    expect(signal.aborted).toBe(true);
    expect(told).toEqual([]);
    expect(log.messages.join()).toMatch(/abandoned saving the model after pass 3/);
  });

  it('hears of it at once when the master wants somebody to write one', async () => {
    const { signal } = await begin();
    standing = undefined;
    saver.wanted();
    saver.wanted();
    await settle();
    expect(signal.aborted).toBe(true);
    expect(asked).toHaveLength(2);
  });

  it('does not put its file into its place', async () => {
    const { confirm } = await begin();
    standing = undefined;
    await expect(confirm()).rejects.toMatchObject({ code: 'Interrupted' });
  });

  it('reports no error: the trainer chosen after it removed its file', async () => {
    const { done } = await begin();
    standing = { pass: 3, choice: 8 };
    done.reject(Object.assign(new Error('ENOENT: rename'), { code: 'ENOENT' }));
    await settle();
    expect(told).toEqual([]);
    expect(log.messages.join()).not.toMatch(/ENOENT/);
  });
});

it('a bug is no loss of the choice: it ends the process', async () => {
  const { done } = await begin();
  standing = undefined;
  const bug = new TypeError('a bug');
  done.reject(bug);
  await settle();
  expect(ends.splice(0)).toEqual([bug]);
});

it('a trainer that is not chosen does not write', async () => {
  standing = undefined;
  saver.wanted();
  await settle();
  expect(writing).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});
