/** What commands say of a job that runs: its roles are in this process. That it is as promised, `runCommand` checks. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand, startCommand } from '../run-command.ts';

// Beside the other tests.
vi.setConfig({ testTimeout: 300_000 });

function aJob(training: object, cluster: object = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-live-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n1 1:1 6:1\n0 2:1 3:1\n1 4:1\n');
  const data = { train: 'train', test: 'train', format: 'libsvm', recordsPerTask: 3 };
  const job = { name: 'small', data, model: { type: 'lr' }, training: { batchSize: 2, ...training } };
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify({ ...job, cluster: { shards: 4, ...cluster } }));
  const where = ['--store', `sqlite:${join(cwd, 'store.db')}`, '--dir', cwd];
  const start = (...words: string[]) => startCommand([...words, ...where, '--json', '--log-level', 'warn'], { cwd });
  const json = async (...words: string[]) => {
    const { code, out, err } = await runCommand([...words, ...where, '--json'], { cwd });
    expect({ words, code, err }).toMatchObject({ words, code: 0 });
    return JSON.parse(out);
  };
  /** An error before the job is published. */
  const statusOrNone = async () => JSON.parse((await runCommand(['status', ...where, '--json'], { cwd })).out);
  const master = start('master', 'job.yaml');
  const roles = [master, start('pserver'), start('pserver'), start('trainer')];
  return { json, statusOrNone, master, ended: Promise.all(roles.map(({ ended }) => ended)) };
}

/** Longer than a test takes, and few enough for the rounds of all of them to be counted. */
const MANY = 50_000;
const COPIED = { pservers: 2, replicas: 2, minInSync: 1, trainers: 1 };

test.each(['async', 'sync'] as const)('a job in %s mode, until it is stopped', async (mode) => {
  const { json, statusOrNone, ended } = aJob({ mode, passes: MANY, ...(mode === 'sync' && { lanes: 1 }) }, COPIED);
  const whole = { units: { lacking: [] }, processes: [{}, {}, {}, {}] };
  await expect.poll(statusOrNone).toMatchObject({ mode, phase: 'training', ...whole });
  expect(await json('why')).toMatchObject({ job: 'small', phase: 'training' });
  expect((await json('top', '--count', '1')).processes).toHaveLength(4);
  expect(await json('status', '--verify')).toMatchObject({ ok: true, units: 4 });
  expect(await json('checkpoint', 'save')).toMatchObject({ job: 'small' });
  expect(await json('token', 'view')).toMatchObject({ job: 'small' });
  expect(await json('evaluate')).toMatchObject({ model: 'pservers' });
  expect(await json('resize', '--trainers', '1')).toMatchObject({ outcome: 'settled', processes: [{}, {}] });
  expect(await json('stop')).toEqual({ stopped: true });
  expect((await ended).map(({ code }) => code)).toEqual([130, 130, 130, 130]);
  expect(await json('status')).toMatchObject({ phase: 'stopped', pass: expect.any(Number) });
});

test('the result, by the master and by status', async () => {
  const { json, master, ended } = aJob({ passes: 1 }, { pservers: 2 });
  expect((await ended).map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const result = JSON.parse((await master.ended).out);
  expect(await json('status')).toMatchObject({ ...result, phase: 'done' });
  const { points } = await json('history');
  const kinds = points.map(({ kind }: { kind: string }) => kind);
  expect([...new Set(kinds)]).toEqual(['train', 'pass', 'evaluation']);
});
