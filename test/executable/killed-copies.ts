/** Pservers with copies of each other's units, killed under `run`. */
import { expect } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import type { Entries } from './job-store.ts';
import { expectWhole, plantedJob, SHORT_JOB, SHORT_PASSES, SHORT_TASKS } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, startRun } from './run.ts';

const PSERVERS = 3;
/** The launcher ends the leases of those that it has seen exit. */
const COPIED = { ...SHORT_JOB, cluster: { ...SHORT_JOB.cluster, pservers: PSERVERS, replicas: 2 } };
/** The job lasts until all have died, and have their successors. */
const delayOf = (deaths: number): string => `trainer.dealt:delay=${120 * deaths}`;

const hasStatus =
  (wanted: 'OK' | 'UNHEALTHY') =>
  (entries: Entries): boolean => {
    const found = entries.get('/pserver_cluster_status');
    return found !== undefined && (JSON.parse(found.value) as { cluster_status: string }).cluster_status === wanted;
  };

/** SIGKILL of one after the other, each when all units have their copies: nothing is lost, and nothing is replayed. */
export async function expectNothingLost(indexes: readonly number[]): Promise<void> {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, COPIED), delayOf(indexes.length));
  for (const index of indexes) {
    await store.until(hasStatus('OK'), running);
    await store.until((entries) => entries.has('/tasks/passes/0'), running);
    await expectMidRun(store, SHORT_TASKS);
    const live = await liveProcesses(place, 1 + PSERVERS);
    const { pid } = live.find((process) => process.role === 'pserver' && process.index === index)!;
    process.kill(pid, 'SIGKILL');
    await store.until(hasStatus('UNHEALTHY'), running);
  }

  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'), SHORT_PASSES);
  // No state of before the last acknowledged push was loaded: nothing was replayed.
  expect(await store.get('/recovery')).toBeUndefined();
  expect(running.err.match(/restarting it/g)).toHaveLength(indexes.length);
}
