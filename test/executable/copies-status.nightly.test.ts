/** What a running cluster tells of the copies of its units: status, the comparison of all copies, metrics. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { eventually, expectMidRun, JOB_FOLDER, liveProcesses, startRun } from './run.ts';

const PSERVERS = 3;
const UNITS = 12;
const COPIED = {
  ...JOB,
  cluster: { ...JOB.cluster, pservers: PSERVERS, replicas: 2, units: UNITS, leaseTtl: '15s' },
};
/** The job lasts for several times what the commands take. */
const SLOWLY = 'trainer.dealt:delay=250';
const WHERE = ['--dir', JOB_FOLDER];

const copy = z.strictObject({ index: z.int(), state: z.literal('inSync'), behind: z.int().min(0) });
/** When all copies are there. */
const statusSchema = z.object({
  units: z.object({
    lacking: z.tuple([]),
    copies: z
      .array(
        z.strictObject({
          ...{ unit: z.int(), primary: z.int(), inSync: z.tuple([z.int(), z.int()]), epoch: z.int().min(2) },
          ...{ committed: z.int().min(1), staged: z.int().min(0), copies: z.tuple([copy]) },
        }),
      )
      .length(UNITS),
  }),
});
const verificationSchema = z.strictObject({
  ...{ ok: z.literal(true), units: z.literal(UNITS), equal: z.literal(UNITS) },
  ...{ alone: z.tuple([]), different: z.tuple([]), unsettled: z.tuple([]) },
});

test('copies of units are shown, compared while the job trains, and counted', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, COPIED), SLOWLY);
  await store.until((entries) => entries.has('/tasks/passes/0'), running);
  await eventually(async () => statusSchema.parse(await place.json('status', ...WHERE)));
  verificationSchema.parse(await place.json('status', '--verify', ...WHERE));
  const { out } = await place.paddlet('status', '--wide', ...WHERE);
  expect(out).toMatch(new RegExp(`^copies: ${2 * UNITS} of ${2 * UNITS} in sync`, 'm'));
  expect(out.match(/^ +\d+ +\d +\d+ {2}\d( \(\d+ updates? behind\))?$/gm)).toHaveLength(UNITS);
  await expectMidRun(store);

  const live = await liveProcesses(place, 1 + PSERVERS + 2);
  const pserver = (index: number) => live.find((one) => one.role === 'pserver' && one.index === index)!;
  process.kill(pserver(1).pid, 'SIGKILL');
  await eventually(async () => {
    const metrics = await Promise.all(
      [0, 2].map(async (index) => (await fetch(`http://${pserver(index).address}/metrics`)).text()),
    );
    const sumOf = (series: string): number =>
      metrics
        .flatMap(
          (text) => new RegExp(`^${series}\\{.*role="pserver",index="\\d"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? [],
        )
        .reduce((sum, count) => sum + Number(count), 0);
    const counts = ['promotions_total', 'failover_seconds_count'].map((name) => sumOf(`paddlet_pserver_${name}`));
    expect(counts).toEqual([UNITS / PSERVERS, UNITS / PSERVERS]);
    expect(sumOf('paddlet_pserver_copies')).toBeGreaterThan(0);
  });
  await eventually(async () => statusSchema.parse(await place.json('status', ...WHERE)));
  verificationSchema.parse(await place.json('status', '--verify', ...WHERE));
  await expectMidRun(store);
  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));

  const ended = await place.paddlet('status', '--verify', ...WHERE);
  expect(ended.code).toBe(2);
  expect(ended.err).toMatch(/^error Usage: no pserver of this job is running/m);
});
