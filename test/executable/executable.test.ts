/** dist/paddlet as a user gets it: one file, no Node, an empty environment, an empty folder. */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/commands/version.ts';
import { ROOT } from '../source-files.ts';

let folder = '';
let program = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paddlet-alone-'));
  program = join(folder, 'paddlet');
  await copyFile(join(ROOT, 'dist/paddlet'), program);
  await chmod(program, 0o755);
});
afterAll(() => rm(folder, { recursive: true }));

const alone = (...args: string[]) => aloneIn({}, ...args);

interface Around {
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
}

function aloneIn({ env = {}, uid }: Around, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, env, ...(uid === undefined ? {} : { uid }) }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err });
    });
  });
}

test('is at most 130 MB', async () => {
  expect((await stat(program)).size).toBeLessThanOrEqual(130_000_000);
});

test('says its version, and leaves nothing', async () => {
  const { code, out, err } = await alone('--version');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain(`paddlet/${VERSION} linux-${process.arch} node-v24.`);
  expect(await readdir(folder)).toEqual(['paddlet']);
});

test.each(['--require /nowhere/agent.js', '--some-unknown', '--inspect=127.0.0.1:0'])(
  'takes no options of Node from the environment: %s',
  async (options) => {
    expect(await aloneIn({ env: { NODE_OPTIONS: options } }, '--version')).toEqual(await alone('--version'));
  },
);

test('carries kernels, network, disk and a store', async () => {
  const { code, out, err } = await alone('doctor', '--store', 'sqlite:store.db', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const { checks } = JSON.parse(out) as { checks: { name: string; status: string }[] };
  expect(checks.filter(({ status }) => status === 'fail')).toEqual([]);
  expect(checks.map(({ name }) => name)).toContain('store');
});

test('carries the protocol of etcd', async () => {
  const { code, out } = await alone('doctor', '--store', 'etcd://127.0.0.1:1', '--timeout', '5s', '--json');
  expect(code).toBe(4);
  const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string }[] };
  expect(checks.at(-1)).toMatchObject({
    name: 'store',
    status: 'fail',
    detail: expect.stringContaining('connection refused'),
  });
});

test('carries its documents', async () => {
  const text = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  expect(await alone('docs', 'operations')).toEqual({ code: 0, out: `${text.trimEnd()}\n`, err: '' });
});

test('has its errors and exit codes', async () => {
  expect(await alone('doctr')).toEqual({
    code: 2,
    out: '',
    err: 'error Usage: no such command: doctr\nhint: did you mean `paddlet doctor`?\n',
  });
});

/** Containers run programs under a uid that the password database does not have. */
const UNLISTED = 1_000_660_000;
const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)('starts under a uid without an entry, HOME and SHELL (skipped unless root)', async () => {
  await chmod(folder, 0o777);
  const { code, out, err } = await aloneIn({ uid: UNLISTED }, 'doctor', '--dir', 'unlisted', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('"disk"');
});

test.skipIf(!isRoot)('says that only ~ needs a home folder (skipped unless root)', async () => {
  const { code, out, err } = await aloneIn({ uid: UNLISTED }, 'status', '--dir', '~/job');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toBe(
    'error Usage: --dir: ~/job: cannot expand ~: this user has no home folder\nhint: set HOME, or write the path in full\n',
  );
});
