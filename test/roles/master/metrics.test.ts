/** What a master shows of the job on /metrics. */
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerMasterMetrics } from '../../../src/roles/master/metrics.ts';
import type { MasterState } from '../../../src/roles/master/state.ts';

/** Of a job that has been quiet for seven seconds. */
const quietJob = (waitReason: string | undefined): MasterState =>
  ({
    trainers: { quietMs: () => 7_000, addresses: new Map() },
    training: { mode: 'sync', waitReason: () => waitReason, pass: () => 1, describe: () => ({ mode: 'sync' }) },
  }) as unknown as MasterState;

async function shown(state: MasterState | undefined, isTraining = true): Promise<string> {
  const registry = new Registry();
  const pservers = () => (state === undefined ? undefined : { wanted: 3, live: 2 });
  registerMasterMetrics(registry, { state: () => state, isTraining: () => isTraining, pservers });
  return registry.metrics();
}

it('how long no record was trained on, while there are some to train on', async () => {
  const waiting = 'all tasks are handed out';
  expect(await shown(quietJob(waiting))).toContain('paddlet_master_quiet_seconds 7\n');
  expect(await shown(quietJob(waiting), false)).toContain('paddlet_master_quiet_seconds 0\n');
  // It has halted to be evaluated.
  expect(await shown(quietJob(undefined))).toContain('paddlet_master_quiet_seconds 0\n');
  expect(await shown(undefined)).toContain('paddlet_master_quiet_seconds 0\n');
});

it('pservers that are wanted and those that are live, once they are known', async () => {
  const text = await shown(quietJob(undefined));
  expect(text).toContain('paddlet_master_pservers{kind="wanted"} 3\n');
  expect(text).toContain('paddlet_master_pservers{kind="live"} 2\n');
  expect(await shown(undefined)).not.toContain('paddlet_master_pservers{');
});
