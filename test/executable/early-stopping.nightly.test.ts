/** Async mode: jobs that end early under faults, what their best model is good for, and more passes for one of them. */
import { renameSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { expectEarly, killNow, RECORDS, startJob, storeOf, synthesize, untilKept } from './early-stopping-job.ts';
import { openPlace, resultOf } from './harness.ts';

test('SIGKILL of the master and of a pserver: each record counts once, and the best model is what the result says', async () => {
  const place = openPlace();
  await synthesize(place);
  const running = startJob(place, 'job', 2, {});
  const store = await storeOf(place, 'job', running);
  await untilKept(store, 1, running);
  killNow(place, 'job', 'pserver');
  await running.said(/pserver \d ended \(SIGKILL\); restarting it/);
  await untilKept(store, 2, running);
  killNow(place, 'job', 'master');
  await running.said(/master ended \(SIGKILL\); restarting it/);

  const result = await resultOf(running);
  const best = expectEarly(result);
  expect(await place.json('evaluate', best.checkpoint)).toMatchObject(best.metrics);
  const { points } = (await place.json('history', '--dir', 'job')) as { points: { kind: string; passes: number }[] };
  const evaluated = points.filter(({ kind }) => kind === 'evaluation').map(({ passes }) => passes);
  expect(evaluated).toEqual(Array.from({ length: result.passes }, (_, at) => at + 1));

  // A job that begins with the manifest needs no store of this one, and its folder may have been moved.
  renameSync(place.path('job'), place.path('elsewhere'));
  rmSync(place.path('elsewhere/store.db'));
  const from = best.checkpoint.replace(place.path('job'), place.path('elsewhere'));
  const next = startJob(place, 'next', 1, { passes: 1 }, { warmStart: { from } });
  const { warmStart, records } = await resultOf(next);
  expect(warmStart?.loaded.every(({ rows }) => rows > 0)).toBe(true);
  expect(records).toMatchObject({ applied: RECORDS, lost: 0 });
});

test.each(['async', 'sync'])('a job in %s mode that ended early goes on with more passes', async (mode) => {
  const place = openPlace();
  await synthesize(place);
  const few = await resultOf(startJob(place, 'job', 1, { mode, passes: 30 }));
  expectEarly(few);
  const more = await resultOf(startJob(place, 'job', 1, { mode, passes: 31 }));
  // By then it was known that no model was better for a while: it takes as many again to end it.
  expect(more.passes).toBeGreaterThan(few.passes);
  expect(more.passes).toBeLessThan(31);
  expect(more.records).toMatchObject({ applied: more.passes * RECORDS, lost: 0 });
  expect(more.evaluation).toMatchObject({ isStoppedEarly: true, best: few.evaluation!.best });
});

test.each(['evaluation.kept:kill@2', 'evaluation.going-on:kill'])(
  'a master that dies again and again at %s',
  async (fail) => {
    const place = openPlace();
    await synthesize(place);
    const running = startJob(place, 'job', 1, {}, {}, { PADDLET_FAIL: fail });
    const result = await resultOf(running);
    expectEarly(result);
    expect(running.err.match(/master ended \(SIGKILL\)/g)?.length).toBeGreaterThan(1);
  },
);
