import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paddlet-doctor-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Report {
  readonly code: number;
  readonly ok: boolean;
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[];
}

async function doctor(...args: string[]): Promise<Report> {
  const { code, out, err } = await runCommand(['doctor', '--json', ...args], { cwd: folder });
  if (out === '') throw new Error(err);
  return { code, ...JSON.parse(out) };
}

const statuses = ({ checks }: Report): Record<string, string> =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));

test('a sound machine: every check, and nothing left behind', async () => {
  const dir = join(folder, 'jobs');
  const report = await doctor('--dir', dir);
  expect(report).toMatchObject({ code: 0, ok: true });
  expect(report.checks.map(({ name }) => name)).toEqual(['program', 'memory', 'kernels', 'network', 'disk', 'store']);
  expect(statuses(report)).toMatchObject({
    program: 'ok',
    kernels: 'ok',
    network: 'ok',
    disk: expect.stringMatching(/ok|warn/),
  });
  expect(await readdir(dir)).toEqual([]);
});

test('a folder that cannot be written to', async () => {
  const report = await doctor('--dir', '/proc/paddlet');
  // As `run` ends there.
  expect(report).toMatchObject({ code: 9, ok: false });
  expect(report.checks.find(({ name }) => name === 'disk')).toMatchObject({ status: 'fail', hint: 'check the path' });
});

test.each([
  ['a file', (path: string) => writeFile(path, '')],
  ['a link that leads nowhere', (path: string) => symlink('gone', path)],
])('%s in place of a folder: refused as by run', async (_, make) => {
  const inside = await mkdtemp(join(folder, 'taken-'));
  const taken = join(inside, 'taken');
  await make(taken);
  const report = await doctor('--dir', taken);
  expect([report.code, statuses(report).disk]).toEqual([9, 'fail']);
  const job = join(inside, 'job.yaml');
  await writeFile(job, 'name: x\ndata: { train: a, format: libsvm }\nmodel: { type: lr }\n');
  await writeFile(join(inside, 'a'), '1 1:1\n0 2:1\n');
  for (const cache of [taken, join(taken, 'below')]) {
    const data = (await doctor(job, '--cache-dir', cache)).checks.find(({ name }) => name === 'data');
    expect(data).toMatchObject({ status: 'fail', hint: expect.stringContaining('--cache-dir') });
    expect((await doctor(job, '--cache-dir', cache)).code).toBe(3);
  }
  expect((await doctor(job, '--cache-dir', join(inside, 'cache'))).code).toBe(0);
});

test('a store', async () => {
  const report = await doctor('--store', `sqlite:${join(folder, 'store.db')}`);
  expect([report.code, statuses(report).store]).toEqual([0, 'ok']);
  const wrong = await doctor('--store', 'zookeeper://a');
  expect([wrong.code, statuses(wrong).store]).toEqual([2, 'fail']);
});

test('a job and its data', async () => {
  const job = join(folder, 'job.yaml');
  await writeFile(job, 'name: x\ndata: { train: a.svm, format: libsvm }\nmodel: { type: lr }\n');
  const without = await doctor(job);
  expect([without.code, statuses(without)]).toEqual([3, expect.objectContaining({ 'job file': 'ok', data: 'fail' })]);
  await writeFile(join(folder, 'a.svm'), '1 1:1\n0 2:1\n');
  const sound = await doctor(job);
  expect([sound.code, statuses(sound).data]).toEqual([0, 'ok']);
  const broken = await doctor(job, '--set', 'training.passes=0');
  expect([broken.code, statuses(broken)]).toEqual([2, expect.objectContaining({ 'job file': 'fail' })]);
  expect(statuses(broken)).not.toHaveProperty('data');
});
