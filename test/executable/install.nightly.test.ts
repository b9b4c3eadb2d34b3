/** scripts/release/install.sh as a user runs it: an empty home, and nothing of this process's environment. */
import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeArchive, writeChecksums } from '../../scripts/release/archives.ts';

const ROOT = join(import.meta.dirname, '../..');
const INSTALLER = join(ROOT, 'scripts/release/install.sh');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const VERSION_LINE = `paddlet/${VERSION} linux-${process.arch} node-${process.version}\n`;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let release = '';
let archive = '';
let home = '';

beforeAll(async () => {
  release = mkdtempSync(join(tmpdir(), 'paddlet-release-'));
  const files = { paddlet: join(ROOT, 'dist/paddlet'), 'install.sh': INSTALLER };
  archive = await makeArchive({ name: 'paddlet-release', files, date: '2026-03-01', folder: release });
  await writeChecksums([archive]);
  execFileSync('tar', ['-xzf', archive, '-C', release]);
}, 600_000);
afterAll(() => rmSync(release, { recursive: true }));

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'paddlet-home-'));
  return () => rmSync(home, { recursive: true });
});

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = { HOME: home }): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: release, env: { PATH: '/usr/bin:/bin', ...env } }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err });
    });
  });
}

const install = (...args: string[]): Promise<Ended> => run('sh', [INSTALLER, ...args]);
const installed = (): string => join(home, '.local/bin/paddlet');

test('from an unpacked archive into an empty home', async () => {
  const { code, out, err } = await run(join(release, 'paddlet-release/install.sh'), []);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(
    `installed ${installed()}: ${VERSION_LINE}` +
      `${dirname(installed())} is not on PATH. Add this line to ${home}/.profile, or run install.sh again with --add-to-path:\n` +
      `  export PATH="${dirname(installed())}:$PATH"\n`,
  );
  expect(readdirSync(home)).toEqual(['.local']);
  expect(readdirSync(dirname(installed()))).toEqual(['paddlet']);
  expect((await run(installed(), ['--version'])).out).toBe(VERSION_LINE);
});

test('from an archive to another place that is on PATH', async () => {
  const bin = join(home, 'other', 'bin');
  const env = { HOME: home, PATH: `${bin}:/usr/bin:/bin` };
  const ended = await run('sh', [INSTALLER, '--from', archive, '--prefix', join(home, 'other')], env);
  expect(ended).toEqual({ code: 0, out: `installed ${join(bin, 'paddlet')}: ${VERSION_LINE}`, err: '' });
});

test('--add-to-path adds one line, and a login shell finds the executable', async () => {
  expect((await install('--from', archive, '--add-to-path')).out).toContain(`PATH in ${home}/.profile`);
  const profile = readFileSync(join(home, '.profile'), 'utf8');
  expect((await install('--from', archive, '--add-to-path')).out).toContain('on PATH already');
  expect(readFileSync(join(home, '.profile'), 'utf8')).toBe(profile);
  expect(await run('sh', ['-l', '-c', 'paddlet --version'])).toEqual({ code: 0, out: VERSION_LINE, err: '' });
});

test.each([
  ['bash', '.bashrc'],
  ['zsh', '.zshrc'],
  ['fish', '.config/fish/conf.d/paddlet.fish'],
])('--add-to-path changes the start-up file of %s', async (shell, file) => {
  const env = { HOME: home, SHELL: `/usr/bin/${shell}` };
  const { code } = await run('sh', [INSTALLER, '--from', archive, '--add-to-path'], env);
  expect(code).toBe(0);
  expect(readFileSync(join(home, file), 'utf8')).toContain(dirname(installed()));
});

test('without a checksum it says so', async () => {
  const { code, err } = await install('--from', join(ROOT, 'dist'));
  expect(code).toBe(0);
  expect(err).toContain('not verified: there is no SHA256SUMS beside');
});

/** A folder with a file named paddlet and what else is given. */
function madeFolder(program: Uint8Array, sums?: string): string {
  const folder = join(home, 'made');
  mkdirSync(folder);
  writeFileSync(join(folder, 'paddlet'), program);
  if (sums !== undefined) writeFileSync(join(folder, 'SHA256SUMS'), sums);
  return folder;
}

/** The first bytes of an executable, as far as an installer looks. */
function elfHeader(machine: number): Uint8Array {
  const header = Buffer.alloc(64);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  return header;
}

const ELF_MACHINES = { x64: 62, arm64: 183 };
const own = process.arch as 'x64' | 'arm64';
const other = own === 'x64' ? 'arm64' : 'x64';

test.each([
  [
    'another checksum',
    () => madeFolder(elfHeader(ELF_MACHINES[own]), `${'0'.repeat(64)}  paddlet\n`),
    /made\/paddlet is damaged: its checksum is [0-9a-f]{64}, not 0{64}/,
  ],
  [
    'a missing checksum',
    () => madeFolder(elfHeader(ELF_MACHINES[own]), `${'0'.repeat(64)}  another\n`),
    /made\/SHA256SUMS has no checksum of paddlet/,
  ],
  [
    'another architecture',
    () => madeFolder(elfHeader(ELF_MACHINES[other])),
    new RegExp(`this paddlet is for ${other}, and this machine is ${own}`),
  ],
  ['no executable', () => madeFolder(Buffer.from('#!/bin/sh\n')), /this paddlet is for unknown/],
  [
    'an executable that does not start',
    () => madeFolder(elfHeader(ELF_MACHINES[own])),
    /this paddlet does not start on this machine/,
  ],
  ['a folder without it', () => home, /has no file named paddlet/],
  ['no folder', () => join(home, 'none'), /none: no such file or folder/],
])('%s is refused, and what was installed stays', async (_what, makeFrom, fault) => {
  mkdirSync(dirname(installed()), { recursive: true });
  copyFileSync('/bin/true', installed());
  const { code, out, err } = await install('--from', makeFrom());
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(fault);
  expect(readdirSync(dirname(installed()))).toEqual(['paddlet']);
  expect(readFileSync(installed()).equals(readFileSync('/bin/true'))).toBe(true);
});

test('without HOME a prefix is required', async () => {
  const { code, err } = await run('sh', [INSTALLER, '--from', archive], {});
  expect({ code, err }).toEqual({
    code: 1,
    err: 'install.sh: HOME is not set; say where to install with --prefix DIR\n',
  });
});

test.each([['--prefix'], ['--nonsense']])('%s alone is a mistake', async (flag) => {
  expect((await install(flag)).code).toBe(2);
  expect(existsSync(installed())).toBe(false);
});
