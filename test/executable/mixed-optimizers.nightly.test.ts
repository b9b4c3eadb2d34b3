/**
 * Two optimizers in one job, in sync mode: the bits of a plain loop, whatever the cluster is, through a restore too.
 */
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import { JOB, plantedJob } from './planted-job.ts';
import { JOB_FOLDER, runArguments, startRun } from './run.ts';

const FTRL = { type: 'ftrl', alpha: 0.1, beta: 1, lambda1: 0.001, lambda2: 0.001 };
const ADAGRAD = { type: 'adagrad', learningRate: 0.05 };
const MIXED = {
  ...JOB,
  model: { type: 'fm', factors: 3, initStddev: 0.05 },
  optimizer: { type: 'sgd', learningRate: 0.1 },
  tables: { w: { optimizer: FTRL }, v: { optimizer: ADAGRAD } },
  training: { mode: 'sync', lanes: 4, passes: 4, batchSize: 50 },
  checkpoint: { interval: '200ms' },
};

const USAGE = 2;

const settings = (pservers: number, trainers: number): string[] =>
  [`cluster.pservers=${pservers}`, `cluster.trainers=${trainers}`].flatMap((setting) => ['--set', setting]);

const digestsIn = ({ modelDigest, stateDigest }: Pick<JobResult, 'modelDigest' | 'stateDigest'>) => ({
  modelDigest,
  stateDigest,
});

const inspectionSchema = z.object({
  tables: z.array(z.object({ name: z.string(), optimizer: z.object({ type: z.string() }) })),
  dense: z.array(z.object({ name: z.string(), optimizer: z.object({ type: z.string() }) })),
  digests: z.object({ modelDigest: z.string(), stateDigest: z.string() }),
});

/** What the job's checkpoints say of the optimizers, and of the model. */
async function inspected(place: Place) {
  const answer = await place.json('checkpoint', 'inspect', '--dir', JOB_FOLDER, '--digest');
  const { tables, dense, digests } = inspectionSchema.parse(answer);
  return { optimizers: [...tables, ...dense].map(({ name, optimizer }) => [name, optimizer.type]), digests };
}

test('one trainer and one pserver; four trainers, restored from two pservers to three: the bits of a plain loop', async () => {
  const small = openPlace();
  const job = await plantedJob(small, MIXED);
  const plain = digestsIn(await referenceOf(MIXED, small.path()));
  const alone = await resultOf(small.start('run', [...runArguments(job), ...settings(1, 1)]));
  expect(digestsIn(alone)).toEqual(plain);

  const large = openPlace();
  const { running, store } = await startRun(large, await plantedJob(large, MIXED), 'round.applied:delay=25');
  await store.until((entries) => entries.has('/checkpoints/cut'));
  running.kill('SIGINT');
  await running.ended;
  expect(await store.get('/result')).toBeUndefined();

  const other = await large.paddlet(...runArguments(large.path('job.yaml')), '--set', 'tables.v.optimizer.l2=0.1');
  expect(other.code).toBe(USAGE);
  expect(other.out + other.err).toMatch(/JobConflict.*tables\.v\.optimizer\.l2/s);

  const ended = await large.paddlet('restore', '--dir', JOB_FOLDER, '--pservers', '3', '--json');
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('"published":true') });
  const again = [...runArguments(large.path('job.yaml')), ...settings(3, 4)];
  const result = await resultOf(large.start('run again', again));
  expect(digestsIn(result)).toEqual(plain);
  expect(await inspected(large)).toEqual({
    optimizers: [
      ['w', 'ftrl'],
      ['v', 'adagrad'],
      ['bias', 'sgd'],
    ],
    digests: plain,
  });
});
