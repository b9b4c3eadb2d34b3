import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReportedLease } from '../../src/base/seams.ts';
import { type SelfCommand, spawnSelf } from '../../src/host/processes.ts';
import type { Report } from '../../src/host/reports.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paddlet-processes-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A stand-in for this program: Node with a script of a few lines. */
const script = (code: string): SelfCommand => ({
  command: process.execPath,
  args: ['--input-type=module', '-e', code],
});

test('runs with its arguments, logs to the file, tells how it ended', async () => {
  const logFile = join(folder, 'a.log');
  const self = script(
    "console.log(process.argv.slice(1).join('+'), process.env.COLOUR); console.error('err'); process.exit(7)",
  );
  const child = await spawnSelf(['pserver', '--index'], { self, logFile, env: { COLOUR: 'blue' } });
  expect(await child.ended).toEqual({ code: 7, signal: null });
  expect(await readFile(logFile, 'utf8')).toBe('pserver+--index blue\nerr\n');
  expect(child.kill('SIGTERM')).toBe(false);
});

test('a killed one tells the signal', async () => {
  const child = await spawnSelf([], { self: script('setInterval(() => {}, 1000)') });
  expect(child.kill('SIGKILL')).toBe(true);
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a suspended one is told from one that works, and goes on when it is resumed', async () => {
  const child = await spawnSelf([], { self: script('setInterval(() => {}, 1000)') });
  expect(child.isSuspended()).toBe(false);
  child.kill('SIGSTOP');
  await expect.poll(() => child.isSuspended()).toBe(true);
  child.kill('SIGCONT');
  await expect.poll(() => child.isSuspended()).toBe(false);
  child.kill('SIGKILL');
  await child.ended;
  expect(child.isSuspended()).toBe(false);
});

test('a program that does not exist is an error, not a silent child', async () => {
  await expect(spawnSelf([], { self: { command: join(folder, 'none'), args: [] } })).rejects.toMatchObject({
    code: 'ENOENT',
  });
});

/** A parent that starts a tethered child, and tells the child's pid; the child writes to its log when it notices. */
const PROCESSES = JSON.stringify(resolve(import.meta.dirname, '../../src/host/processes.ts'));
const TETHER = JSON.stringify(resolve(import.meta.dirname, '../../src/host/tether.ts'));
const CHILD = `
import { onTetherLost } from ${TETHER};
onTetherLost(({ parent, stopLimitMs }) => { console.log('lost', parent, stopLimitMs); process.exit(0); });
console.log('up');
setInterval(() => {}, 1000);
`;

test('a tethered child notices the SIGKILL of its parent', async () => {
  const childLog = join(folder, 'child.log');
  const parent = await spawnSelf([], {
    self: script(`
import { watch } from 'node:fs';
import { existsSync, readFileSync } from 'node:fs';
import { spawnSelf } from ${PROCESSES};
const log = ${JSON.stringify(childLog)};
const out = log + '.out';
const look = () => { if (existsSync(out) && readFileSync(out, 'utf8') === 'up\\n') process.kill(process.pid, 'SIGKILL'); };
watch(${JSON.stringify(folder)}, look);
await spawnSelf([], { self: { command: process.execPath, args: ['--input-type=module', '-e', ${JSON.stringify(CHILD)}] }, logFile: log, tether: { parent: 'launcher', stopLimitMs: 7_000 } });
look();
setInterval(() => {}, 1000);
`),
  });
  expect(await parent.ended).toEqual({ code: null, signal: 'SIGKILL' });
  await expect.poll(() => readFile(`${childLog}.out`, 'utf8')).toBe('up\nlost launcher 7000\n');
});

test('without a tether a child does not look at its parent', async () => {
  const child = await spawnSelf([], {
    self: script(`
import { onTetherLost } from ${TETHER};
onTetherLost(() => process.exit(9));
process.stdin.on('end', () => process.exit(3)).resume();
`),
  });
  expect(await child.ended).toEqual({ code: 3, signal: null });
});

test('a child reports beside its log, and runs when its log cannot be opened', async () => {
  const reports: Report[] = [];
  const refused: string[] = [];
  const module = JSON.stringify(resolve(import.meta.dirname, '../../src/host/reports.ts'));
  const self = script(`
import { reporter, reportingLog } from ${module};
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const log = reportingLog(silent);
log.info('not reported');
log.warn('the disk is full');
log.error('no checkpoint', { hint: 'free space' });
reporter()({ level: 'error', code: 'CheckpointNotWritten', message: 'it ends' });
console.log('into no log', process.env.PADDLET_REPORTS);
`);
  const child = await spawnSelf([], {
    self,
    logFile: join(folder, 'none', 'x.log'),
    onNoLog: ({ message }) => refused.push(message),
    onReport: (report) => reports.push(report),
  });
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(refused).toEqual([expect.stringContaining('ENOENT')]);
  await expect
    .poll(() => reports)
    .toEqual([
      { level: 'warn', message: 'the disk is full' },
      { level: 'error', message: 'no checkpoint', hint: 'free space' },
      { level: 'error', code: 'CheckpointNotWritten', message: 'it ends' },
    ]);
});

test('a process that cannot be started for want of descriptors is an error too, with reports', async () => {
  const module = JSON.stringify(resolve(import.meta.dirname, '../../src/host/processes.ts'));
  const parent = script(`
import { openSync } from 'node:fs';
import { spawnSelf } from ${module};
const self = { command: process.execPath, args: ['-e', ''] };
try {
  for (;;) openSync('/dev/null');
} catch {}
await spawnSelf([], { self, onReport: () => {}, tether: { parent: 'launcher', stopLimitMs: 1 } }).then(
  () => console.log('started'),
  (error) => console.log(error.code),
);
`);
  const logFile = join(folder, 'emfile.log');
  const sh = { command: 'sh', args: ['-c', 'ulimit -n 64; exec "$@"', 'sh', parent.command, ...parent.args] };
  const child = await spawnSelf([], { self: sh, logFile });
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(await readFile(logFile, 'utf8')).toBe('EMFILE\n');
});

test('a child tells its leases; lines of its log and of others are none', async () => {
  const told: ReportedLease[] = [];
  const module = JSON.stringify(resolve(import.meta.dirname, '../../src/host/reports.ts'));
  const self = script(`
import { writeSync } from 'node:fs';
import { leaseReporter, reportingLog } from ${module};
const tell = leaseReporter();
tell({ leaseId: 2n ** 63n - 1n, state: 'held', ttlMs: 1500.5 });
const log = reportingLog({ debug() {}, info() {}, warn() {}, error() {} });
log.warn('\\n{"lease":"1","state":"held","ttlMs":1}\\n');
for (const line of ['{"lease":"0","state":"held","ttlMs":1}', '{"lease":2,"state":"held","ttlMs":1}', 'null',
  '{"lease":"3","state":"held"}', '{"lease":"4","state":"lost","ttlMs":1}', '{"lease":"5","state":"held","ttlMs":1',
  '{"lease":"99999999999999999999","state":"held","ttlMs":1}']) writeSync(3, line + '\\n');
tell({ leaseId: 2n ** 63n - 1n, state: 'ended', ttlMs: 1500.5 });
process.kill(process.pid, 'SIGKILL');
`);
  const child = await spawnSelf([], { self, onLease: (lease) => told.push(lease) });
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
  await child.closed;
  const lease = { leaseId: 9_223_372_036_854_775_807n, ttlMs: 1500.5 };
  expect(told).toEqual([
    { ...lease, state: 'held' },
    { ...lease, state: 'ended' },
  ]);
});

test('signals go through the tether of a guard, in order; other lines and other parents are not heeded', async () => {
  const listening = `
import { onForwarded, onTetherLost } from ${TETHER};
const heard = [];
onForwarded((signal) => heard.push(signal));
onTetherLost(({ parent }) => { console.log(parent, heard.join('+')); process.exit(0); });
console.log('up');
setInterval(() => {}, 1000);
`;
  for (const [parent, heard] of [
    ['guard', 'SIGTERM+SIGTERM+SIGINT'],
    ['launcher', ''],
  ] as const) {
    const logFile = join(folder, `${parent}.log`);
    const parentScript = script(`
import { spawnSelf } from ${PROCESSES};
const self = { command: process.execPath, args: ['--input-type=module', '-e', ${JSON.stringify(listening)}] };
const tether = { parent: '${parent}', stopLimitMs: 5_000 };
const child = await spawnSelf([], { self, tether, logFile: ${JSON.stringify(logFile)} });
for (const signal of ['SIGTERM', 'SIGTERM', 'SIGKILL', '', 'SIGINT']) child.forward(signal);
process.exit(0);
`);
    await (await spawnSelf([], { self: parentScript })).ended;
    await expect.poll(() => readFile(`${logFile}.out`, 'utf8')).toBe(`up\n${parent} ${heard}\n`);
  }
});
