/** A job that learns its few records by heart: soon no model is better than the best one, and the job ends early. */
import { expect } from 'vitest';
import type { JobResult, KeptModel } from '../../src/cluster/job/job-result.ts';
import { evaluationStateSchema, newestOf } from '../../src/core/evaluation-points.ts';
import { parseStoreValue } from '../../src/core/tasks/state.ts';
import type { Place } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { commandOf, type Running } from './processes.ts';

export const RECORDS = 600;
const PASSES = 40;
export const TEST_FILE = 'test.libsvm';

const JOB = {
  name: 'early',
  data: { train: 'train.libsvm', test: TEST_FILE, format: 'libsvm', recordsPerTask: 50 },
  model: { type: 'lr' },
  optimizer: { type: 'adam', learningRate: 0.1 },
  training: { passes: PASSES, batchSize: 25 },
  evaluation: { patience: 1 },
};

/** Makes the data, which is the same in each place. */
export async function synthesize(place: Place): Promise<void> {
  const numbers = { records: RECORDS, 'test-records': RECORDS, features: 800, 'per-record': 8, factors: 0 };
  await place.json('data', 'synth', '--output', '.', ...Object.entries(numbers).map(([flag, n]) => `--${flag}=${n}`));
}

/** Starts it with so many pservers, and as many trainers; `folder` names the job file, too. */
export function startJob(
  place: Place,
  folder: string,
  pservers: number,
  training: object,
  more: object = {},
  env: object = {},
): Running {
  const cluster = { pservers, trainers: pservers, shards: 8, leaseTtl: '3s' };
  const job = {
    ...JOB,
    cluster,
    training: { ...JOB.training, ...training },
    checkpoint: { interval: '200ms' },
    ...more,
  };
  const path = place.writeJob(job, `${folder}.yaml`);
  return place.start(folder, ['run', path, '--dir', folder, '--json', '--expose-metrics'], { ...env });
}

export async function storeOf(place: Place, folder: string, running: Running): Promise<JobStore> {
  await running.said(/logs in/);
  return openJobStore(`sqlite:${place.path(folder, 'store.db')}`, JOB.name);
}

/** Until the model after so many passes is kept, or a later one. */
export const untilKept = (store: JobStore, passes: number, running: Running): Promise<void> =>
  store.until((entries) => {
    const entry = entries.get('/evaluation');
    if (entry === undefined) return false;
    const state = parseStoreValue(evaluationStateSchema, entry.key, entry.value);
    return (newestOf(state)?.passes ?? 0) >= passes;
  }, running);

/** Kills one at once: asking the job for its processes would take as long as a pass of it. */
export function killNow(place: Place, folder: string, role: 'master' | 'pserver'): void {
  const pid = place.alive().find((one) => {
    const command = commandOf(one) ?? [];
    return command.includes(role) && command.some((word) => word.includes(`/${folder}/`));
  });
  if (pid === undefined) throw new Error(`there is no ${role} of ${folder}`);
  process.kill(pid, 'SIGKILL');
}

/** It ended early, the best model is not the last one, and each record of its passes counts once. */
export function expectEarly({ evaluation, passes, records }: JobResult): KeptModel {
  expect(passes).toBeLessThan(PASSES);
  expect(records).toMatchObject({ applied: passes * RECORDS, bad: 0, discarded: 0, lost: 0 });
  expect(evaluation).toMatchObject({ metric: 'logloss', isStoppedEarly: true, last: { passes } });
  const { best, last } = evaluation!;
  expect(best!.passes).toBeLessThan(passes);
  expect(best!.metrics.logloss).toBeLessThan(last.metrics.logloss!);
  return best!;
}
