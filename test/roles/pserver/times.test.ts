/** Where the time of a pserver goes. */
import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { registerPserverMetrics } from '../../../src/roles/pserver/metrics.ts';
import { askOf, pull, push, resetServed, serving } from './served-rig.ts';

/** Time passes when a test says so; the thread has nothing to do in half of it. */
let nowMs: number;
const clock = { monotonicMs: () => nowMs, idleMs: () => nowMs / 2 };

function counted() {
  const registry = new Registry();
  const metrics = registerPserverMetrics(
    registry,
    clock,
    () => undefined,
    () => undefined,
  );
  return { metrics, registry };
}

beforeEach(() => {
  nowMs = 1_000;
  resetServed();
});

it('a push is one time, and a pull that it takes along another', async () => {
  const { metrics } = counted();
  const served = serving({
    metrics: {
      ...metrics,
      pulled: () => {
        nowMs += 100;
      },
    },
    onApplied: () => {
      nowMs += 3;
    },
  });
  await askOf(push(), () => served);
  expect(metrics.spentMs()).toMatchObject({ push: 3, pull: 0 });
  await askOf(pull(), () => served);
  expect(metrics.spentMs()).toMatchObject({ push: 3, pull: 100, copies: 0, moves: 0, save: 0 });
});

it('a request that is refused has its time, too, and what comes after it does not count for it', async () => {
  const { metrics } = counted();
  const served = serving({
    metrics,
    isFrozen: () => {
      nowMs += 4;
      return true;
    },
  });
  await expect(askOf(push(), () => served)).rejects.toMatchObject({ code: 'Draining' });
  nowMs += 6;
  expect(metrics.spentMs()).toMatchObject({ push: 4, other: 1, idle: 5 });
});

it('all times together are the time that has passed', async () => {
  const { metrics, registry } = counted();
  nowMs += 10;
  metrics.times.during('save', () => {
    nowMs += 2;
  });
  const spent = metrics.spentMs();
  expect(spent).toMatchObject({ save: 2, idle: 6, other: 4 });
  expect(Object.values(spent).reduce((sum, ms) => sum + ms)).toBe(12);
  const text = await registry.metrics();
  expect(text).toContain('paddlet_pserver_phase_seconds_total{phase="save"} 0.002\n');
  expect(text).toContain('paddlet_pserver_phase_seconds_total{phase="idle"} 0.006\n');
});

it('where nothing says how long the thread had nothing to do, that is other time', () => {
  const { spentMs } = registerPserverMetrics(
    new Registry(),
    { monotonicMs: () => nowMs },
    () => undefined,
    () => undefined,
  );
  nowMs += 10;
  expect(spentMs()).toMatchObject({ other: 10, idle: 0 });
});
