/** A second `run` in the folder of one that works there, and `run --attach`: as a user meets them. */
import { spawn } from 'node:child_process';
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
import { COMPILED, ENTRY, type Ran, type Running, runCommand, startCommand } from '../run-command.ts';

/** One trainer that takes a second for each task, so that the run lasts until it is stopped. */
const SLOW = { ...COMPILED, PADDLET_FAIL: 'trainer.dealt:delay=1000' };

// Whole clusters of processes, beside the other tests.
vi.setConfig({ testTimeout: 300_000 });

function openFolder(passes = 500, hooks: object = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-second-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n');
  const cluster = { pservers: 1, trainers: 1, shards: 1, leaseTtl: '15s' };
  const job = { name: 'small', data: { train: 'train', format: 'libsvm' }, model: { type: 'lr' }, cluster };
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify({ ...job, hooks, training: { passes } }));
  const words = ['run', 'job.yaml', '--dir', 'job'];
  const run = (...more: string[]): Promise<Ran> => runCommand([...words, ...more], { cwd });
  /** As `run`, with what it has said so far. */
  const follow = (env: Record<string, string>, ...more: string[]): Running =>
    startCommand([...words, ...more], { cwd, env });
  /** In a process of its own, to be ended by signals. */
  const start = (...more: string[]) => {
    const child = spawn(process.execPath, [ENTRY, ...words, ...more], { env: SLOW, cwd });
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
  return { cwd, run, follow, start };
}

/** Names, sizes and times of all files below. */
const stateOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/store\.db-|run\.lock$/.test(name))
    .map((name) => `${name} ${statSync(join(folder, name)).isFile() ? readFileSync(join(folder, name)).length : ''}`)
    .sort();

test('it is refused at once with pid and start time; --attach shows the first and ends as it does', async () => {
  const { cwd, run, follow, start } = openFolder();
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

  const attached = follow(COMPILED, '--attach');
  await expect.poll(() => attached.said.err).toContain('logs in');
  await expect.poll(() => first.said.err).toContain('pass 1 of 500 finished');
  first.child.kill('SIGINT');
  expect((await first.ended).code).toBe(130);
  expect(await attached.ended).toMatchObject({ code: 130, err: expect.stringContaining('stopped; run the same') });
  expect((await run('--attach')).err).toContain('error JobUnknown: no `paddlet run` works in');
  await expectRefusals(cwd, run);
});

/** After a stop: a run that is refused starts and rewrites nothing, and --fresh asks for a stronger word. */
async function expectRefusals(cwd: string, run: (...more: string[]) => Promise<Ran>): Promise<void> {
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
}

test('SIGKILL of the first does not block the second, and one attached to that ends with its result', async () => {
  // It does not end before the other one is attached.
  const { cwd, follow, start } = openFolder(2, { after: ['until test -e attached; do sleep 0.1; done'] });
  const first = start();
  await expect.poll(() => first.said.err).toContain('logs in');
  first.child.kill('SIGKILL');
  await first.ended;
  const second = follow(SLOW, '--json');
  await expect.poll(() => second.said.err).toContain('logs in');
  const attached = follow(SLOW, '--attach', '--json');
  await expect.poll(() => attached.said.err).toContain('logs in');
  writeFileSync(join(cwd, 'attached'), '');
  const result = await second.ended;
  expect(result.code).toBe(0);
  expect(await attached.ended).toMatchObject({ code: 0, out: result.out });
  expect(existsSync(join(cwd, 'job/store.db'))).toBe(true);
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
