/**
 * Limited tables (logged/limited-job.ts) through faults in any order, with one copy of each unit or more. In both
 * modes, each shard is what the reference makes of its log.
 */
import { expect, test } from 'vitest';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { openPlace } from './harness.ts';
import { anyFaults, expectEvents, runThroughFaults, SLOWLY } from './logged/faults.ts';
import { DELTAS, SYNC, WITH_BAD_TASKS, writeJob } from './logged/limited-job.ts';
import { expectReplayed } from './logged/logged-run.ts';

const FAULTS = 6;
const PSERVERS = 3;
const PASSES = { async: 10, sync: 20 };

const cases = [1, 2, 3].flatMap((replicas) =>
  [1, 2].flatMap((number) =>
    (['async', 'sync'] as const).flatMap((mode) =>
      [false, true].map((hasDeltas) => ({ mode, replicas, seed: 10 * replicas + number, hasDeltas })),
    ),
  ),
);

test.each(cases)('$mode mode, copies: $replicas, seed $seed, deltas: $hasDeltas', async (one) => {
  const { mode, replicas, seed, hasDeltas } = one;
  const place = openPlace();
  const job = mode === 'async' ? WITH_BAD_TASKS : SYNC;
  const training = { ...job.training, passes: PASSES[mode] };
  const changed = { ...job, training, ...(hasDeltas ? DELTAS : {}) };
  const path = writeJob(place, changed, { pservers: PSERVERS, trainers: 2, replicas });
  const faults = anyFaults(createRandomStream(seed), FAULTS, PSERVERS, replicas);
  const result = await runThroughFaults({ place, job: path, slowly: SLOWLY[mode], faults, hasDeltas });
  expect(result.records.lost).toBe(0);
  const facts = await expectReplayed(place, result);
  // A bad task may be discarded before any file has an id of it.
  expectEvents(facts, false);
  if (mode === 'sync') expect(facts.timelines).toBe(1);
  const { takenOver, updates, timelines } = facts;
  const shown = JSON.stringify({ ...one, faults, takenOver, updates, timelines });
  process.stdout.write(`${shown}\n`);
});
