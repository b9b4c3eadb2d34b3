/**
 * Pservers with copies of each other's units are killed while pushes go on. What was acknowledged is known by name, and
 * is read back: nothing is lost, and nothing counts twice.
 */
import { expect, onTestFinished, test } from 'vitest';
import { openPlace, type Place } from './harness.ts';
import { commandOf, type Running } from './processes.ts';
import { Recorder, recordedJob } from './recorded-pushes.ts';

const NAME = 'recorded';
/** No lease runs out: the guards end those of the dead. */
const LEASES = { leaseTtl: '15s', units: 12 };
/** Between two kills. */
const PUSHES = 20;

interface Cluster {
  readonly recorder: Recorder;
  /** SIGKILL of these pservers at once. Resolves when others were started in their place. */
  kill(...indexes: number[]): Promise<void>;
}

async function startCluster(place: Place, pservers: number, replicas: number): Promise<Cluster> {
  const job = place.writeJob(recordedJob(place.folder, NAME, { pservers, replicas, ...LEASES }));
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const start = (name: string, ...args: string[]): Running => place.start(name, args, { PADDLET_STORE: storeUrl });
  const startGuard = (index: number): Running =>
    start(`pserver ${index}`, 'pserver', '--index', `${index}`, '--dir', 'hand', '--guard');
  start('master', 'master', job);
  const guards = Array.from({ length: pservers }, (_, index) => startGuard(index));
  const fatal = Promise.withResolvers<never>();
  const recorder = await Recorder.open({ storeUrl, job: NAME, onFatal: fatal.reject });
  onTestFinished(() => recorder.close());
  const kill = async (index: number): Promise<void> => {
    process.kill(guardedBy(place, index), 'SIGKILL');
    await guards[index]!.ended;
    guards[index] = startGuard(index);
  };
  return {
    recorder,
    kill: async (...indexes) => {
      await Promise.race([fatal.promise, Promise.all(indexes.map(kill))]);
    },
  };
}

/** The pserver itself, which is the child of its guard. */
function guardedBy(place: Place, index: number): number {
  const found = place.alive().filter((pid) => {
    const command = commandOf(pid) ?? [];
    const at = command.indexOf('--index');
    return command.includes('pserver') && !command.includes('--guard') && command[at + 1] === `${index}`;
  });
  expect(found).toHaveLength(1);
  return found[0]!;
}

/** Until so many more pushes are acknowledged that were begun after now. */
function morePushes(recorder: Recorder, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const nowMs = performance.now();
  let left = count;
  recorder.onAcknowledged = ({ beganMs }) => {
    if (beganMs > nowMs) left -= 1;
    if (left === 0) resolve();
  };
  return promise;
}

test.each([
  { pservers: 3, replicas: 2, kills: [[1], [0], [2]] },
  {
    pservers: 3,
    replicas: 3,
    kills: [
      [0, 1],
      [2, 0],
    ],
  },
])(
  '$replicas copies, SIGKILL of $kills: each acknowledged push is there, once',
  async ({ pservers, replicas, kills }) => {
    const { recorder, kill } = await startCluster(openPlace(), pservers, replicas);
    recorder.start();
    for (const indexes of kills) {
      await recorder.untilStatus('OK', pservers);
      await morePushes(recorder, PUSHES);
      const unhealthy = recorder.untilStatus('UNHEALTHY');
      await kill(...indexes);
      await Promise.all([unhealthy, morePushes(recorder, PUSHES)]);
    }
    await recorder.untilStatus('OK', pservers);
    await recorder.stop();

    const pushes = recorder.history.length;
    expect(pushes).toBeGreaterThan(2 * PUSHES * kills.length);
    expect(await recorder.readBack()).toEqual({ pushes, lost: [], twice: [], total: pushes });
    expect(recorder.wrong).toEqual([]);
    // No state of before was loaded.
    expect(recorder.history.filter(({ recovery }) => recovery > 0)).toEqual([]);
  },
);
