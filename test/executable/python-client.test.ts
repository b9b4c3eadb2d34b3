/** The example client in Python trains a job. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../source-files.ts';
import { endWell, openPlace } from './harness.ts';
import { UNHURRIED_JOB } from './planted-job.ts';
import { whyNoPython } from './python.ts';
import { expectWholeJob, finishedBy, resultBy, startCluster, startPython } from './python-cluster.ts';

/** Python is slow: few passes, with larger steps. */
const PASSES = 4;
const SHORT_JOB = {
  ...UNHURRIED_JOB,
  optimizer: { ...UNHURRIED_JOB.optimizer, learningRate: 0.01 },
  training: { ...UNHURRIED_JOB.training, passes: PASSES },
};

const reason = whyNoPython();

describe.skipIf(reason !== undefined)(`the client in Python${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('computes what the test vectors say', async () => {
    const place = openPlace();
    await endWell([startPython(place, 'check_vectors.py', join(ROOT, 'test/golden'))]);
  });

  test('trains and evaluates as the only trainer', async () => {
    const place = openPlace();
    const cluster = await startCluster(place, SHORT_JOB);
    const { master, pservers, client } = cluster;
    const result = await resultBy(client, cluster, master);
    await endWell(pservers);
    expect(await finishedBy(client)).toBeGreaterThanOrEqual(result.tasks.done);
    expect(JSON.parse(client.out)).toEqual(JSON.parse(JSON.stringify(result)));
    await expectWholeJob(place, result, PASSES);
  });
});
