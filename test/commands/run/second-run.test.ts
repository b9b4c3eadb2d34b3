/** A second `run` in the folder of one that works there, and `run --attach`: as a user meets them. */
import { execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { lockFolder } from '../../../src/host/folder-lock.ts';
import { ROOT } from '../../source-files.ts';

const ENTRY = join(ROOT, 'bin/paddlet.ts');
/** One trainer that takes a second for each task, so that the run lasts until it is stopped. */
const SLOW = { PADDLET_FAIL: 'trainer.dealt:delay=1000' };

// Whole clusters of processes, beside the other tests.
vi.setConfig({ testTimeout: 300_000 });

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function openFolder(passes = 500, hooks: object = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-second-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n');
  const cluster = { pservers: 1, trainers: 1, shards: 1, leaseTtl: '15s' };
  const job = { name: 'small', data: { train: 'train', format: 'libsvm' }, model: { type: 'lr' }, cluster };
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify({ ...job, hooks, training: { passes } }));
  const words = [ENTRY, 'run', 'job.yaml', '--dir', 'job'];
  const run = (...more: string[]): Promise<Ran> =>
    new Promise((resolve) => {
      execFile(process.execPath, [...words, ...more], { env: {}, cwd }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err });
      });
    });
  const start = (...more: string[]) => {
    const child = spawn(process.execPath, [...words, ...more], { env: SLOW, cwd });
    const said = { out: '', err: '' };
    child.stdout.on('data', (text) => {
      said.out += text;
    });
    child.stderr.on('data', (text) => {
      said.err += text;
    });
    const ended = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, ...said })));
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    return { child, said, ended };
  };
  return { cwd, run, start };
}

/** Names, sizes and times of all files below. */
const stateOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/store\.db-|run\.lock$/.test(name))
    .map((name) => `${name} ${statSync(join(folder, name)).isFile() ? readFileSync(join(folder, name)).length : ''}`)
    .sort();

test('it is refused at once with pid and start time; --attach shows the first and ends as it does', async () => {
  const { run, start } = openFolder();
  const first = start('--json');
  await expect.poll(() => first.said.err).toContain('logs in');
  const second = await run('--json');
  expect(second.code).toBe(2);
  const { error } = JSON.parse(second.out);
  expect(error).toMatchObject({ code: 'JobConflict', details: { pid: first.child.pid } });
  expect(error.message).toMatch(/^another `paddlet run` works in .*\/job \(pid \d+, started \d{4}-\d\d-\d\dT.*Z\)$/);
  expect(error.hint).toContain('--attach');
  expect((await run('--fresh', '--yes')).err).toContain('error JobConflict: another `paddlet run`');

  const other = await run('--attach', '--set', 'name=other', '--json');
  expect([other.code, JSON.parse(other.out).error]).toMatchObject([
    2,
    { code: 'JobConflict', message: expect.stringContaining('works on job small, not on other') },
  ]);

  const detached = start('--attach');
  await expect.poll(() => detached.said.err).toContain('job small: starting master, pserver 0, trainer 0');
  detached.child.kill('SIGINT');
  expect(await detached.ended).toMatchObject({ code: 130, err: expect.stringContaining('detached') });
  expect(first.child.exitCode).toBeNull();

  const attached = start('--attach');
  await expect.poll(() => attached.said.err).toContain('logs in');
  first.child.kill('SIGINT');
  expect((await first.ended).code).toBe(130);
  expect(await attached.ended).toMatchObject({ code: 130, err: expect.stringContaining('stopped; run the same') });
  expect((await run('--attach')).err).toContain('error JobUnknown: no `paddlet run` works in');
});

test('an attached one ends with the result of the first', async () => {
  // It does not end before the other one is attached.
  const { cwd, start } = openFolder(2, { after: ['until test -e attached; do sleep 0.1; done'] });
  const first = start('--json');
  await expect.poll(() => first.said.err).toContain('logs in');
  const attached = start('--attach', '--json');
  await expect.poll(() => attached.said.err).toContain('logs in');
  writeFileSync(join(cwd, 'attached'), '');
  const result = await first.ended;
  expect(result.code).toBe(0);
  expect(await attached.ended).toMatchObject({ code: 0, out: result.out });
});

test('SIGKILL of the first does not block the second', async () => {
  const { cwd, run, start } = openFolder(2);
  const first = start();
  await expect.poll(() => first.said.err).toContain('logs in');
  first.child.kill('SIGKILL');
  await first.ended;
  expect(await run('--json')).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'job/store.db'))).toBe(true);
});

test('a run that is refused starts and rewrites nothing, and --fresh asks for a stronger word', async () => {
  const { cwd, run, start } = openFolder();
  const first = start();
  await expect.poll(() => first.said.err).toContain('pass 1 of 500 finished');
  first.child.kill('SIGINT');
  await first.ended;
  const before = stateOf(join(cwd, 'job'));
  const changed = await run('--set', 'training.batchSize=7');
  expect([changed.code, changed.err]).toEqual([2, expect.stringContaining('training.batchSize')]);
  expect(await run('--fresh')).toMatchObject({
    code: 2,
    err: expect.stringContaining('error JobConflict: job small is not finished ('),
  });
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n1 3:1\n');
  expect((await run()).err).toContain('error DataChanged: ');
  rmSync(join(cwd, 'train'));
  expect((await run('--fresh', '--yes')).err).toContain('error DataMissing: ');
  expect(stateOf(join(cwd, 'job'))).toEqual(before);
});

test('--attach to a run whose job is in another store says that its --store is needed', async () => {
  const { cwd, run } = openFolder();
  mkdirSync(join(cwd, 'job'));
  const lock = lockFolder(join(cwd, 'job'));
  lock?.describe({ pid: process.pid, started: 'then', job: 'small', logFrom: 0 });
  const { code, err } = await run('--attach');
  lock?.release();
  expect(code).toBe(2);
  expect(err).toMatch(/error JobUnknown: the run in .* has its job in another store: .*\nhint: give the same --store/);
});
