/** The job of a command by its name or its folder: every command that is about a job takes it as an argument. */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { runCommand } from './run-command.ts';
import { endJob, type StoredJob, storedJob } from './saved-job.ts';

let job: StoredJob;
beforeEach(async () => {
  job = await storedJob('small');
  await endJob(job);
});

const run = (...argv: string[]) => runCommand(argv, { cwd: job.cwd });

const COMMANDS = [
  ['status'],
  ['why'],
  ['top', '--count', '1'],
  ['history'],
  ['evaluate'],
  ['predict', '--data', 'test.libsvm'],
  ['checkpoint', 'ls'],
  ['checkpoint', 'inspect'],
  ['checkpoint', 'verify'],
  ['checkpoint', 'forget', '--index', '0'],
  ['token', 'rotate'],
  ['restore', '--pservers', '2', '--dry-run'],
  ['stop', '--no-wait'],
  ['resize', '--pservers', '2', '--no-wait'],
  ['ui'],
  ['pserver'],
  ['trainer'],
  ['checkpoint', 'save'],
  ['token', 'view'],
  ['checkpoint', 'export', '--as', 'npz', '--output', 'm.npz'],
] as const;

const wordsOf = (command: readonly string[], name: string): string[] => {
  const flags = command.findIndex((word) => word.startsWith('--'));
  return flags < 0 ? [...command, name] : [...command.slice(0, flags), name, ...command.slice(flags)];
};

test('of several jobs, each command says which there are, and how it is typed', async () => {
  mkdirSync(join(job.cwd, '.paddlet/second'));
  cpSync(join(job.folder, 'store.db'), join(job.cwd, '.paddlet/second/store.db'));
  for (const command of COMMANDS) {
    const { code, err } = await run(...command);
    const line = ['paddlet', ...wordsOf(command, 'second')].join(' ');
    expect([code, err], line).toEqual([
      2,
      `error JobUnknown: several jobs in ${join(job.cwd, '.paddlet')}: second, small\nhint: name one: \`${line}\`\n`,
    ]);
  }
});

test('a name that is nearly that of a job, in ./.paddlet or in a store', async () => {
  for (const command of COMMANDS) {
    const { code, err } = await run(...wordsOf(command, 'smal'));
    const line = ['paddlet', ...wordsOf(command, 'small')].join(' ');
    expect([code, err], line).toEqual([2, expect.stringMatching(/^error JobUnknown: no job smal in /)]);
    expect(err).toContain(`\nhint: did you mean \`${line}\`?\n`);
  }
  for (const command of [['status'], ['stop'], ['history'], ['checkpoint', 'ls']]) {
    const { code, err } = await run(...command, 'smal', '--store', job.url);
    const line = `paddlet ${command.join(' ')} small --store ${job.url}`;
    expect([code, err]).toEqual([2, `error JobUnknown: no job smal in ${job.url}\nhint: did you mean \`${line}\`?\n`]);
  }
});

test('by its name, its folder, and its name in a store', async () => {
  mkdirSync(join(job.cwd, '.paddlet/second'));
  cpSync(join(job.folder, 'store.db'), join(job.cwd, '.paddlet/second/store.db'));
  for (const where of [['small'], ['.paddlet/small'], ['small', '--store', job.url, '--dir', '.paddlet/small']]) {
    for (const command of ['history', 'evaluate', 'checkpoint inspect']) {
      const { code, out } = await run(...command.split(' '), ...where, '--json');
      expect([code, JSON.parse(out)], [command, ...where].join(' ')).toMatchObject([0, {}]);
    }
    const { code, out } = await run('checkpoint', 'ls', ...where, '--json');
    expect([code, JSON.parse(out).generations.length], where.join(' ')).toEqual([0, 2]);
  }
  expect((await run('checkpoint', 'diff', 'small', '.paddlet/small')).out).toMatch(/the values are equal\n$/);
});

test('by its name in the folder of --dir', async () => {
  const elsewhere = join(job.cwd, 'elsewhere');
  mkdirSync(elsewhere);
  const inFolder = (...argv: string[]) => runCommand(argv, { cwd: elsewhere });
  for (const dir of ['..', '../.paddlet', '../.paddlet/small']) {
    for (const command of [['history'], ['predict', '--data', '../test.libsvm']]) {
      const { code, err } = await inFolder(...wordsOf(command, 'small'), '--dir', dir);
      expect([code, err], dir).toEqual([0, expect.not.stringContaining('error')]);
    }
    const { code, err } = await inFolder('history', 'smal', '--dir', dir);
    expect([code, err], dir).toEqual([2, expect.stringMatching(/^error JobUnknown: no job smal in /)]);
    expect(err).toContain(`hint: did you mean \`paddlet history small --dir ${dir}\`?`);
  }
  const { code, err } = await inFolder('history', 'small', '--dir', '.');
  expect([code, err]).toEqual([2, expect.stringContaining(`no job small in ${elsewhere}\nhint: train a job with`)]);
});

test('logs take a job, a role, or both', async () => {
  for (const name of ['small', 'far']) {
    mkdirSync(join(job.cwd, '.paddlet', name, 'logs'), { recursive: true });
    for (const log of ['master', 'trainer-0', 'trainer-1']) {
      writeFileSync(join(job.cwd, '.paddlet', name, 'logs', `${log}.log`), `${name} ${log}\n`);
    }
  }
  const out = async (...words: string[]): Promise<string> => (await run('logs', ...words)).out;
  expect(await out('far', 'trainer', '1')).toBe('far trainer-1\n');
  expect(await out('.paddlet/small', 'master')).toBe('small master\n');
  expect(await out('master', '--dir', '.paddlet/far')).toBe('far master\n');
  expect((await run('logs', 'trainer', '1')).err).toContain('hint: name one: `paddlet logs far trainer 1`');
  expect((await run('logs', 'smal')).err).toContain('hint: did you mean `paddlet logs small`?');
  expect((await run('logs', 'small', 'trainer', 'x')).err).toContain('expected the number of a trainer, got x');
  expect((await run('logs', 'trainer', '1', '2')).err).toContain('unexpected argument: 2');
});

test('a word and a flag that name different jobs, a file, and nothing', async () => {
  writeFileSync(join(job.cwd, 'small.yaml'), '');
  for (const [words, message, hint] of [
    [['.paddlet/small', '--dir', 'x'], '.paddlet/small and --dir x name different jobs', 'leave out .paddlet/small or'],
    [['small', '--chroot', '/paddlet/x'], 'small and --chroot /paddlet/x name different jobs', 'name the job once'],
    [['small.yaml'], 'expected the name or the folder of a job, got the file small.yaml', '`paddlet status small`'],
    [[''], 'the name of the job is empty', 'a shell variable'],
  ] as const) {
    const { code, err } = await run('status', ...words);
    expect([code, err], words.join(' ')).toEqual([2, expect.stringContaining(`error Usage: ${message}\n`)]);
    expect(err.slice(err.indexOf('hint: ')), words.join(' ')).toContain(hint);
  }
  expect((await run('history', 'small', '--dir', '.paddlet/small', '--chroot', '/paddlet/small')).code).toBe(0);
});

test('status --until waits for a job that has not started, and creates nothing', async () => {
  const { code, err } = await run('status', 'later', '--until', 'running', '--timeout', '100ms');
  expect([code, err]).toEqual([6, expect.stringContaining('the job was not running within 0.1 s')]);
  expect(existsSync(join(job.cwd, '.paddlet/later'))).toBe(false);
});
