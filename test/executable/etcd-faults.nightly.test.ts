/** The store of a running cluster stops answering, or dies. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { expectWhole, JOB, LEASE_MS, plantedJob } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER } from './run.ts';

const reason = whyNoEtcd();
const ROLES = ['master', 'pserver-0', 'pserver-1'];

/** How long the fault lasts: nothing is waited for. */
const outage = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(reason !== undefined)(`etcd under a run${reason === undefined ? '' : ` (${reason})`}`, () => {
  test.each([
    { fault: 'stopped for three lease times and continued', stop: 'pause', go: 'resume' } as const,
    { fault: 'killed and started again after a lease time and a half', stop: 'kill', go: 'restart' } as const,
  ])('$fault: the job goes on', async ({ stop, go }) => {
    const place = openPlace();
    const etcd = await startEtcd();
    const job = await plantedJob(place);
    const running = place.start('run', ['run', job, '--dir', JOB_FOLDER, '--store', etcd.url, '--json']);
    const store = await openJobStore(etcd.url, JOB.name);
    await store.passesOver(2, running);
    await etcd[stop]();
    await outage(stop === 'pause' ? 3 * LEASE_MS : 1.5 * LEASE_MS);
    await etcd[go]();
    await expectMidRun(store);

    await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
    for (const role of ROLES) {
      const log = readFileSync(place.path(JOB_FOLDER, `logs/${role}.log`), 'utf8');
      expect(log).toContain('suspended: the store did not renew the lease in time');
    }
  });
});
