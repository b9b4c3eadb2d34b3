/** A resize is watched until all is in place, and says what is waited for. */
import { beforeEach, describe, expect, it } from 'vitest';
import { trainerEntryText } from '../../../src/cluster/trainer-entry.ts';
import type { SizesAsked } from '../../../src/commands/base/size-bounds.ts';
import { byHand } from '../../../src/commands/resize/by-hand.ts';
import type { ResizedJob, ResizeState } from '../../../src/commands/resize/resize-state.ts';
import { resizeJson, resizeText } from '../../../src/commands/resize/resize-text.ts';
import { watchResize } from '../../../src/commands/resize/watch-resize.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { keys, MB, SpreadRig } from '../../cluster/placement/spread-rig.ts';
import { aStore, stateOf } from '../../roles/master/tasks/service-rig.ts';
import type { FakeClock } from '../../store/support.ts';
import { storeThrough } from '../store-through.ts';

let clock: FakeClock;
let store: MemoryStore;
let rig: SpreadRig;
let last: ResizeState | undefined;
let progress: { readonly moved: number; readonly total: number } | undefined;
let late: ResizeState[];

beforeEach(() => {
  const parts = aStore();
  clock = parts.clock;
  store = new MemoryStore(parts.data);
  rig = new SpreadRig(parts.data);
  rig.twoEven();
  want(2);
  rig.write({ put: keys.masterLock, value: '{}' }, { put: keys.trainer('a'), value: 'here:9' });
  last = undefined;
  late = [];
  job = { units: 4 };
});

const want = (pservers: number): void => rig.write({ put: keys.psDesired, value: String(pservers) });
let job: ResizedJob;
const watch = async (asked: Partial<SizesAsked>, signal = new AbortController().signal, through: Store = store) => {
  const watching = watchResize({
    ...{ clock, store: through, keys, job, signal },
    asked: { pservers: undefined, trainers: undefined, ...asked },
    onState: (state, now) => {
      last = state;
      progress = now;
    },
    onLate: (state) => void late.push(state),
  });
  watching.catch(() => {});
  await clock.advance(0);
  return { watching };
};
const waitingFor = async (): Promise<readonly string[] | undefined> => {
  await clock.advance(0);
  return last?.waitingFor;
};

describe('a resize to more pservers', () => {
  it('waits for them to start, to take part, and for their share', async () => {
    want(3);
    const { watching } = await watch({ pservers: 3 });
    expect(await waitingFor()).toEqual(['pserver 2 to start']);
    rig.claim(2);
    expect(await waitingFor()).toEqual(['pserver 2 to take part', '1 unit to move']);
    rig.tell(2, {});
    expect(await waitingFor()).toEqual(['1 unit to move']);
    expect(progress).toEqual({ moved: 0, total: 1 });
    rig.lead(2, 3);
    expect(await waitingFor()).toEqual(['the sizes of all units']);
    expect(progress).toEqual({ moved: 1, total: 1 });
    rig.tell(1, { 1: MB });
    expect(await stateOf(watching)).toBe('open');
    rig.tell(2, { 3: MB });
    await clock.advance(0);
    expect(await watching).toMatchObject({ waitingFor: [], over: undefined });
  });

  it('says by then which processes are missing, once', async () => {
    want(4);
    await watch({ pservers: 4, trainers: 2 });
    await clock.advance(2_999);
    expect(late).toEqual([]);
    await clock.advance(60_000);
    expect(late).toHaveLength(1);
    const where = ['--store', 'etcd://a b'];
    expect(byHand(late[0]!, { pservers: 4, trainers: 3 }, where)).toEqual([
      'to be started, unless `paddlet run` does it:',
      "  paddlet pserver --index 2 --store 'etcd://a b'",
      "  paddlet pserver --index 3 --store 'etcd://a b'",
      'to be started 2 times, unless `paddlet run` does it:',
      "  paddlet trainer --store 'etcd://a b'",
    ]);
    expect(byHand({ ...late[0]!, trainers: 5 }, { pservers: undefined, trainers: 3 }, where)).toEqual([
      'to be stopped by SIGTERM, unless `paddlet run` does it: 2 of the 5 trainers',
    ]);
  });

  it('says so even when the store answers later than that', async () => {
    want(3);
    const answers = Promise.withResolvers<void>();
    const slow = storeThrough(store, {
      async range(query) {
        await answers.promise;
        return store.range(query);
      },
    });
    await watch({ pservers: 3 }, undefined, slow);
    await clock.advance(60_000);
    expect(late).toEqual([]);
    answers.resolve();
    await clock.advance(0);
    expect(late.map(({ spread }) => spread.missing)).toEqual([[2]]);
  });
});

describe('a resize to fewer pservers', () => {
  it('waits until those that leave have handed over all and are gone', async () => {
    want(1);
    const { watching } = await watch({ pservers: 1 });
    expect(await waitingFor()).toEqual(['2 units to move', 'pserver 1 to leave']);
    rig.lead(0, 1, 3);
    rig.tell(0, { 0: MB, 1: MB, 2: MB, 3: MB });
    expect(await waitingFor()).toEqual(['pserver 1 to leave']);
    rig.write({ delete: keys.ps(1) });
    await clock.advance(0);
    expect(await watching).toMatchObject({ waitingFor: [] });
  });

  it('waits for units without a pserver', async () => {
    want(1);
    rig.write({ delete: keys.ps(1) });
    await watch({ pservers: 1 });
    expect(await waitingFor()).toEqual(['pservers to take 2 units']);
  });
});

describe('where units have copies', () => {
  beforeEach(() => {
    job = { units: 4, copies: { replicas: 3, minInSync: 1 } };
  });

  it('it waits for as many as the pservers that stay can have', async () => {
    const { watching } = await watch({ pservers: 2 });
    expect(await waitingFor()).toEqual(['4 units to get copies']);
    for (const unit of [0, 2]) rig.copy(unit, 1);
    rig.copy(1, 0);
    expect(await waitingFor()).toEqual(['1 unit to get copies']);
    rig.copy(3, 0);
    await clock.advance(0);
    expect(await watching).toMatchObject({ waitingFor: [] });
  });

  it('it does not where only the number of trainers was changed', async () => {
    const { watching } = await watch({ trainers: 1 });
    expect(await watching).toMatchObject({ waitingFor: [] });
  });
});

it('trainers alone are waited for when only their number was changed', async () => {
  want(9);
  rig.write({ put: keys.trainersDesired, value: '{"trainers":2,"jobFile":1}' });
  const { watching } = await watch({ trainers: 2 });
  expect(await waitingFor()).toEqual(['1 trainer to start']);
  rig.write({ put: keys.trainer('b'), value: 'here:8' }, { put: keys.trainer('c'), value: 'here:7' });
  expect(await waitingFor()).toEqual(['1 trainer to leave']);
  rig.write({ delete: keys.trainer('a') });
  await clock.advance(0);
  expect(await watching).toMatchObject({ trainers: 2 });
});

it('under `run` only the trainers that it started count; without any of these all do', async () => {
  const entry = (startedBy?: 'run'): string => trainerEntryText({ address: '127.0.0.1:1', job: 'j', startedBy });
  rig.write({ put: keys.trainer('a'), value: entry('run') }, { put: keys.trainer('outside'), value: entry() });
  const up = await watch({ trainers: 2 });
  expect(await waitingFor()).toEqual(['1 trainer to start']);
  rig.write({ put: keys.trainer('b'), value: entry('run') });
  await clock.advance(0);
  expect(await up.watching).toMatchObject({ trainers: 2, waitingFor: [] });

  rig.write({ delete: keys.trainer('a') }, { delete: keys.trainer('b') }, { put: keys.trainer('c'), value: entry() });
  const byHand = await watch({ trainers: 1 });
  expect(await waitingFor()).toEqual(['1 trainer to leave']);
  rig.write({ delete: keys.trainer('outside') });
  await clock.advance(0);
  expect(await byHand.watching).toMatchObject({ trainers: 1 });
});

describe('it ends early', () => {
  it.each([
    ['the job ends', 'ended', () => rig.write({ put: keys.result, value: '{}' })],
    ['another resize comes', 'superseded', () => want(4)],
    [
      'all processes are gone',
      'stopped',
      () => rig.write(...[keys.masterLock, keys.ps(0), keys.ps(1), keys.trainer('a')].map((key) => ({ delete: key }))),
    ],
  ])('when %s', async (_, over, happen) => {
    want(3);
    const { watching } = await watch({ pservers: 3 });
    happen();
    await clock.advance(0);
    expect(await watching).toMatchObject({ over });
  });

  it('when it is interrupted', async () => {
    want(3);
    const stop = new AbortController();
    const { watching } = await watch({ pservers: 3 }, stop.signal);
    stop.abort(new Error('Ctrl-C'));
    await expect(watching).rejects.toThrow('Ctrl-C');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('its outcome', () => {
  const table = (_columns: unknown, rows: readonly (readonly (string | number)[])[]): string =>
    rows.map((row) => row.join(' ')).join('\n');
  const base = {
    job: 'test',
    before: { pservers: 1, trainers: 1 },
    wanted: { pservers: 2, trainers: 1 },
    seconds: 1.25,
  };

  it('has units and bytes of each pserver', async () => {
    const { watching } = await watch({ pservers: 2 });
    const state = await watching;
    expect(resizeText({ ...base, state }, table)).toBe(
      'job test has 2 pservers and 1 trainer (1.3 s)\n\n0 2 2.0\n1 2 2.0',
    );
    expect(resizeJson({ ...base, state })).toEqual({
      ...{
        job: 'test',
        pservers: 2,
        trainers: 1,
        before: base.before,
        outcome: 'settled',
        settled: true,
        seconds: 1.25,
      },
      units: { total: 4, toMove: 0, orphans: 0 },
      processes: [
        { role: 'pserver', index: 0, status: 'up', isLeaving: false, units: 2, bytes: 2 * MB },
        {
          role: 'pserver',
          index: 1,
          status: 'up',
          isLeaving: false,
          units: 2,
          bytes: 2 * MB,
          hostLabel: 'a7',
          zone: 'a',
        },
      ],
    });
  });

  it.each([
    [undefined, 'requested', 'job test: asked for 2 pservers and 1 trainer'],
    ['ended', 'ended', 'job test has ended in the meantime'],
    ['stopped', 'stopped', 'job test is not running: it will start with 2 pservers and 1 trainer'],
  ] as const)('says when it is not in place: %s', async (over, outcome, text) => {
    const { watching } = await watch({ pservers: 2 });
    const state = over === undefined ? undefined : { ...(await watching), over };
    expect(resizeText({ ...base, state }, table)).toBe(text);
    expect(resizeJson({ ...base, state })).toMatchObject({ outcome, settled: false });
  });
});
