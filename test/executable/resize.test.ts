/** Pservers and trainers come and go while a job runs: nothing is lost, and nothing counts twice. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { referenceOf } from '../sync/reference-loop.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import type { Entries, JobStore } from './job-store.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { eventually, expectMidRun, JOB_FOLDER, liveProcesses, startRun } from './run.ts';

const UNITS = 32;
/** The job goes on through four changes of size, one after the other. */
const VERY_SLOWLY = 'trainer.dealt:delay=60';
const USAGE = 2;
const INTERRUPTED = 130;

/** It may have up to 4 pservers, and saves often: what leaves waits for the others' files. */
const RESIZABLE = {
  ...UNHURRIED_JOB,
  cluster: { ...UNHURRIED_JOB.cluster, maxPservers: 4, units: UNITS },
  checkpoint: { interval: '1s' },
};

const resizedSchema = z.object({
  outcome: z.literal('settled'),
  units: z.object({ total: z.literal(UNITS), toMove: z.literal(0), orphans: z.literal(0) }),
  processes: z.array(z.object({ index: z.number(), units: z.number(), status: z.literal('up') })),
});

/** How many units the pservers have, once all is in its place: the most first, as bytes decide who has one more. */
async function resize(place: Place, ...flags: string[]): Promise<number[]> {
  const resized = resizedSchema.parse(await place.json('resize', '--dir', JOB_FOLDER, ...flags));
  return resized.processes.map(({ units }) => units).sort((a, b) => b - a);
}

/** Of pservers with these indexes that have left: no key, and no file. */
async function expectNothingLeft(place: Place, store: JobStore, indexes: readonly number[]): Promise<void> {
  const keys = [...(await store.entries()).keys()];
  for (const index of indexes) {
    for (const key of [`/ps/${index}`, `/pservers/${index}`, `/checkpoints/${index}`]) expect(keys).not.toContain(key);
    expect(existsSync(place.path(JOB_FOLDER, 'checkpoints', String(index)))).toBe(false);
  }
}

test('up and down in mid-run, and resumed with the present numbers', async () => {
  const place = openPlace();
  const job = await plantedJob(place, RESIZABLE);
  const { running, store, args } = await startRun(place, job, VERY_SLOWLY);
  await store.passesOver(1, running);

  expect(await resize(place, '--pservers', '3')).toEqual([11, 11, 10]);
  expect(await resize(place, '--pservers', '4', '--trainers', '3')).toEqual([8, 8, 8, 8]);
  expect(await resize(place, '--pservers', '2', '--trainers', '1')).toEqual([16, 16]);
  await eventually(async () => {
    const roles = (await liveProcesses(place)).map(({ role }) => role).sort();
    expect(roles).toEqual(['master', 'pserver', 'pserver', 'trainer']);
  });
  const refused = await place.paddlet('resize', '--dir', JOB_FOLDER, '--pservers', '5', '--json');
  expect([refused.code, refused.out]).toEqual([USAGE, expect.stringContaining('cluster.maxPservers of the job is 4')]);
  expect(await resize(place, '--pservers', '1')).toEqual([UNITS]);
  await expectMidRun(store);
  await expectNothingLeft(place, store, [1, 2, 3]);

  running.kill('SIGINT');
  await running.ended;
  const again = place.start('run again', args);
  await again.said(/starting master, pserver 0, trainer 0;/);
  const result = await resultOf(again);
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0]);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'));

  const ended = await place.paddlet('resize', '--dir', JOB_FOLDER, '--pservers', '2', '--json');
  expect([ended.code, ended.out]).toEqual([USAGE, expect.stringContaining('has ended')]);
});

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
