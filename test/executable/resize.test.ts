/** `paddlet resize` of a running job, up and down: nothing is lost, nothing counts twice, and no process is left over. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openPlace, type Place, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { eventually, expectMidRun, JOB_FOLDER, liveProcesses, SLOWLY, startRun } from './run.ts';

const UNITS = 32;
const USAGE = 2;

/** It may have up to 4 pservers, and saves often: what leaves waits for the others' files. */
const RESIZABLE = {
  ...JOB,
  cluster: { ...JOB.cluster, maxPservers: 4, units: UNITS },
  checkpoint: { interval: '1s' },
};

const resizedSchema = z.object({
  outcome: z.literal('settled'),
  units: z.object({ total: z.literal(UNITS), toMove: z.literal(0), orphans: z.literal(0) }),
  processes: z.array(z.object({ index: z.number(), units: z.number(), status: z.literal('up') })),
});

/** Units of each pserver, once all is in its place. */
async function resize(place: Place, ...flags: string[]): Promise<number[]> {
  const resized = resizedSchema.parse(await place.json('resize', '--dir', JOB_FOLDER, ...flags));
  return resized.processes.map(({ units }) => units);
}

test('up and down in mid-run, and resumed with the present numbers', async () => {
  const place = openPlace();
  const job = await plantedJob(place, RESIZABLE);
  const { running, store, args } = await startRun(place, job, SLOWLY);
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
