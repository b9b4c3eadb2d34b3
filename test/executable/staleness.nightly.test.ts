/** The staleness bound with real trainers, some of which are killed or stopped in mid-run. */
import { expect, test } from 'vitest';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { freeze } from './processes.ts';
import { JOB_FOLDER, liveProcesses, startRun } from './run.ts';

const job = (staleness: object, training: object = {}) => ({
  ...JOB,
  training: { ...JOB.training, ...training, staleness },
  cluster: { ...JOB.cluster, trainers: 3 },
});
const CHECKPOINTS = `${JOB_FOLDER}/checkpoints`;
const ALL = 6;

test('refuse: nothing staler than the bound is applied, all is applied once, also through kills', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, job({ bound: 1, policy: 'refuse' })));
  const processes = await liveProcesses(place, ALL);
  await store.passesOver(2, running);
  process.kill(processes.find(({ role }) => role === 'trainer')!.pid, 'SIGKILL');
  await store.passesOver(4, running);
  process.kill(processes.find(({ role, index }) => role === 'pserver' && index === 0)!.pid, 'SIGKILL');
  const result = await resultOf(running);
  await expectWhole(place, result, place.path(CHECKPOINTS));
  expect(result.staleness!.max).toBeLessThanOrEqual(1);
  expect(result.staleness!.refused).toBeGreaterThan(0);
});

test('wait: keeps the bound, and goes on when a trainer is killed and another one stopped', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, job({ bound: 1, policy: 'wait' })));
  await store.passesOver(2, running);
  const processes = await liveProcesses(place, ALL);
  const shown = processes.filter(({ role }) => role === 'pserver').map(({ staleness }) => staleness!.max);
  // Also at the pserver that is not the gate.
  expect(Math.max(...shown)).toBeLessThanOrEqual(1);
  const [killed, stopped] = processes.filter(({ role }) => role === 'trainer');
  process.kill(killed!.pid, 'SIGKILL');
  await freeze(stopped!.pid, store.url);
  await store.passesOver(5, running);
  process.kill(stopped!.pid, 'SIGCONT');
  await expectWhole(place, await resultOf(running), place.path(CHECKPOINTS));
});

test('scale: stale pushes count less, and each once', async () => {
  const place = openPlace();
  const { running } = await startRun(place, await plantedJob(place, job({ bound: 1, policy: 'scale' })));
  const result = await resultOf(running);
  await expectWhole(place, result, place.path(CHECKPOINTS));
  expect(result.staleness).toMatchObject({ refused: 0 });
  expect(result.staleness!.max).toBeGreaterThan(1);
});
