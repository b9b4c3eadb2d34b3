/**
 * Sync mode: roles killed at each step that a fail point marks, within one job: the digests stay those of a plain loop.
 */
import { expect, test } from 'vitest';
import { type ReferenceResult, referenceOf } from '../sync/reference-loop.ts';
import { endWell, resultOf } from './harness.ts';
import { type Hand, setUp } from './killed-at-steps.ts';
import { UNHURRIED_JOB } from './planted-job.ts';
import type { Running } from './processes.ts';

/** Cuts often, so that a step of one is never far; more rounds than are worked while roles die. */
const SYNC = {
  ...UNHURRIED_JOB,
  training: { mode: 'sync', lanes: 4, passes: 8, batchSize: 50 },
  checkpoint: { interval: '100ms' },
};

/** In each round, so that a fast machine has not worked them all before the last role has died. */
const SLOWLY = 'round.applied:delay=30';

let known: Promise<ReferenceResult> | undefined;

/** The job ends with the bits of the plain loop. */
async function expectPlainEnd({ place }: Hand, master: Running, others: readonly Running[]): Promise<void> {
  const { modelDigest, stateDigest, records } = await resultOf(master);
  await endWell(others);
  known ??= referenceOf(SYNC, place.path());
  const plain = await known;
  expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(records).toMatchObject({ applied: plain.applied, bad: 0, discarded: 0, lost: 0 });
}

test('a master dies before and after a cut is complete, and when it is about to publish the result', async () => {
  const hand = await setUp(SYNC);
  const others = ['pserver 0', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  others.push(hand.start('pserver 1', SLOWLY));
  await hand.diesAt('master', 'cut.saved:kill@1');
  await hand.diesAt('master', 'cut.completed:kill@2');
  await hand.diesAt('master', 'cut.saved:kill@2');
  await hand.diesAt('master', 'result.publishing:kill@1');
  await expectPlainEnd(hand, hand.start('master'), others);
});

test('a pserver dies at each step of a round, of a cut and of going back to one', async () => {
  const hand = await setUp(SYNC);
  const others = ['trainer 0', 'trainer 1'].map((name) => hand.start(name));
  others.push(hand.start('pserver 1', SLOWLY));
  const master = hand.start('master');
  await hand.diesAt('pserver 0', 'lane.taken:kill@30');
  for (const point of ['timeline.raised', 'pserver.rounds-loaded', 'pserver.shards-taken']) {
    await hand.diesAt('pserver 0', `${point}:kill@1`);
  }
  await hand.diesAt('pserver 0', 'round.applied:kill@20');
  for (const step of ['captured', 'renamed', 'published']) await hand.diesAt('pserver 0', `checkpoint.${step}:kill@1`);
  await expectPlainEnd(hand, master, [...others, hand.start('pserver 0')]);
});

test('a trainer dies when one pserver has a lane of it and another may not, and when all have all', async () => {
  const hand = await setUp(SYNC);
  const others = [hand.start('pserver 0'), hand.start('pserver 1', SLOWLY), hand.start('trainer 1')];
  const master = hand.start('master');
  await hand.diesAt('trainer 0', 'trainer.lane-acknowledged:kill@21');
  await hand.diesAt('trainer 0', 'trainer.lanes-pushed:kill@10');
  await expectPlainEnd(hand, master, [...others, hand.start('trainer 0')]);
});
