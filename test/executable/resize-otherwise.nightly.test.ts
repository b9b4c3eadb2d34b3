/** A pserver leaves by itself, and a job in sync mode is resized: nothing is lost, and the bits stay. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { referenceOf } from '../sync/reference-loop.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { openPlace, resultOf } from './harness.ts';
import type { Entries } from './job-store.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { RESIZABLE, resize, UNITS } from './resizable-job.ts';
import { expectMidRun, startRun } from './run.ts';

const INTERRUPTED = 130;

test('one pserver of a cluster gets SIGTERM: the other takes its units, and gives its share back to the next', async () => {
  const place = openPlace();
  const job = await plantedJob(place, { ...UNHURRIED_JOB, cluster: { ...UNHURRIED_JOB.cluster, units: UNITS } });
  const { store, master, pservers, again } = await startByHand(place, job, `sqlite:${place.path('store.db')}`);
  await store.passesOver(1, master);
  const [stopped, other] = pservers;
  stopped.kill('SIGTERM');
  expect(await stopped.ended).toMatchObject({ code: INTERRUPTED, err: expect.not.stringContaining('draining') });
  const next = again('pserver 0');
  await store.until((entries) => unitsOf(entries, 0) === UNITS / 2 && unitsOf(entries, 1) === UNITS / 2, next);
  await expectMidRun(store);
  // Nothing was loaded from a file.
  expect(await store.get('/recovery')).toBeUndefined();
  expect(next.err).not.toMatch(/from=[0-9a-f-]{36}/);

  await expectWhole(place, await resultOf(master), place.path(HAND_FOLDER, 'checkpoints'));
  for (const { ended } of [next, other]) expect((await ended).code).toBe(0);
});

/** Units that the pserver says it leads. */
function unitsOf(entries: Entries, index: number): number {
  const record = entries.get(`/pservers/${index}`);
  const { units } = z
    .object({ units: z.array(z.object({ unit: z.number() })) })
    .parse(JSON.parse(record?.value ?? '{"units":[]}'));
  return units.length;
}

test('in sync mode, up and down: the bits are those of a plain loop', async () => {
  const place = openPlace();
  const sync = { ...RESIZABLE, training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 50 } };
  const job = await plantedJob(place, { ...sync, checkpoint: { interval: '300ms' } });
  const { running } = await startRun(place, job, 'round.applied:delay=70');
  await running.said(/pass 1 of 4 finished/);
  expect(await resize(place, '--pservers', '4')).toEqual([8, 8, 8, 8]);
  expect(await resize(place, '--pservers', '3', '--trainers', '3')).toEqual([11, 11, 10]);
  expect(await resize(place, '--pservers', '1')).toEqual([UNITS]);

  const { modelDigest, stateDigest, records } = await resultOf(running);
  const plain = await referenceOf(sync, place.path());
  expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(records).toMatchObject({ applied: plain.applied, lost: 0 });
});
