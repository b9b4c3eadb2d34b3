/** How long a process that ends with the whole job keeps copies whose primaries have not saved their units. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Head } from '../../../../src/cluster/placement/heads.ts';
import { createSignal, type Signal } from '../../../../src/cluster/waiting.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { untilOthersSaved } from '../../../../src/roles/pserver/replicas/unsaved-copies.ts';
import type { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import { FakeClock } from '../../../store/support.ts';
import { stateOf } from '../../master/tasks/service-rig.ts';

const UNIT = 3;
const LIMIT_MS = 5_000;
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const LED_BY_B: Head = { epoch: 2, led: 1, primary: B, inSync: [B, A] };

let clock: FakeClock;
let changed: Signal;
let head: Head;
let isTakingOver: boolean;
let ending: AbortController;
let waiting: Promise<void>;

beforeEach(async () => {
  [clock, changed, ending] = [new FakeClock(), createSignal(), new AbortController()];
  [head, isTakingOver] = [LED_BY_B, false];
  const member = new Replica<SharedUpdate>(
    { unit: UNIT, me: A, silenceMs: 1_000, minInSync: 1 },
    Replica.copied({ epoch: 2, primary: B }, 0),
  );
  member.step({ type: 'seen', head: LED_BY_B, isPrimaryAlive: true }, 0);
  const copies = {
    ...{ me: A, changed, machines: { units: () => [UNIT], of: () => member } },
    headOf: () => ({ unit: UNIT, head, modRevision: 1n }),
    isTakingOver: () => isTakingOver,
  };
  waiting = untilOthersSaved(copies, {
    clock,
    log: SILENT,
    untilMs: clock.monotonicMs() + LIMIT_MS,
    signal: ending.signal,
  });
  waiting.catch(() => {});
  await clock.advance(LIMIT_MS - 1);
  expect(await stateOf(waiting)).toBe('open');
});

const seen = async (): Promise<unknown> => {
  changed.notify();
  await clock.advance(0);
  return stateOf(waiting);
};

describe('a copy that the store counts on is kept', () => {
  it('until its primary has named the file that it has saved', async () => {
    expect(await seen()).toBe('open');
    head = { ...LED_BY_B, rest: { index: B.index, uuid: 'file' } };
    expect(await seen()).toBe('done');
  });

  it('until its primary has taken it out', async () => {
    head = { ...LED_BY_B, epoch: 3, inSync: [B] };
    expect(await seen()).toBe('done');
  });

  it('until its primary is gone: then this process is to lead the unit', async () => {
    isTakingOver = true;
    expect(await seen()).toBe('done');
  });

  it('for so long at most: a primary that lives by then has it', async () => {
    await clock.advance(1);
    expect(await stateOf(waiting)).toBe('done');
    expect(clock.pendingTimers).toBe(0);
  });

  it('as long as this process has its index', async () => {
    ending.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'Interrupted' });
    expect(clock.pendingTimers).toBe(0);
  });
});
