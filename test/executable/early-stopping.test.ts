/** A job ends early at the same pass, with the same best model, whatever the cluster is and whatever dies. */
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import {
  expectEarly,
  killNow,
  RECORDS,
  startJob,
  storeOf,
  synthesize,
  TEST_FILE,
  untilKept,
} from './early-stopping-job.ts';
import { openPlace, resultOf } from './harness.ts';

test('SIGKILL of the master while a model is scored: the job ends early as without, and its best model is there', async () => {
  const place = openPlace();
  await synthesize(place);
  const sync = { mode: 'sync', lanes: 4 };
  const plain = startJob(place, 'plain', 1, sync);
  const killed = startJob(place, 'killed', 2, sync);
  const store = await storeOf(place, 'killed', killed);
  await untilKept(store, 2, killed);
  killNow(place, 'killed', 'master');
  await killed.said(/master ended \(SIGKILL\); restarting it/);

  const result = await resultOf(killed);
  const best = expectEarly(result);
  const same = ({ passes, modelDigest, stateDigest, evaluation }: JobResult) => ({
    ...{ passes, modelDigest, stateDigest },
    ...{ best: evaluation?.best?.metrics, last: evaluation?.last.metrics },
  });
  expect(same(result)).toEqual(same(await resultOf(plain)));

  const kept = readdirSync(dirname(best.checkpoint)).sort();
  expect(kept).toEqual([`pass-${best.passes}.json`, `pass-${result.passes}.json`]);
  expect(await place.json('evaluate', best.checkpoint)).toMatchObject(best.metrics);
  const predicted = await place.paddlet('predict', best.checkpoint, '--data', TEST_FILE);
  expect(predicted.out.trimEnd().split('\n')).toHaveLength(1 + RECORDS);
});
