/** What commands print that no other test runs with `--json`. That it is as promised, `runCommand` checks. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../../source-files.ts';
import { runCommand } from '../run-command.ts';
import { endJob, storedJob } from '../saved-job.ts';

function inFolder(): (...words: string[]) => Promise<Record<string, unknown>> {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-printed-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'text'), '1 1:1\n0 2:1\n1 1:1 6:1\n');
  writeFileSync(join(cwd, 'lines.jsonl'), '{"x": {"y": 1, "z": [[1]]}, "label": true}\n[1]\n');
  return (...words) => printed(cwd, ...words);
}

async function printed(cwd: string, ...words: string[]): Promise<Record<string, unknown>> {
  const { code, out } = await runCommand([...words, '--json'], { cwd });
  expect(code).toBe(0);
  return JSON.parse(out);
}

test('data index, data synth, and data inspect of each kind of file', async () => {
  const json = inFolder();
  expect(await json('data', 'index', 'text', '--format', 'libsvm')).toMatchObject({ records: 3, tasks: 1 });
  expect(await json('data', 'inspect', 'text')).toMatchObject({ kind: 'libsvm', ids: 3 });
  expect(await json('data', 'inspect', 'lines.jsonl')).toMatchObject({
    form: { format: 'jsonl' },
    columns: [{}, {}, {}],
  });
  const parquet = join(ROOT, 'test/golden/data/parquet/nested-v1.parquet');
  expect(await json('data', 'inspect', parquet)).toMatchObject({ form: { format: 'parquet' }, records: 6 });
  const synth = ['data', 'synth', '--records', '200', '--test-records', '50', '--output', '.', '--as'];
  expect(await json(...synth, 'libffm')).toMatchObject({ options: { records: 200 } });
  expect(await json(...synth, 'csv')).toMatchObject({ files: { job: expect.stringContaining('job.yaml') } });
  expect(await json('data', 'inspect', 'train.csv', '--label', 'label')).toMatchObject({ kind: 'table', records: 200 });
  expect(await json('data', 'inspect', 'train.libffm', 'test.libffm')).toMatchObject({ files: [{}, {}] });
  expect(await json('data', 'index', 'train.csv', '--job', 'job.yaml')).toMatchObject({ records: 200 });
});

test('predict: lines for each record, and the summary on stderr', async () => {
  const job = await storedJob();
  await endJob(job);
  const predict = (...words: string[]) =>
    runCommand(['predict', '--data', 'test.libsvm', '--dir', job.folder, '--json', ...words], { cwd: job.cwd });
  const lines = await predict('--as', 'jsonl');
  expect(lines.out.trim().split('\n')).toHaveLength(3);
  const csv = await predict();
  expect(csv.out).toMatch(/^score\n/);
  for (const { err } of [lines, csv]) expect(JSON.parse(err)).toMatchObject({ job: 'small', records: 3 });
});

test('why, of a store that does not answer', async () => {
  const json = inFolder();
  const away = await json('why', '--store', 'etcd://127.0.0.1:1', '--timeout', '0s');
  expect(away).toMatchObject({ phase: 'unknown', causes: [{ kind: 'store' }] });
});

test('docs and completion', async () => {
  const json = inFolder();
  expect(await json('docs')).toMatchObject({
    topics: expect.arrayContaining([{ name: 'data', title: expect.any(String) }]),
  });
  expect(await json('docs', 'data')).toMatchObject({ topic: 'data' });
  expect(await json('completion', 'fish')).toMatchObject({ shell: 'fish' });
});

test('commands for a job that no process works on', async () => {
  const { cwd, folder } = await storedJob();
  const json = (...words: string[]) => printed(cwd, ...words, '--dir', folder);
  expect(await json('status')).toMatchObject({ phase: 'stopped', processes: [] });
  expect(await json('why')).toMatchObject({ phase: 'stopped', causes: [{ kind: 'stopped' }] });
  expect(await json('resize', '--trainers', '3', '--no-wait')).toMatchObject({ outcome: 'requested', trainers: 3 });
  expect(await json('resize', '--trainers', '2')).toMatchObject({ outcome: 'stopped', processes: [] });
  expect(await json('token', 'rotate')).toEqual({ job: 'small', rotated: true });
  expect(await json('stop', '--no-wait')).toEqual({ stopped: false, requested: true });
});
