/** What a pserver shows of its checkpoints on /metrics. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerSaveMetrics } from '../../../src/roles/pserver/metrics.ts';
import { FakeClock } from '../../store/support.ts';

function registered(intervalMs: number | undefined) {
  const registry = new Registry();
  const now = { hasUnits: true, ms: 0 };
  const clock = Object.assign(new FakeClock(), { monotonicMs: () => now.ms });
  const saves = registerSaveMetrics(
    registry,
    clock,
    () => now.hasUnits,
    () => intervalMs,
  );
  const value = async (name: string): Promise<string | undefined> =>
    new RegExp(`^paddlet_pserver_checkpoint_${name} (\\S+)$`, 'm').exec(await registry.metrics())?.[1];
  return { now, saves, value };
}

it('the age begins when there is something to save, and again with each checkpoint', async () => {
  const { now, saves, value } = registered(undefined);
  now.hasUnits = false;
  now.ms = 50_000;
  expect(await value('age_seconds')).toBe('0');
  now.hasUnits = true;
  now.ms = 60_000;
  expect(await value('age_seconds')).toBe('0');
  now.ms = 75_000;
  expect(await value('age_seconds')).toBe('15');
  saves.saved({ tookMs: 500, bytes: 7, isDelta: false, deltas: 0 });
  now.ms = 77_000;
  expect(await value('age_seconds')).toBe('2');
});

it('one that has lost its units has no old checkpoint when it gets others', async () => {
  const { now, value } = registered(undefined);
  await value('age_seconds');
  now.ms = 90_000;
  now.hasUnits = false;
  expect(await value('age_seconds')).toBe('0');
  now.hasUnits = true;
  expect(await value('age_seconds')).toBe('0');
});

it('the interval is there if the job has one', async () => {
  expect(await registered(600_000).value('interval_seconds')).toBe('600');
  expect(await registered(undefined).value('interval_seconds')).toBeUndefined();
});

it('bytes of bases and deltas are counted, and the deltas since the last base', async () => {
  const { saves, value } = registered(60_000);
  const saved = (isDelta: boolean, bytes: number, deltas: number) => saves.saved({ tookMs: 1, bytes, isDelta, deltas });
  saved(false, 100, 0);
  saved(true, 10, 1);
  saved(true, 20, 2);
  expect(await value('bytes_total{kind="delta"}')).toBe('30');
  expect(await value('bytes_total{kind="base"}')).toBe('100');
  expect(await value('deltas')).toBe('2');
  saved(false, 120, 0);
  expect(await value('deltas')).toBe('0');
});
