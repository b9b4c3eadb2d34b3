/** When a pserver begins to hand over a unit. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isPaddletError } from '../../../../src/base/errors.ts';
import type { LivePserver } from '../../../../src/cluster/placement/placement-view.ts';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import { moveDuties } from '../../../../src/roles/pserver/placement/duties.ts';
import { Planner, type PlannerOptions } from '../../../../src/roles/pserver/placement/planner.ts';
import { FakeClock } from '../../../store/support.ts';
import { settled } from '../../master/tasks/service-rig.ts';

const ME = 0;
const OTHER: LivePserver = { index: 1, address: 'localhost:1', token: 9n };
const UNITS = [0, 1];

let clock: FakeClock;
let stop: AbortController;
let running: Promise<void>;
let mayMove: boolean;
/** Resolves when the heads name no file any more. */
let awake: PromiseWithResolvers<void>;
let begun: { unit: number; to: number }[];
let wakes: number;

beforeEach(() => {
  [clock, stop, awake] = [new FakeClock(), new AbortController(), Promise.withResolvers()];
  [mayMove, begun, wakes] = [true, [], 0];
});

/** One of two units goes to the other pserver. */
function plan({ areResting }: { areResting: boolean }): void {
  const heads = {
    areResting,
    units: () => UNITS,
    wake: async () => {
      wakes += 1;
      await awake.promise;
      heads.areResting = false;
    },
  };
  const planner = new Planner({
    ...{ clock, me: ME, changed: createSignal(), version: () => 0 },
    duties: moveDuties({
      heads,
      moving: () => new Map(begun.map(({ unit, to }) => [unit, to])),
      begin: (unit, { index }) => void begun.push({ unit, to: index }),
    }),
    view: {
      units: () => UNITS.map((unit) => ({ unit, last: ME, owner: {}, copies: [] })),
      live: () => [{ index: ME, address: 'localhost:0', token: 7n }, OTHER],
      isLoaded: () => true,
    },
    records: { of: () => ({ status: 'up' }), bytesOf: () => 100, isLoaded: () => true },
    isLeaving: () => false,
    mayMove: () => mayMove,
  } as unknown as PlannerOptions);
  running = planner.run(stop.signal).catch((error: unknown) => {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  });
}

afterEach(async () => {
  stop.abort();
  await running;
});

it('a unit goes once the pservers have been the same for a while', async () => {
  plan({ areResting: false });
  await clock.advance(900);
  expect(begun).toEqual([]);
  await clock.advance(200);
  expect([begun, wakes]).toEqual([[{ unit: expect.any(Number), to: OTHER.index }], 0]);
});

it('a unit is offered when no head names a file as the last state any more', async () => {
  plan({ areResting: true });
  await clock.advance(10_000);
  expect([begun, wakes]).toEqual([[], 1]);
  awake.resolve();
  await settled();
  await clock.advance(10);
  expect([begun.length, wakes]).toEqual([1, 1]);
});

it('a unit is not offered when it may not go any more by then', async () => {
  plan({ areResting: true });
  await clock.advance(2_000);
  mayMove = false;
  awake.resolve();
  await settled();
  await clock.advance(10_000);
  expect([begun, wakes]).toEqual([[], 1]);
});
