/** What a command does when its output cannot be written, or the machine refuses it a file: as a user meets it. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { COMPILED, ENTRY, type Ran, runCommand } from './run-command.ts';

const MACHINE = 9;

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-outputs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** In a folder of its own; `$P` is paddlet. */
function sh(line: string): Promise<Ran> {
  const cwd = aFolder();
  return new Promise((resolve) => {
    const env = { ...COMPILED, PATH: process.env.PATH, P: `${process.execPath} ${ENTRY}` };
    execFile('sh', ['-c', line], { env, cwd }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

test.each(['--help', 'doctor --help', 'doctor --schema', 'data synth --output x --records 10 --json'])(
  'paddlet %s: an output that cannot be written is not a success',
  async (words) => {
    const { code, err } = await sh(`$P ${words} >/dev/full`);
    expect(err).toMatch(/^error OutputFailed: the output could not be written: ENOSPC.*\nhint: /m);
    expect(err).not.toMatch(/bug:| at /);
    expect(code).toBe(MACHINE);
  },
);

test('the version too', async () => {
  const { code, err } = await sh('$P --version >/dev/full');
  expect([code, err]).toEqual([MACHINE, expect.stringContaining('error OutputFailed: ')]);
});

/** Descriptor 4 becomes a pipe without a reader. */
const CLOSED_PIPE = 'mkfifo f && exec 3<>f 4>f 3<&-';

test('a reader that closes the pipe is no failure of any command', async () => {
  const job = join(aJobFolder(), 'job.yaml');
  const lines = ['run -h', '--help', '--version', 'doctor --schema', `run ${job} --dry-run`].map((line) => `'${line}'`);
  const { out, err } = await sh(`${CLOSED_PIPE}; for line in ${lines.join(' ')}; do $P $line >&4; echo $?; done`);
  expect([err, out]).toEqual(['', '0\n'.repeat(lines.length)]);
});

test('an error as JSON that has no reader is printed on stderr, and keeps its exit code', async () => {
  const { code, err } = await sh(`${CLOSED_PIPE}; $P status --dir nowhere --json >&4`);
  expect([code, err]).toEqual([2, expect.stringContaining('error JobUnknown: ')]);
});

test.each(['2>/dev/full', '2>&-', '>/dev/full 2>/dev/full'])(
  'an error that cannot be printed keeps its exit code: %s',
  async (where) => {
    expect((await sh(`$P frobnicate ${where}`)).code).toBe(2);
  },
);

test('an error as JSON that cannot be printed on stdout is printed on stderr', async () => {
  const { code, err } = await sh('$P status --dir nowhere --json >/dev/full');
  expect([code, err]).toEqual([2, expect.stringContaining('error JobUnknown: ')]);
});

test('logs that cannot be written stop nothing', async () => {
  const { code, out } = await sh('$P data synth --output x --records 10 --log-level debug --json 2>/dev/full');
  expect([code, JSON.parse(out)]).toEqual([0, expect.anything()]);
});

/** A folder with a job and its data. */
function aJobFolder(): string {
  const cwd = aFolder();
  writeFileSync(join(cwd, 'job.yaml'), '{name: small, data: {train: train, format: libsvm}, model: {type: lr}}');
  writeFileSync(join(cwd, 'train'), '1 1:1\n0 2:1\n');
  return cwd;
}

test.each([
  ['in place of a file', 'job.yaml', 'EEXIST'],
  ['in place of a link that leads nowhere', 'link', 'EEXIST'],
  ['below a file', 'job.yaml/job', 'ENOTDIR'],
  ['where no folder can be made', '/proc/job', 'ENOENT'],
])('a folder for the job %s is refused, with what to do', async (_where, dir, code) => {
  const cwd = aJobFolder();
  symlinkSync('gone', join(cwd, 'link'));
  const ran = await runCommand(['run', 'job.yaml', '--dir', dir], { cwd });
  expect(ran.err).toMatch(new RegExp(`^error SystemRefused: the operating system refused .*${code}.*\nhint: `));
  expect(ran.code).toBe(MACHINE);
});

test.each(['train', 'link'])('other folders that are named, in place of a file or link (%s)', async (taken) => {
  const cwd = aJobFolder();
  symlinkSync('gone', join(cwd, 'link'));
  const run = ['run', 'job.yaml', '--dir', 'job'];
  for (const [argv, error, exit] of [
    [['data', 'synth', '--output', taken, '--records', '10'], 'Usage', 2],
    [['data', 'index', 'train', '--format', 'libsvm', '--cache-dir', taken], 'DataCacheFailed', 3],
    [[...run, '--cache-dir', taken], 'DataCacheFailed', 3],
    [[...run, '--set', `checkpoint.dir=${cwd}/${taken}`], 'SystemRefused', MACHINE],
    [[...run, '--store', `sqlite:${cwd}/${taken}/store.db`], 'StoreInvalid', 4],
  ] as const) {
    const { code, err } = await runCommand(argv, { cwd });
    expect(err, argv.join(' ')).toMatch(new RegExp(`^error ${error}: .*\nhint: `, 'm'));
    expect(code, argv.join(' ')).toBe(exit);
  }
});

test('a folder for checkpoints that cannot be written to is refused before anything starts', async () => {
  const cwd = aJobFolder();
  const set = `checkpoint.dir=${cwd}/job.yaml/files`;
  const ran = await runCommand(['run', 'job.yaml', '--dir', 'job', '--set', set], { cwd });
  expect(ran.err).toMatch(/^error SystemRefused: the operating system refused .*ENOTDIR.*\nhint: /);
  expect([ran.code, ran.out]).toEqual([MACHINE, '']);
  expect(readdirSync(join(cwd, 'job'))).not.toContain('logs');
});

test.each([
  [['data', 'index', '', '--format', 'libsvm'], 'the argument PATH is empty'],
  [['data', 'index', 'train', '', '--format', 'libsvm'], 'the argument PATH (number 2 of 2) is empty'],
  [['evaluate', '--data', ''], '--data is empty'],
  [['run', ''], 'the path of the job file is empty'],
])('%j: an empty path is refused', async (argv, message) => {
  const { code, err } = await runCommand(argv, { cwd: aJobFolder() });
  expect([code, err]).toEqual([2, expect.stringMatching(/^error Usage: .*\nhint: .*unset/)]);
  expect(err).toContain(`error Usage: ${message}\n`);
});

test('what is no data or job file: each says what to do', async () => {
  const cwd = aJobFolder();
  mkdirSync(join(cwd, 'folder'));
  writeFileSync(join(cwd, 'comments'), '# none\n');
  for (const [argv, message, hint] of [
    [['data', 'index', 'folder', '--format', 'libsvm'], 'no data files in folder', /hidden files/],
    [['data', 'index', 'comments', '--format', 'libsvm'], 'no records in comments', /comments/],
    [['data', 'index', '/dev/null', '--format', 'libsvm'], '/dev/null is neither a file', /to a regular file/],
    [['run', 'folder'], 'job file folder: is a folder', /give the path of the job file/],
  ] as const) {
    const { code, err } = await runCommand(argv, { cwd });
    expect([code, err]).toEqual([argv[0] === 'run' ? 2 : 3, expect.stringContaining(message)]);
    expect(err).toMatch(new RegExp(`^hint: .*${hint.source}`, 'm'));
  }
});

test('a name with terminal escapes is shown as text, and is exact as JSON', async () => {
  const cwd = aFolder();
  const job = 'j\u001b[2J.yaml';
  writeFileSync(join(cwd, job), 'name: n\ndata: {format: libsvm, train: a}\nmodel: {type: lr}\n');
  const text = await runCommand(['doctor', job], { cwd });
  expect(`${text.out}${text.err}`).toContain('j\\u001b[2J.yaml');
  expect(`${text.out}${text.err}`).not.toContain('\u001b');
  const { out } = await runCommand(['doctor', job, '--json'], { cwd });
  expect(JSON.stringify(JSON.parse(out))).toContain('j\\u001b[2J.yaml');
});
