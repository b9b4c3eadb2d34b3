/** Wrong command lines: each is answered with what is wrong and what was probably meant, with exit code 2. */
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/commands/index.ts';
import { runCommand } from './run-command.ts';

const answer = async (line: string) => runCommand(line === '' ? [] : line.split(' '), { cwd: tmpdir() });

describe('no such command', () => {
  test.each([
    ['trian', '`paddlet run` or `paddlet trainer`'],
    ['train job.yaml', '`paddlet run` or `paddlet trainer`'],
    ['traner', '`paddlet trainer`'],
    ['help trian', '`paddlet run` or `paddlet trainer`'],
    ['checkpoint inspct', '`paddlet checkpoint inspect`'],
    ['chekpoint inspect', '`paddlet checkpoint inspect`'],
    ['chekpoint', '`paddlet checkpoint`'],
    ['checkpoint list', '`paddlet checkpoint ls`'],
    ['inspect', '`paddlet checkpoint inspect` or `paddlet data inspect`'],
    ['dat synth', '`paddlet data synth`'],
    ['list', '`paddlet checkpoint ls`'],
  ])('%s', async (line, meant) => {
    const { code, out, err } = await answer(line);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`hint: did you mean ${meant}?\n`);
  });

  test.each([
    ['checkpoint frobnicate', '`paddlet checkpoint --help` lists its commands'],
    ['--trainers 3 run', '`paddlet --help` lists all commands'],
  ])('%s: nothing is near', async (line, hint) => {
    expect(await answer(line)).toMatchObject({ code: 2, err: expect.stringContaining(`hint: ${hint}\n`) });
  });

  test('every command that is suggested is one', async () => {
    const ids = COMMANDS.map(({ id }) => id.replaceAll(':', ' '));
    const words = 'train fit start resume eval test score infer worker server scheduler scale kill ps log curve check';
    for (const word of [
      ...words.split(' '),
      'new',
      'save',
      'list',
      'generate',
      'checkpoint show',
      'checkpoint check',
    ]) {
      const meant = [...(await answer(word)).err.matchAll(/`paddlet ([a-z ]+)`/g)].map(([, name]) => name);
      expect(meant.length, word).toBeGreaterThan(0);
      expect(ids).toEqual(expect.arrayContaining(meant));
    }
  });
});

const SEE = (command: string): string => `run \`paddlet ${command} --help\` to see its flags`;

test.each([
  ['run', 'argument JOB is missing: Job file (YAML)', SEE('run')],
  [
    'data inspect',
    'argument FILE is missing: File, folder or glob; paddlet inspects only the first file',
    SEE('data inspect'),
  ],
  ['run job.yaml extra', 'unexpected argument: extra', SEE('run')],
  ['stop now please really', 'unexpected arguments: please, really', SEE('stop')],
  ['run job.yaml --data-dri x', 'no such flag: --data-dri', 'did you mean --data-dir?'],
  ['trainer --data_dir x', 'no such flag: --data_dir', 'did you mean --data-dir?'],
  ['run job.yaml --epochs 3', 'no such flag: --epochs', 'did you mean --passes?'],
  ['run job.yaml --lr=0.1', 'no such flag: --lr=0.1', 'did you mean --set optimizer.learningRate=VALUE?'],
  ['run job.yaml -x', 'no such flag: -x', SEE('run')],
  ['run job.yaml --trainers', '--trainers needs a value', SEE('run')],
  ['run -s', '--set needs a value', SEE('run')],
  ['run job.yaml --log-level', '--log-level needs a value: one of debug, info, warn, error', SEE('run')],
  [
    'run job.yaml --log-level inof',
    '--log-level: expected one of debug, info, warn, error, got inof; did you mean info?',
    SEE('run'),
  ],
  ['status --until forever', '--until: expected one of running, done, got forever', SEE('status')],
  ['run job.yaml --dir a --dir b', '--dir is given twice', SEE('run')],
  ['run job.yaml --attach --fresh', '--attach and --fresh exclude each other', SEE('run')],
  ['run job.yaml --yes', '--yes needs --fresh', SEE('run')],
  ['run job.yaml --fresh=yes', '--fresh takes no value', 'write --fresh without a value, or omit it'],
  ['run job.yaml --json=3', '--json takes no value', 'write --json without a value, or omit it'],
  ['pserver --index x', '--index: expected a whole number, got x', SEE('pserver')],
  ['pserver --index 1.5', '--index: expected a whole number, got 1.5', SEE('pserver')],
  ['pserver --index=-1', '--index: expected at least 0, got -1', SEE('pserver')],
  ['resize --pservers 100000', '--pservers: expected at most 1024, got 100000', SEE('resize')],
  ['data synth', '--output is missing', SEE('data synth')],
  ['checkpoint export', '--as is missing; --output is missing', SEE('checkpoint export')],
  [
    'run job.yaml --stop-timeout 5',
    '--stop-timeout: 5 is not a duration',
    'write a number with its unit, such as 500ms, 5s, 10m or 1h',
  ],
])('%s', async (line, message, hint) => {
  expect(await answer(line)).toEqual({ code: 2, out: '', err: `error Usage: ${message}\nhint: ${hint}\n` });
});

test('after -- a word is no flag', async () => {
  expect((await answer('run -- --json=3')).err).toContain('job file --json=3: no such file');
});
