/** The example client in Python trains a job: alone, beside a trainer of paddlet, and through faults. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { ROOT } from '../source-files.ts';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultByWorkOf } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import type { Running } from './processes.ts';
import { pythonEnvironment, whyNoPython } from './python.ts';
import { expectMidRun } from './run.ts';

const CLIENT = join(ROOT, 'examples/clients/python');
const INTERRUPTED = 130;
const reason = whyNoPython();

interface Cluster {
  readonly store: JobStore;
  readonly master: Running;
  readonly pservers: readonly Running[];
  readonly client: Running;
  /** Starts a role, or one of the same kind once more. */
  start(name: string): Running;
  startClient(): Running;
}

/** A master, two pservers and the client, and no trainer of paddlet's own. */
async function startCluster(place: Place, job: object): Promise<Cluster> {
  const lines = commandLines(await plantedJob(place, job));
  const url = `sqlite:${place.path('store.db')}`;
  const start = (name: string): Running => place.start(name, lines[name]!, { PADDLET_STORE: url });
  const startClient = (): Running => startPython(place, 'trainer.py', '--store', url);
  return {
    master: start('master'),
    pservers: [start('pserver 0'), start('pserver 1')],
    client: startClient(),
    store: await openJobStore(url, JOB.name),
    start,
    startClient,
  };
}

const startPython = (place: Place, script: string, ...args: string[]): Running =>
  place.startCommand(`python ${script}`, ['python3', join(CLIENT, script), ...args], pythonEnvironment());

/** Of the job, for which the master waits as long as no client works. */
const resultBy = (client: Running, { store }: Cluster, master: Running): Promise<JobResult> =>
  resultByWorkOf(client, master, async () => (await store.get('/result')) !== undefined);

/** Tasks that the client says it has finished; it must have ended with 0. */
async function finishedBy(client: Running): Promise<number> {
  await endWell([client]);
  return Number(/left after (\d+) tasks/.exec(client.err)?.[1]);
}

const expectWholeJob = (place: Place, result: JobResult): Promise<void> =>
  expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));

describe.skipIf(reason !== undefined)(`the client in Python${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('computes what the test vectors say', async () => {
    const place = openPlace();
    await endWell([startPython(place, 'check_vectors.py', join(ROOT, 'test/golden'))]);
  });

  test('trains and evaluates as the only trainer', async () => {
    const place = openPlace();
    const cluster = await startCluster(place, UNHURRIED_JOB);
    const { master, pservers, client } = cluster;
    const result = await resultBy(client, cluster, master);
    await endWell(pservers);
    expect(await finishedBy(client)).toBeGreaterThanOrEqual(result.tasks.done);
    expect(JSON.parse(client.out)).toEqual(JSON.parse(JSON.stringify(result)));
    await expectWholeJob(place, result);
  });

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
