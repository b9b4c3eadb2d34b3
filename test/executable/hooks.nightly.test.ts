/** Commands before the first pass and after the last, with real processes that die. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { openPlace, resultOf } from './harness.ts';
import { JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { JOB_FOLDER, liveOne, startRun } from './run.ts';

const job = (hooks: object, passes = 2) => ({ ...UNHURRIED_JOB, hooks, training: { ...JOB.training, passes } });

test('run once each, in order, in the data folder; what follows knows the result', async () => {
  const place = openPlace();
  const hooks = {
    before: ['echo one >> order', 'echo two $PADDLET_JOB $PADDLET_HOOK >> order'],
    after: ['echo three >> order; printf %s "$PADDLET_RESULT" > result.json'],
  };
  const path = await plantedJob(place, job(hooks));
  const result = jobResultSchema.parse(await place.json('run', path, '--dir', JOB_FOLDER));
  expect(readFileSync(place.path('order'), 'utf8')).toBe('one\ntwo planted before\nthree\n');
  const told = jobResultSchema.parse(JSON.parse(readFileSync(place.path('result.json'), 'utf8')));
  expect(told).toEqual(result);
  expect(existsSync(place.path(JOB_FOLDER, 'checkpoints', '0', told.checkpoints[0]!.uuid))).toBe(true);
  await place.json('run', path, '--dir', JOB_FOLDER);
  expect(readFileSync(place.path('order'), 'utf8')).toBe('one\ntwo planted before\nthree\n');
});

test('a master that dies in a command: it dies too, is run again, and one that was done is not', async () => {
  const place = openPlace();
  // The first time it waits for a file that never comes.
  const waits = 'echo begun >> waits; test -e go || { sleep 600; echo outlived >> waits; }';
  const path = await plantedJob(place, job({ before: ['echo done >> once', waits] }));
  const { running, store } = await startRun(place, path);
  await store.until((entries) => entries.has('/hooks/before/1'), running);
  await expect.poll(() => existsSync(place.path('waits'))).toBe(true);
  const master = await liveOne(place, 'master');
  writeFileSync(place.path('go'), '');
  process.kill(master.pid, 'SIGKILL');
  const result = await resultOf(running);
  expect(result.records.lost).toBe(0);
  expect(readFileSync(place.path('once'), 'utf8')).toBe('done\n');
  expect(readFileSync(place.path('waits'), 'utf8')).toBe('begun\nbegun\n');
  const log = readFileSync(place.path(JOB_FOLDER, 'logs/master.log'), 'utf8');
  expect(log).toMatch(/hook before\[1\] was started, and its end was not recorded: running it again/);
});

test('a master that is suspended in a command: run names it, resumes it, and the job ends', async () => {
  const place = openPlace();
  const waits = 'echo begun >> waits; test -e go || sleep 600';
  const { cluster } = UNHURRIED_JOB;
  const path = await plantedJob(place, { ...job({ after: [waits] }), cluster: { ...cluster, leaseTtl: '2s' } });
  const { running } = await startRun(place, path);
  await expect.poll(() => existsSync(place.path('waits')), { timeout: 60_000 }).toBe(true);
  const master = await liveOne(place, 'master');
  writeFileSync(place.path('go'), '');
  process.kill(master.pid, 'SIGSTOP');
  expect((await resultOf(running)).records.lost).toBe(0);
  expect((await running.ended).err).toContain(`waiting for the master (pid ${master.pid}), which is suspended`);
  expect(readFileSync(place.path('waits'), 'utf8')).toBe('begun\nbegun\n');
});

test('a command that fails fails the job, with exit code 6 and its last lines', async () => {
  const place = openPlace();
  const path = await plantedJob(place, job({ before: ['echo so far; echo no such bucket >&2; exit 9'] }));
  const { code, err } = await place.paddlet('run', path, '--dir', JOB_FOLDER);
  expect(code).toBe(6);
  expect(err).toMatch(/HookFailed/);
  expect(err).toMatch(/ended with exit code 9/);
  expect(err).toMatch(/no such bucket/);
  // It has failed for good.
  expect(await place.paddlet('run', path, '--dir', JOB_FOLDER)).toMatchObject({ code: 6 });
});

test('a stop ends the command; the job goes on with it later', async () => {
  const place = openPlace();
  const waits = 'echo begun >> waits; test -e go || sleep 600';
  const { running, store, args } = await startRun(place, await plantedJob(place, job({ after: [waits] })));
  await store.until((entries) => entries.has('/hooks/after/0'), running);
  await expect.poll(() => existsSync(place.path('waits'))).toBe(true);
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 130 });
  await expect.poll(() => place.alive()).toEqual([]);
  writeFileSync(place.path('go'), '');
  expect((await resultOf(place.start('again', args))).records.lost).toBe(0);
  expect(readFileSync(place.path('waits'), 'utf8')).toBe('begun\nbegun\n');
});
