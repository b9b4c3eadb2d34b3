/** The planted job in sync mode, and the digests that it must have in the end: those of a plain loop. */
import { expect } from 'vitest';
import * as z from 'zod';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { type ReferenceResult, referenceOf } from '../sync/reference-loop.ts';
import { type Place, resultOf } from './harness.ts';
import type { JobStore } from './job-store.ts';
import { JOB, plantedJob } from './planted-job.ts';
import { JOB_FOLDER } from './run.ts';

const PASSES = 6;
export const SYNC = {
  ...JOB,
  training: { mode: 'sync', lanes: 4, passes: PASSES, batchSize: 50 },
  checkpoint: { interval: '200ms' },
};

/** Rounds that take so long that a fault can strike in the middle of them. */
export const SLOWLY = 'round.applied:delay=40';

let known: Promise<ReferenceResult> | undefined;

/** Worked out once: the data is the same in each place, as it is made from a seed. */
export const plainLoop = (place: Place): Promise<ReferenceResult> => (known ??= referenceOf(SYNC, place.path()));

export async function expectPlain(place: Place, result: JobResult): Promise<void> {
  const plain = await plainLoop(place);
  const { modelDigest, stateDigest, records } = result;
  expect({ modelDigest, stateDigest }).toEqual({
    modelDigest: plain.modelDigest,
    stateDigest: plain.stateDigest,
  });
  expect(records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
  expect(result).toMatchObject({ mode: 'sync', passes: PASSES });
}

const cutSchema = z.object({ timeline: z.number(), round: z.number() });

/** The last complete cut. */
export const cutIn = (value: string | undefined) => cutSchema.parse(JSON.parse(value ?? '{"timeline":0,"round":0}'));

/** Until a cut is complete that is of at least that round. */
export async function cutOf(store: JobStore, round: number): Promise<number> {
  let found = 0;
  await store.until((entries) => {
    found = cutIn(entries.get('/checkpoints/cut')?.value).round;
    return found >= round;
  });
  return found;
}

export const finish = async (place: Place, ...settings: string[]): Promise<JobResult> => {
  const job = await plantedJob(place, SYNC);
  const flags = settings.flatMap((setting) => ['--set', setting]);
  return resultOf(place.start('run', ['run', job, '--dir', JOB_FOLDER, '--json', ...flags]));
};
