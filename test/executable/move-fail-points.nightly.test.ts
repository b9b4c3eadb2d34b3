/**
 * Units move from two pservers to two that were added, and each of the four dies at steps of a move that fail points
 * mark: every update counts once, and in sync mode the digests stay those of a plain loop.
 */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { referenceOf } from '../sync/reference-loop.ts';
import { HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { expectWhole, JOB, PATIENT_JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';

const UNITS = 32;

const ASYNC = {
  ...PATIENT_JOB,
  cluster: { ...PATIENT_JOB.cluster, maxPservers: 4, units: UNITS },
  checkpoint: { interval: '500ms' },
};
const SYNC = { ...ASYNC, training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 50 } };

/** One life of a pserver for each. A pserver that has one of them left completes no more than a move at a time. */
const SOURCES = [
  ['move.offered', 'move.sealed'],
  ['move.copied', 'move.decided'],
];
const TARGETS = [
  ['move.accepted', 'move.confirmed'],
  ['move.filled', 'move.leading'],
];

const settledSchema = z.object({
  outcome: z.literal('settled'),
  processes: z.array(z.object({ index: z.number(), units: z.number(), status: z.literal('up') })),
});

/** `slowly`: fail points of the trainers, so that the job lasts until all have died. */
async function trainWhileMoversDie(place: Place, job: object, slowly: string): Promise<Running> {
  const path = await plantedJob(place, job);
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const start = (name: string, args: readonly string[], fail = ''): Running =>
    place.start(name, args, { PADDLET_STORE: storeUrl, PADDLET_FAIL: fail });
  const startPserver = (index: number, fail?: string): Running =>
    start(`pserver ${index}`, ['pserver', '--index', String(index), '--dir', HAND_FOLDER], fail);
  const startTrainers = (fail?: string): Running[] => [0, 1].map((i) => start(`trainer ${i}`, ['trainer'], fail));

  const live = async (index: number, points: readonly string[]): Promise<Running> => {
    for (const point of points) {
      const fail = `${point}:kill`;
      const { code, signal, err } = await startPserver(index, fail).ended;
      expect({ index, fail, code, signal }).toEqual({ index, fail, code: null, signal: 'SIGKILL' });
      expect(err).toContain(`fail point ${fail}\n`);
    }
    return startPserver(index);
  };

  const master = start('master', ['master', path, '--json']);
  const slow = startTrainers(slowly);
  const store = await openJobStore(storeUrl, JOB.name);
  const sources = SOURCES.map((points, index) => live(index, points));
  // The code that awaits them sees the error.
  for (const source of sources) source.catch(() => {});
  await store.until((entries) => entries.has('/checkpoints/0') && entries.has('/checkpoints/1'), master);
  const where = ['--store', storeUrl];
  await place.json('resize', '--pservers', '4', '--no-wait', ...where);
  const targets = TARGETS.map((points, i) => live(SOURCES.length + i, points));
  const pservers = await Promise.all([...sources, ...targets]);

  const settled = settledSchema.parse(await place.json('resize', '--pservers', '4', ...where));
  expect(settled.processes.map(({ units }) => units)).toEqual([8, 8, 8, 8]);
  expect(await store.get('/result')).toBeUndefined();
  for (const trainer of slow) trainer.kill('SIGTERM');
  const trainers = startTrainers();
  await master.ended;
  await endWell([...pservers, ...trainers]);
  return master;
}

test('async mode: each record counts once', async () => {
  const place = openPlace();
  const master = await trainWhileMoversDie(place, ASYNC, 'trainer.dealt:delay=150');
  await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
});

test('sync mode: the bits are those of a plain loop', async () => {
  const place = openPlace();
  const master = await trainWhileMoversDie(place, SYNC, 'trainer.lanes-pushed:delay=150');
  const { modelDigest, stateDigest, records } = await resultOf(master);
  const plain = await referenceOf(SYNC, place.path());
  expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
});
