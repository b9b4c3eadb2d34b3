/** A run whose logs are in several files each, and `logs --follow` while they are renamed. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { COMPILED, runCommand, startCommand } from '../run-command.ts';

// A whole cluster of processes, beside the other tests.
vi.setConfig({ testTimeout: 300_000 });

const LINES = 400;
const BYTES = 16 * 1024;

const JOB = {
  name: 'small',
  data: { train: 'train', format: 'libsvm' },
  model: { type: 'lr' },
  cluster: { pservers: 1, trainers: 1, shards: 1 },
  training: { passes: 1 },
  // The master logs each of its lines, in some 100 bytes.
  hooks: { after: [`for i in $(seq ${LINES}); do echo number $i; done`] },
};

test('no entry is lost or repeated, and each file has its bound', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-log-bytes-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n');
  writeFileSync(join(cwd, 'job.yaml'), JSON.stringify(JOB));
  const place = { cwd, env: { ...COMPILED, PADDLET_LOG_BYTES: String(BYTES) } };
  const run = startCommand(['run', 'job.yaml', '--dir', 'job', '--json'], place);
  const logs = join(cwd, 'job/logs');
  await expect.poll(() => run.said.err, { timeout: 60_000 }).toContain('logs in');
  const followed = startCommand(['logs', 'run', '--dir', 'job', '--follow', '--lines', 'all'], place);
  const master = await runCommand(['logs', '--dir', 'job', '--follow', '--lines', 'all'], place);
  expect([(await run.ended).code, (await followed.ended).code, master.code]).toEqual([0, 0, 0]);

  const numbers = (text: string): number[] =>
    [...text.matchAll(/: number (\d+) /g)].map(([, number]) => Number(number));
  const all = Array.from({ length: LINES }, (_, at) => at + 1);
  expect(numbers(master.out)).toEqual(all);
  const again = await runCommand(['logs', 'master', '--dir', 'job', '--lines', 'all'], place);
  expect(numbers(again.out)).toEqual(all);
  // What the process wrote to its stdout, after all that it logged.
  expect(again.out).toMatch(/ number \d+ .*\nmodel /s);
  expect((await followed.ended).out).toContain('ended with exit code 0 ');

  const files = readdirSync(logs).sort();
  expect(files).toEqual(expect.arrayContaining(['master.log', 'master.log.1', 'master.log.2', 'run.log']));
  // The one line that fills it may be longer than what is left.
  for (const file of files) expect(statSync(join(logs, file)).size).toBeLessThan(BYTES + 2_000);
  expect((await runCommand(['run', 'job.yaml', '--dir', 'job', '--fresh', '--yes', '--json'], place)).code).toBe(0);
  expect(numbers((await runCommand(['logs', 'master', '--dir', 'job', '--lines', 'all'], place)).out)).toEqual(all);
});
