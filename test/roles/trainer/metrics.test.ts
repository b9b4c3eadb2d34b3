/** What a trainer shows of its requests on /metrics. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { noMetrics } from '../../../src/model/metrics.ts';
import { createActivity } from '../../../src/roles/trainer/activity.ts';
import { registerTrainerMetrics } from '../../../src/roles/trainer/metrics.ts';
import { FakeClock } from '../../store/support.ts';

function registered() {
  const registry = new Registry();
  const said: string[] = [];
  const times = registerTrainerMetrics(registry, createActivity(new FakeClock()), {
    debug: (message) => void said.push(message),
  });
  return { registry, said, times };
}

it('requests by kind, in buckets from which 200 ms can be read, and the longest of each', async () => {
  const { registry, times } = registered();
  for (const ms of [3, 3, 199, 201]) times.answered('pull', ms);
  times.answered('push', 40_000);
  const text = await registry.metrics();
  const series = (name: string): string | undefined =>
    new RegExp(`^paddlet_trainer_${name} (\\S+)$`, 'm').exec(text)?.[1];
  expect(series('request_seconds_bucket{le="0.002",kind="pull"}')).toBe('0');
  expect(series('request_seconds_bucket{le="0.003",kind="pull"}')).toBe('2');
  expect(series('request_seconds_bucket{le="0.2",kind="pull"}')).toBe('3');
  expect(series('request_seconds_bucket{le="0.3",kind="pull"}')).toBe('4');
  expect(series('request_seconds_sum{kind="push"}')).toBe('40');
  expect(series('longest_request_seconds{kind="pull"}')).toBe('0.201');
  expect(series('longest_request_seconds{kind="push"}')).toBe('40');
  expect(text).not.toContain('kind="barrier"');
});

it('a slow one is logged', () => {
  const { said, times } = registered();
  times.answered('pull', 200);
  times.answered('push', 200.6);
  expect(said).toEqual(['a push took 201 ms']);
});

it('a loss that is not finite, and gradients that are not, are shown as they are', async () => {
  const registry = new Registry();
  const activity = createActivity(new FakeClock());
  registerTrainerMetrics(registry, activity, { debug: () => {} });
  expect(await registry.metrics()).toContain('paddlet_trainer_bad_gradients_total 0\n');
  activity.trained(10, { ...noMetrics, records: 10, weight: 10, loss: Number.NaN });
  activity.sawBadGradient();
  const text = await registry.metrics();
  expect(text).toContain('paddlet_trainer_loss Nan\n');
  expect(text).toContain('paddlet_trainer_bad_gradients_total 1\n');
  expect(activity.report().loss).toBeUndefined();
});
