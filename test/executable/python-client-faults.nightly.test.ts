/** The example client in Python trains a job beside a trainer of paddlet, and through faults. */
import { describe, expect, test } from 'vitest';
import { endWell, openPlace } from './harness.ts';
import { UNHURRIED_JOB } from './planted-job.ts';
import { whyNoPython } from './python.ts';
import { expectWholeJob, finishedBy, resultBy, startCluster } from './python-cluster.ts';
import { expectMidRun } from './run.ts';

const INTERRUPTED = 130;
const reason = whyNoPython();

describe.skipIf(reason !== undefined)(`the client in Python${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('trains beside a trainer of paddlet', async () => {
    const place = openPlace();
    const cluster = await startCluster(place, UNHURRIED_JOB);
    const { master, pservers, client, start } = cluster;
    // Before the other one joins: it is much faster.
    await client.said(/finished task/);
    const trainer = start('trainer 0');
    const result = await resultBy(client, cluster, master);
    await endWell([...pservers, trainer]);
    expect(await finishedBy(client)).toBeLessThan(result.tasks.done);
    await expectWholeJob(place, result);
  });

  test('goes on when pservers and the master die, and hands its task back on SIGTERM', async () => {
    const place = openPlace();
    const cluster = await startCluster(place, UNHURRIED_JOB);
    const { store, master, pservers, client } = cluster;
    await store.passesOver(2, client);
    pservers[0]!.kill('SIGKILL');
    const restored = cluster.start('pserver 0');
    await store.passesOver(4, client);
    pservers[1]!.kill('SIGTERM');
    const again = cluster.start('pserver 1');
    await store.passesOver(5, client);
    master.kill('SIGKILL');
    const next = cluster.start('master');
    await store.passesOver(7, client);
    await expectMidRun(store);
    client.kill('SIGTERM');
    expect(await client.ended).toMatchObject({ code: INTERRUPTED });
    await store.until((entries) => ![...entries.keys()].some((key) => key.startsWith('/trainer/')));
    const successor = cluster.startClient();

    const result = await resultBy(successor, cluster, next);
    await endWell([restored, again, successor]);
    await expectWholeJob(place, result);
  });
});
