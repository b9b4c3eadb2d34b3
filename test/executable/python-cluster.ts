/** A cluster whose trainer is the example client in Python. */
import { join } from 'node:path';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { ROOT } from '../source-files.ts';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, type Place, resultByWorkOf } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';
import { pythonEnvironment } from './python.ts';

const CLIENT = join(ROOT, 'examples/clients/python');

export interface Cluster {
  readonly store: JobStore;
  readonly master: Running;
  readonly pservers: readonly Running[];
  readonly client: Running;
  /** Starts a role, or one of the same kind once more. */
  start(name: string): Running;
  startClient(): Running;
}

/** A master, two pservers and the client, and no trainer of paddlet's own. */
export async function startCluster(place: Place, job: object): Promise<Cluster> {
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

export const startPython = (place: Place, script: string, ...args: string[]): Running =>
  place.startCommand(`python ${script}`, ['python3', join(CLIENT, script), ...args], pythonEnvironment());

/** Of the job, for which the master waits as long as no client works. */
export const resultBy = (client: Running, { store }: Cluster, master: Running): Promise<JobResult> =>
  resultByWorkOf(client, master, async () => (await store.get('/result')) !== undefined);

/** Tasks that the client says it has finished; it must have ended with 0. */
export async function finishedBy(client: Running): Promise<number> {
  await endWell([client]);
  return Number(/left after (\d+) tasks/.exec(client.err)?.[1]);
}

export const expectWholeJob = (place: Place, result: JobResult, passes?: number): Promise<void> =>
  expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'), passes);
