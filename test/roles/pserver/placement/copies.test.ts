/** When a pserver begins copies of its units, hands units over, and takes copies out of their sets. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import { createSignal, type Signal } from '../../../../src/cluster/waiting.ts';
import type { UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { type CopyDuties, copyDuties } from '../../../../src/roles/pserver/placement/duties.ts';
import { Planner, type PlannerOptions } from '../../../../src/roles/pserver/placement/planner.ts';
import { FakeClock } from '../../../store/support.ts';

const ME: UnitOwner = { index: 0, token: '7' };
const UNITS = [0, 1, 2];

let clock: FakeClock;
let stop: AbortController;
let running: Promise<void>;
let planner: Planner;
let changed: Signal;
let version: number;
let live: UnitOwner[];
/** The in-sync set of every unit. */
let inSync: UnitOwner[];
let leaving: Set<number>;
let loading: Set<number>;
let mayMove: boolean;
let joining: Map<number, Set<number>>;
let handingOver: Map<number, number>;
let told: string[];

beforeEach(() => {
  [clock, stop, changed, version] = [new FakeClock(), new AbortController(), createSignal(), 0];
  [live, inSync, leaving, loading, mayMove] = [[ME], [ME], new Set(), new Set(), true];
  [joining, handingOver, told] = [new Map(), new Map(), []];
});
afterEach(async () => {
  stop.abort();
  await running;
});

/** The pservers lead nothing but what this one leads, and it is planned to keep all: 1 and 2 are full. */
function start(replicas = 2): void {
  const liveOf = () => live.map(({ index, token }) => ({ index, token: BigInt(token), address: `localhost:${index}` }));
  const copies = () => liveOf().filter(({ index }) => inSync.some((one) => one.index === index));
  const others = [1, 2].flatMap((index) => UNITS.map((at) => ({ unit: 10 * index + at, last: index })));
  const options = {
    ...{ clock, changed, version: () => version, me: ME.index },
    view: {
      units: () => [
        ...UNITS.map((unit) => ({ unit, last: ME.index, owner: {}, copies: copies() })),
        ...others
          .filter(({ last }) => live.some(({ index }) => index === last))
          .map((one) => ({ ...one, owner: {}, copies: liveOf().filter(({ index }) => index === one.last) })),
      ],
      live: liveOf,
      isLoaded: () => true,
    },
    records: {
      of: (index: number) => ({ status: leaving.has(index) ? 'draining' : loading.has(index) ? 'loading' : 'up' }),
      bytesOf: () => 100,
      isLoaded: () => true,
    },
    isLeaving: () => leaving.has(ME.index),
    mayMove: () => mayMove,
  };
  const duties = {
    replicas,
    heads: { units: () => UNITS, of: (unit: number) => ({ unit, head: { ...takenBy(ME, undefined), inSync } }) },
    actions: {
      joining: () => joining,
      handingOver: () => handingOver,
      join: (unit: number, { index, token }: { index: number; token: bigint }) => {
        told.push(`join ${unit} ${index}/${token}`);
        joining.set(unit, new Set([index]));
      },
      handOver: (unit: number, { index, token }: UnitOwner) => {
        told.push(`handOver ${unit} ${index}/${token}`);
        handingOver.set(unit, index);
      },
      remove: (unit: number, { index, token }: UnitOwner) => void told.push(`remove ${unit} ${index}/${token}`),
    },
  };
  planner = new Planner({
    ...(options as unknown as PlannerOptions),
    duties: copyDuties(duties as unknown as CopyDuties),
  });
  running = planner.run(stop.signal).catch((error: unknown) => {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  });
}

async function notify(): Promise<void> {
  version += 1;
  changed.notify();
  await clock.advance(1_100);
}

it('copies are begun once the pservers have been the same for a while, two at a time', async () => {
  live.push({ index: 1, token: '8' });
  start();
  await clock.advance(900);
  expect(told).toEqual([]);
  await clock.advance(200);
  expect(told).toEqual(['join 0 1/8', 'join 1 1/8']);
  joining.delete(0);
  await notify();
  expect(told.slice(2)).toEqual(['join 0 1/8']);
});

it('nothing is begun while this pserver may change nothing', async () => {
  live.push({ index: 1, token: '8' });
  mayMove = false;
  start();
  await clock.advance(10_000);
  expect(told).toEqual([]);
});

it('a pserver that does not serve for long gets nothing, and nothing waits for it', async () => {
  live.push({ index: 1, token: '8' }, { index: 2, token: '9' });
  loading.add(2);
  start();
  await clock.advance(29_000);
  expect(told).toEqual([]);
  await clock.advance(3_000);
  expect(told).toEqual(['join 0 1/8', 'join 1 1/8']);
});

it('a process that has failed to get a copy is left alone for a while', async () => {
  live.push({ index: 1, token: '8' });
  start();
  await clock.advance(1_100);
  told = [];
  joining.clear();
  planner.settled({ to: 1 }, 'kept');
  version += 1;
  changed.notify();
  await clock.advance(200);
  expect(told).toEqual([]);
  await clock.advance(1_000);
  expect(told).toEqual(['join 0 1/8', 'join 1 1/8']);
});

it('what a process that is not reached would get goes to another one, until it is asked again', async () => {
  live.push({ index: 1, token: '8' }, { index: 2, token: '9' });
  start(2);
  await clock.advance(1_100);
  expect(told.filter((one) => one.endsWith('1/8')).length).toBeGreaterThan(0);
  for (let times = 0; times < 4; times++) planner.settled({ to: 1 }, 'kept');
  told = [];
  for (let times = 0; times < 2; times++) {
    joining.clear();
    await notify();
  }
  expect(new Set(told.map((one) => one.slice(-3)))).toEqual(new Set(['2/9']));
  told = [];
  joining.clear();
  await clock.advance(4_000);
  await notify();
  expect(told.filter((one) => one.endsWith('1/8')).length).toBeGreaterThan(0);
});

it('a process that has the index of a dead member gets a copy of its own', async () => {
  live.push({ index: 1, token: '9' });
  inSync.push({ index: 1, token: '8' });
  start();
  await clock.advance(1_100);
  expect(told).toEqual(['join 0 1/9', 'join 1 1/9']);
});

it('who leaves hands over to members, once there are as many as are wanted', async () => {
  live.push({ index: 1, token: '8' }, { index: 2, token: '9' });
  inSync.push({ index: 1, token: '8' });
  leaving.add(ME.index);
  start();
  await clock.advance(0);
  expect(told).toEqual(['join 0 2/9', 'join 1 2/9']);
  told = [];
  joining.clear();
  inSync.push({ index: 2, token: '9' });
  version += 1;
  changed.notify();
  await clock.advance(0);
  expect(told).toHaveLength(2);
  for (const one of told) expect(one).toMatch(/^handOver \d (1\/8|2\/9)$/);
});

it('a member that is not wanted any more is taken out', async () => {
  live.push({ index: 1, token: '8' }, { index: 2, token: '9' });
  inSync.push(live[1]!, live[2]!);
  start();
  await clock.advance(1_100);
  expect(told).toHaveLength(UNITS.length);
  for (const one of told) expect(one).toMatch(/^remove \d (1\/8|2\/9)$/);
});
