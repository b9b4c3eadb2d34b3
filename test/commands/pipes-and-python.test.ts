/** What other programs hand over: a job file from a pipe, and JSON lines with the floats of Python. */
import { execFile, execFileSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { ENTRY, runCommand } from './run-command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'paddlet-handed-over-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const JOB = JSON.stringify({
  name: 'piped',
  data: { format: 'jsonl', train: 'a.jsonl', columns: { age: 'number', seen: 'number', clicked: 'label' } },
  model: { type: 'lr' },
  cluster: { pservers: 1, trainers: 1 },
});
const AGES = ['NaN', '20', 'Infinity', '40', '-Infinity', 'null'];
writeFileSync(
  join(cwd, 'a.jsonl'),
  AGES.map(
    (age, at) => `{"age": ${age}, "clicked": ${at % 2}, "seen": ${1_704_067_200 + 20 * at}, "more": [NaN]}\n`,
  ).join(''),
);
execFileSync('mkfifo', [join(cwd, 'pipe')]);

const ROUNDED =
  'column seen contains numbers from 1704067200 to 1704067328, a range in which 32-bit floats are 128 apart';

test.each([['doctor'], ['run', '--dry-run']])('%s reads a job file from a pipe once', async (...args) => {
  const [command = '', ...flags] = args;
  const ran = runCommand([command, 'pipe', ...flags, '--json'], { cwd });
  await pipeline([JOB], createWriteStream(join(cwd, 'pipe')));
  const { code, out } = await ran;
  expect([code, JSON.parse(out).error]).toEqual([0, undefined]);
  if (command === 'doctor') expect(out).toContain(ROUNDED);
});

test('a run from the standard input, and its master', async () => {
  writeFileSync(join(cwd, 'job.json'), JOB);
  // A pipe of the shell: what Node gives its children is none.
  const run = promisify(execFile)(
    'sh',
    ['-c', 'cat job.json | "$0" "$1" run /dev/stdin --json', process.execPath, ENTRY],
    { cwd },
  );
  const { stdout: out, stderr } = await run;
  expect(stderr).toContain(ROUNDED);
  // What Python writes for floats that are no number is missing, as null is.
  expect(JSON.parse(out).records).toMatchObject({ applied: 6, bad: 0 });
});

test('data inspect and init of such lines', async () => {
  const { out } = await runCommand(['data', 'inspect', 'a.jsonl', '--json'], { cwd });
  const { records, bad, columns } = JSON.parse(out);
  expect({ records, bad: bad.records }).toEqual({ records: 6, bad: 0 });
  expect(columns[0]).toMatchObject({ name: 'age', missing: 4 });
});
