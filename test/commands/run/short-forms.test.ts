/** `--trainers`, `--pservers` and `--passes` of `run` are `--set` under another name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { allSets } from '../../../src/commands/run/short-forms.ts';
import { type Ran, runCommand } from '../run-command.ts';

function inFolder(): (...words: string[]) => Promise<Ran> {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-short-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const job = { name: 'small', data: { train: 'train', format: 'libsvm' }, model: { type: 'lr' } };
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify(job));
  return (...words) => runCommand(['run', 'job.yaml', ...words], { cwd });
}

test('each sets its field, after what --set says of others', () => {
  const set = ['cluster.shards=8', 'training.batchSize=2'];
  const sets = allSets({ set, trainers: '3', pservers: '2', passes: '7' });
  expect(sets).toEqual([...set, 'cluster.trainers=3', 'cluster.pservers=2', 'training.passes=7']);
  expect(allSets({ set })).toEqual(set);
});

test.each([
  ['trainers', 'cluster.trainers', '0'],
  ['pservers', 'cluster.pservers', 'many'],
  ['passes', 'training.passes', '1.5'],
])('--%s has the errors of --set %s=%s', async (name, field, value) => {
  const run = inFolder();
  const long = await run('--set', `${field}=${value}`);
  expect(long).toMatchObject({ code: 2, err: expect.stringContaining(`${field}: expected`) });
  expect(await run(`--${name}`, value)).toEqual(long);
});

test.each(['cluster.trainers=4', 'cluster={shards: 8}'])('with --set %s too, both are named', async (set) => {
  const { code, err } = await inFolder()('-s', set, '--trainers', '3');
  expect(code).toBe(2);
  expect(err).toContain(`error Usage: --trainers 3 and --set ${set} set the same field\nhint: leave out one of them`);
});
