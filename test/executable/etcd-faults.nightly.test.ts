/** The store of a running cluster stops answering, or dies. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { whyNoEtcd } from '../etcd-server.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { eventually, expectMidRun, JOB_FOLDER } from './run.ts';

const reason = whyNoEtcd();
const ROLES = ['master', 'pserver-0', 'pserver-1', 'trainer-0', 'trainer-1'];
const SUSPENDED = 'suspended: the store did not renew the lease in time';
/** Twenty seconds longer: work goes on until the leases are over that the store does not renew. */
const SLOWLY = 'trainer.dealt:delay=40';

describe.skipIf(reason !== undefined)(`etcd under a run${reason === undefined ? '' : ` (${reason})`}`, () => {
  test.each([
    { fault: 'stopped until no lease is held, and continued', stop: 'pause', go: 'resume' } as const,
    { fault: 'killed, and started again when no lease is held', stop: 'kill', go: 'restart' } as const,
  ])('$fault: the job goes on', async ({ stop, go }) => {
    const place = openPlace();
    const etcd = await startEtcd();
    const args = ['run', await plantedJob(place, JOB), '--dir', JOB_FOLDER, '--store', etcd.url, '--json'];
    const running = place.start('run', args, { PADDLET_FAIL: SLOWLY });
    const store = await openJobStore(etcd.url, JOB.name);
    await store.passesOver(2, running);
    await etcd[stop]();
    await eventually(async () => {
      for (const role of ROLES) {
        expect(readFileSync(place.path(JOB_FOLDER, `logs/${role}.log`), 'utf8'), role).toContain(SUSPENDED);
      }
    });
    await etcd[go]();
    await expectMidRun(store);

    await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  });
});
