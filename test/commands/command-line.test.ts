/** The command line as a user meets it. */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { everyFlags } from '../../src/commands/base/flags.ts';
import { COMMANDS } from '../../src/commands/index.ts';
import { VERSION } from '../../src/commands/version.ts';
import { COMPILED, ENTRY, type Ran, runCommand } from './run-command.ts';

const paddlet = (...args: string[]): Promise<Ran> => runCommand(args, { cwd: tmpdir() });

/** By the entry point, which answers some of it itself. */
const asProcess = (...args: string[]): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(process.execPath, [ENTRY, ...args], { env: COMPILED, cwd: tmpdir() }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err });
    });
  });

describe('paddlet', () => {
  test.each(['--version', '-v', 'version'])('%s', async (flag) => {
    const line = `paddlet/${VERSION} linux-${process.arch} node-${process.version}\n`;
    expect(await asProcess(flag)).toEqual({ code: 0, out: line, err: '' });
  });

  test.each([[[]], [['--help']], [['help']], [['-h']]])('%j shows every command', async (args) => {
    const { code, out, err } = await paddlet(...args);
    expect([code, err]).toEqual([0, '']);
    for (const { id, summary } of COMMANDS)
      expect(out).toMatch(new RegExp(`^  ${id.replaceAll(':', ' ')} +${escaped(summary)}$`, 'm'));
  });

  test('a process of its own says and exits with what a command run in this one does', async () => {
    const args = ['doctor', '--log-level=loud', '--json'];
    expect(await asProcess(...args)).toEqual(await paddlet(...args));
  });

  test('a group shows its commands', async () => {
    const { code, out } = await paddlet('data');
    expect(code).toBe(0);
    expect(out).toContain('data index');
    expect(out).not.toContain('doctor');
  });
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

describe.each(COMMANDS)('$id', (entry) => {
  const words = entry.id.split(':');

  test('has a summary, as in the table, and examples', async () => {
    const loaded = await entry.load();
    expect(loaded.summary).toBe(entry.summary);
    expect(loaded.examples?.length).toBeGreaterThan(0);
    expect(loaded.flags).not.toHaveProperty('help');
  });

  test('--help shows usage, flags and examples', async () => {
    const { code, out, err } = await paddlet(...words, '--help');
    expect([code, err]).toEqual([0, '']);
    for (const part of [entry.summary, 'USAGE', 'FLAGS', 'EXAMPLES', '--json', `$ paddlet ${words.join(' ')}`])
      expect(out).toContain(part);
  });

  test('an unknown flag is a usage error with a hint', async () => {
    const { code, out, err } = await paddlet(...words, '--no-such-flag-at-all');
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('error Usage:');
    expect(err).toContain(`hint: run \`paddlet ${words.join(' ')} --help\` to see its flags`);
  });
});

test('a letter is the same flag in all commands, and none of a flag that deletes or overwrites', async () => {
  const classes = await Promise.all(COMMANDS.map(({ load }) => load()));
  const flags = classes.flatMap(({ flags }) => Object.entries({ ...everyFlags, ...flags }));
  const named = new Set(flags.flatMap(([name, { char }]) => (char === undefined ? [] : [`-${char} --${name}`])));
  expect([...named].sort()).toEqual([
    ...['-f --follow', '-j --json', '-n --lines', '-o --output', '-s --set', '-w --watch'],
  ]);
});

test('-j is --json, for results and for errors', async () => {
  expect(await paddlet('data', 'index', '-j')).toEqual(await paddlet('data', 'index', '--json'));
  expect(JSON.parse((await paddlet('doctor', '--log-level=loud', '-j')).out)).toHaveProperty('error.exit', 2);
});

describe('errors', () => {
  test.each([
    [['doctr'], 'error Usage: no such command: doctr\nhint: did you mean `paddlet doctor`?\n'],
    [['data', 'indx'], 'error Usage: no such command: data indx\nhint: did you mean `paddlet data index`?\n'],
    [['constructor'], 'error Usage: no such command: constructor\nhint: `paddlet --help` lists all commands\n'],
    [['frobnicate'], 'error Usage: no such command: frobnicate\nhint: `paddlet --help` lists all commands\n'],
    [['--frobnicate'], 'error Usage: no such command: --frobnicate\nhint: `paddlet --help` lists all commands\n'],
    [['doctor', '--jsn'], 'error Usage: no such flag: --jsn\nhint: did you mean --json?\n'],
    [
      ['doctor', 'job.yaml', 'extra'],
      'error Usage: unexpected argument: extra\nhint: run `paddlet doctor --help` to see its flags\n',
    ],
  ])('%j', async (args, err) => {
    expect(await paddlet(...args)).toEqual({ code: 2, out: '', err });
  });

  test('as JSON for scripts', async () => {
    const { code, out, err } = await paddlet('doctor', '--log-level=loud', '--json');
    expect([code, err]).toEqual([2, '']);
    const { error } = JSON.parse(out);
    expect(error).toMatchObject({ code: 'Usage', exit: 2, hint: 'run `paddlet doctor --help` to see its flags' });
    expect(error.message).toContain('debug, info, warn, error');
  });
});
