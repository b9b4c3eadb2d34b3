/**
 * `npx node scripts/bench/resize.ts [--bytes 1e9] [--mode async|sync] [--passes 8] [--steady-s 15] [--save-every 10m]`:
 * what a resize costs. Trains a factorization machine of so many bytes with two trainers, resizes 2 → 4 → 3 → 1
 * pservers as it trains, and prints how long each took, what it moved, and how long pulls and pushes took in that time
 * and without. Fails when a record is lost or counts twice, when the pservers are not even within 10 %, and in sync
 * mode when the digests are not those of the same job without a resize.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { countOf, type Histograms, merge, quantileMs } from './resizing/histogram.ts';
import { makeJob } from './resizing/job.ts';
import { Watch, type Window } from './resizing/watch.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '1e9' },
    mode: { type: 'string', default: 'async' },
    passes: { type: 'string', default: '8' },
    'steady-s': { type: 'string', default: '15' },
    'save-every': { type: 'string', default: '10m' },
    'log-level': { type: 'string', default: 'info' },
    /** A folder that is kept: with the logs of all roles. */
    folder: { type: 'string' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const mode = z.enum(['async', 'sync']).parse(values.mode);
const passes = Number(values.passes);
const STEPS = [4, 3, 1];
const TOLERATED = 1.1;
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
if (values.folder === undefined) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
const pause = (ms: number): Promise<void> => new Promise((go) => setTimeout(go, ms));

const statusSchema = z.object({
  phase: z.string(),
  processes: z.array(z.object({ role: z.string(), index: z.number().optional(), bytes: z.number().optional() })),
});
const resizedSchema = z.object({ outcome: z.string(), seconds: z.number() });
const resultSchema = z.object({
  modelDigest: z.string(),
  stateDigest: z.string(),
  recordsPerSecond: z.number(),
  records: z.object({ applied: z.number(), lost: z.number() }),
});
type Result = z.infer<typeof resultSchema>;

interface Command {
  readonly pid: number;
  readonly result: Promise<unknown>;
}

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGINT');
});

function paddlet(name: string, ...args: string[]): Command {
  const errors = openSync(join(folder, `${name}.err`), 'a');
  const child = spawn(resolve(values.paddlet), [...args, '--json'], { cwd: folder, stdio: ['ignore', 'pipe', errors] });
  closeSync(errors);
  children.add(child);
  child.once('exit', () => children.delete(child));
  let out = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  const result = once(child, 'close').then(([code]): unknown => {
    if (code !== 0) throw new Error(`paddlet ${args.join(' ')} ended with ${code}: ${out}`);
    return JSON.parse(out);
  });
  result.catch(() => {});
  return { pid: child.pid!, result };
}

const run = (name: string): Command =>
  paddlet(name, 'run', 'job.json', '--dir', name, '--fresh', '--expose-metrics', '--log-level', values['log-level']);

/** Bytes of each pserver; asked again until all have answered, which one that is busy may not do in time. */
async function bytesEach(dir: string): Promise<number[]> {
  for (;;) {
    const status = statusSchema.parse(await paddlet('status', 'status', '--dir', dir).result);
    if (status.phase === 'done') throw new Error('the job ended before all was measured: raise --passes');
    const pservers = status.processes.filter(({ role }) => role === 'pserver');
    const bytes = pservers.flatMap((one) => one.bytes ?? []);
    if (bytes.length > 0 && bytes.length === pservers.length) return bytes;
  }
}

/** Until all rows exist: the first pass is over when the bytes do not grow any more. */
async function untilGrown(dir: string): Promise<number[]> {
  for (let last = 0; ; await pause(3_000)) {
    const bytes = await bytesEach(dir).catch((error: unknown) => {
      if (last > 0) throw error;
      return [0];
    });
    const sum = bytes.reduce((all, one) => all + one, 0);
    if (sum > 0 && sum === last) return bytes;
    last = sum;
  }
}

/** From the pservers' logs: each unit that was handed over says its bytes. */
function movedBytes(dir: string): number {
  const logs = join(folder, dir, 'logs');
  const texts = readdirSync(logs)
    .filter((name) => name.startsWith('pserver'))
    .map((name) => readFileSync(join(logs, name), 'utf8'));
  const moves = texts.flatMap((text) => [...text.matchAll(/is led by pserver \d+ now.*bytes=(\d+)/g)]);
  return moves.reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

let isWrong = false;
function check(holds: boolean, what: string): void {
  print(`${holds ? 'ok   ' : 'WRONG'} ${what}`);
  isWrong ||= !holds;
}

async function resizeTo(dir: string, watch: Watch, pservers: number): Promise<Window> {
  const before = movedBytes(dir);
  const command = (): Promise<unknown> =>
    paddlet('resize', 'resize', '--dir', dir, '--pservers', String(pservers)).result;
  const { window, result } = await watch.window(`to ${pservers}`, true, command);
  const { outcome, seconds } = resizedSchema.parse(result);
  const bytes = await bytesEach(dir);
  const moved = movedBytes(dir) - before;
  const rate = moved / 1e6 / seconds;
  print(
    `to ${pservers}: ${outcome} in ${seconds.toFixed(1)} s, ${megabytes(moved)} MB moved (${rate.toFixed(0)} MB/s); ` +
      `MB each ${bytes.map(megabytes).join(', ')}`,
  );
  check(bytes.length === pservers && Math.max(...bytes) <= TOLERATED * Math.min(...bytes), 'even within 10 %');
  return window;
}

const steady = async (watch: Watch, name: string): Promise<Window> =>
  (await watch.window(name, false, () => pause(1000 * Number(values['steady-s'])))).window;

async function resizedRun(): Promise<{ result: Result; windows: Window[] }> {
  const running = run('resized');
  const watch = new Watch(running.pid, join(folder, 'resized', 'logs'));
  const grown = await untilGrown('resized');
  print(`${megabytes(grown.reduce((sum, one) => sum + one, 0))} MB of parameters and optimizer state`);
  const windows = [await steady(watch, 'before')];
  for (const pservers of STEPS) {
    windows.push(await resizeTo('resized', watch, pservers), await steady(watch, `with ${pservers}`));
  }
  const result = resultSchema.parse(await running.result);
  await watch.end();
  return { result, windows };
}

const KINDS = mode === 'sync' ? ['pull', 'push', 'barrier'] : ['pull', 'push'];

function rowsOf(what: string, histograms: Histograms, longestMs: ReadonlyMap<string, number>): object[] {
  return KINDS.flatMap((kind) => {
    const one = histograms.get(kind);
    if (one === undefined || countOf(one) === 0) return [];
    const longest = longestMs.get(kind);
    return {
      ...{ what, kind, number: countOf(one) },
      ...{ 'p50 ≤': quantileMs(one, 0.5), 'p99 ≤': quantileMs(one, 0.99), 'p99.9 ≤': quantileMs(one, 0.999) },
      longest: longest === undefined ? `≤ ${quantileMs(one, 1)}` : Math.round(longest),
    };
  });
}

function longestOf(windows: readonly Window[]): Map<string, number> {
  const longest = new Map<string, number>();
  for (const { longestMs } of windows) {
    for (const [kind, ms] of longestMs) longest.set(kind, Math.max(ms, longest.get(kind) ?? 0));
  }
  return longest;
}

function printTimes(windows: readonly Window[]): void {
  const rows = windows.flatMap(({ name, histograms, longestMs }) => rowsOf(name, histograms, longestMs));
  for (const isResize of [true, false]) {
    const those = windows.filter((window) => window.isResize === isResize);
    const all = merge(those.map(({ histograms }) => histograms));
    rows.push(...rowsOf(isResize ? 'ALL RESIZES' : 'ALL OTHERS', all, longestOf(those)));
  }
  print('milliseconds; a bound is of a bucket, a longest without one is exact');
  // biome-ignore lint/suspicious/noConsole: the result of a script
  console.table(rows);
  for (const { name, seconds, mostBytes, mostOfOneBytes, ranSeconds, lackedCoreSeconds } of windows) {
    print(
      `${name}, ${seconds.toFixed(1)} s: all pservers at most ${megabytes(mostBytes)} MB, one ` +
        `${megabytes(mostOfOneBytes)} MB; pservers and trainers ran for ${ranSeconds.toFixed(1)} s and lacked a core ` +
        `for ${lackedCoreSeconds.toFixed(1)} s`,
    );
  }
}

print(`load before: ${loadavg()[0]!.toFixed(2)}`);
const records = await makeJob({ folder, bytes: Number(values.bytes), mode, passes, saveEvery: values['save-every'] });
print(`${mode} mode, ${records} records, ${passes} passes`);
const { result, windows } = await resizedRun();
printTimes(windows);
check(result.records.applied === passes * records, `applied ${result.records.applied} = ${passes} × ${records}`);
check(result.records.lost === 0, `lost ${result.records.lost}`);
if (mode === 'sync') {
  rmSync(join(folder, 'resized', 'checkpoints'), { recursive: true });
  const plain = resultSchema.parse(await run('plain').result);
  check(result.modelDigest === plain.modelDigest, 'the model digest is that of the job without a resize');
  check(result.stateDigest === plain.stateDigest, 'the state digest is that of the job without a resize');
  print(`records/s: ${Math.round(result.recordsPerSecond)} resized, ${Math.round(plain.recordsPerSecond)} without`);
} else print(`records/s: ${Math.round(result.recordsPerSecond)}`);
print(`load after: ${loadavg()[0]!.toFixed(2)}`);
process.exit(isWrong ? 1 : 0);
