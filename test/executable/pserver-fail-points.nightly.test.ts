/** A pserver killed at each step that a fail point marks, one step after the other within one job: it ends whole. */
import { expect, test } from 'vitest';
import { expectWholeEnd, SAVING_JOB, setUp } from './killed-at-steps.ts';
import { JOB } from './planted-job.ts';

/** Long enough for a pserver to be back before another one takes its units, on a busy machine, too. */
const AWAITED_JOB = { ...SAVING_JOB, cluster: { ...JOB.cluster, leaseTtl: '4s' } };

test('a pserver dies at each step of saving a checkpoint', async () => {
  const hand = await setUp();
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  for (const step of ['begun', 'captured', 'written', 'synced', 'digested', 'renamed', 'folder-synced', 'published']) {
    await hand.diesAt('pserver 0', `checkpoint.${step}:kill@${step === 'captured' ? 3 : 1}`);
  }
  await hand.diesAt('pserver 0', 'checkpoint.deleted:kill@1');
  await expectWholeEnd(hand, master, [...others, hand.start('pserver 0')]);
});

test('a pserver dies at each step of a push, and of its own start', async () => {
  const hand = await setUp(AWAITED_JOB);
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  for (const step of ['received', 'applied', 'advanced']) await hand.diesAt('pserver 0', `push.${step}:kill@40`);
  const starting = ['pserver.claimed', 'pserver.loaded', 'heads.changed', 'pserver.shards-taken'] as const;
  for (const step of [...starting, 'pserver.recovery-raised']) {
    // In between it leads its units: one that is never back would lose them to the other pserver.
    const served = hand.start('pserver 0');
    await served.said(/serving \d+ shards/);
    served.kill(step === 'pserver.recovery-raised' ? 'SIGKILL' : 'SIGINT');
    await served.ended;
    await hand.diesAt('pserver 0', `${step}:kill@1`);
  }
  const stopped = hand.start('pserver 0');
  await stopped.said(/checkpoint .* published/);
  stopped.kill('SIGINT');
  expect(await stopped.ended).toMatchObject({ code: 130 });
  await hand.diesAt('pserver 0', 'pserver.opened:kill@1');
  await expectWholeEnd(hand, master, [...others, hand.start('pserver 0')]);
});
