/**
 * Pservers with three copies of each unit die at steps of an update and of a promotion that fail points mark: between
 * the commit and the answer, before a backup answers, and around the change of the heads. Every record counts once, and
 * nothing is replayed: no state of before the last acknowledged push was ever loaded.
 */
import { expect, test } from 'vitest';
import { HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, resultOf } from './harness.ts';
import { type Entries, openJobStore } from './job-store.ts';
import { expectWhole, PATIENT_JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';

const COPIES = 3;
/** Nothing is applied before a second pserver has it. */
const CLUSTER = { ...PATIENT_JOB.cluster, pservers: COPIES, replicas: COPIES, minInSync: 2, minPservers: 2 };
const JOB = { ...PATIENT_JOB, cluster: CLUSTER };

interface HeadValue {
  readonly primary: { readonly index: number };
  readonly inSync: readonly { readonly index: number; readonly token: string }[];
}

/** Each unit has all its copies, in processes that live, and each pserver leads some. */
function areCopied(entries: Entries): boolean {
  const heads = [...entries].filter(([key]) => key.startsWith('/heads/')).map(([, { value }]) => value);
  const parsed = heads.map((value) => JSON.parse(value) as HeadValue);
  const isLive = ({ index, token }: HeadValue['inSync'][number]): boolean =>
    entries.get(`/ps/${index}`)?.createRevision.toString() === token;
  const leaders = new Set(parsed.map(({ primary }) => primary.index));
  return leaders.size === COPIES && parsed.every(({ inSync }) => inSync.filter(isLive).length === COPIES);
}

test('updates and promotions cut short at each step: every record counts once', async () => {
  const place = openPlace();
  const path = await plantedJob(place, JOB);
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const start = (name: string, args: readonly string[], fail = ''): Running =>
    place.start(name, args, { PADDLET_STORE: storeUrl, PADDLET_FAIL: fail });
  const startPserver = (index: number, fail?: string): Running =>
    start(`pserver ${index}`, ['pserver', '--index', String(index), '--dir', HAND_FOLDER], fail);
  const startTrainers = (fail?: string): Running[] => [0, 1].map((i) => start(`trainer ${i}`, ['trainer'], fail));
  const killed = async (running: Running, fail: string): Promise<void> => {
    const early = master.ended.then(() => {
      throw new Error(`the master ended before fail point ${fail} was reached`);
    });
    const { code, signal, err } = await Promise.race([running.ended, early]);
    expect({ fail, code, signal }).toEqual({ fail, code: null, signal: 'SIGKILL' });
    expect(err).toContain(`fail point ${fail}\n`);
  };

  const master = start('master', ['master', path, '--json']);
  // The job does not end before all was done to it, however slow the machine is.
  const slow = startTrainers('trainer.dealt:delay=600');
  const store = await openJobStore(storeUrl, JOB.name);
  // It lets the other one lead first.
  const patient = startPserver(1, 'copies.promoting:delay=1000');
  let other = startPserver(2);
  for (const point of ['push.advanced', 'copies.committed', 'copies.staged']) {
    await killed(startPserver(0, `${point}:kill@40`), `${point}:kill@40`);
  }
  for (const point of ['copies.promoting', 'copies.promoted']) {
    const dying = startPserver(0, `${point}:kill`);
    await store.until(areCopied, master);
    other.kill('SIGKILL');
    await killed(dying, `${point}:kill`);
    other = startPserver(2);
  }
  const last = startPserver(0);
  await store.until(areCopied, master);
  expect(await store.get('/result')).toBeUndefined();
  for (const trainer of slow) trainer.kill('SIGTERM');
  const trainers = startTrainers();
  await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
  await endWell([patient, other, last, ...trainers]);
  expect(await store.get('/recovery')).toBeUndefined();
});
