/** examples/cluster.sh: a cluster in bash on etcd. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { findEtcd, whyNoEtcd } from '../etcd-server.ts';
import { ROOT } from '../source-files.ts';
import { openPlace, type Place } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob, TASKS_PER_PASS } from './planted-job.ts';
import { PADDLET, type Running } from './processes.ts';
import { describeProcesses, expectMidRun, oneOf, ROLES, SLOWLY } from './run.ts';

const SCRIPT = join(ROOT, 'examples/cluster.sh');
const FOLDER = 'cluster';
const INTERRUPTED = 130;
const reason = whyNoEtcd();

interface Script {
  readonly running: Running;
  readonly url: string;
  readonly store: JobStore;
}

async function startScript(place: Place, name: string, job: string, slowly = ''): Promise<Script> {
  const env = { PADDLET, ETCD: findEtcd(), FOLDER: place.path(FOLDER), PADDLET_FAIL: slowly };
  const running = place.startCommand(name, ['bash', SCRIPT, job, '--json'], env);
  const [, url = ''] = await running.said(/^store (\S+), logs in/m);
  return { running, url, store: await openJobStore(url, JOB.name) };
}

/** The last line is that of `paddlet status --json`: the result, and more. */
async function expectResult(place: Place, running: Running): Promise<void> {
  const { code, out } = await running.ended;
  expect(code).toBe(0);
  const { phase, cluster, processes, wanted, units, ...result } = JSON.parse(out) as Record<string, unknown>;
  expect(phase).toBe('done');
  await expectWhole(place, jobResultSchema.parse(result), place.path(FOLDER, 'checkpoints'));
  expect(place.alive()).toEqual([]);
}

describe.skipIf(reason !== undefined)(`cluster.sh${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('trains; a trainer killed in mid-run is started again; nothing is left behind', async () => {
    const place = openPlace();
    const { running, url, store } = await startScript(place, 'cluster.sh', await plantedJob(place), SLOWLY);
    const trainer = oneOf(await describeProcesses(place, ['--store', url], ROLES), 'trainer');
    await store.passesOver(2, running);
    process.kill(trainer.pid, 'SIGKILL');
    await expectMidRun(store);
    await running.said(/trainer ended with 137 \(1\); starting it again/);
    await expectResult(place, running);
  });

  test('SIGTERM in mid-run: everything leaves cleanly, and the same command goes on', async () => {
    const place = openPlace();
    const job = await plantedJob(place);
    const { running, store } = await startScript(place, 'cluster.sh', job, SLOWLY);
    await store.passesOver(2, running);
    const done = await expectMidRun(store);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(INTERRUPTED);
    expect(place.alive()).toEqual([]);
    expect(existsSync(place.path(FOLDER, 'checkpoints/1'))).toBe(true);

    const again = await startScript(place, 'cluster.sh again', job);
    await expectResult(place, again.running);
    const log = readFileSync(place.path(FOLDER, 'master.log'), 'utf8');
    const [, pass, inPass] = /resuming in pass (\d+) of \d+ done=(\d+)/.exec(log)!.map(Number);
    expect((pass! - 1) * TASKS_PER_PASS + inPass!).toBeGreaterThanOrEqual(done);
  });
});
