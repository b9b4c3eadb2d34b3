/**
 * `npx node --no-opt --no-maglev scripts/house/walk.ts task|predict|push`: walks one path repeatedly in this process.
 * Prints the files of src that ran each time, or sends them to its parent. Processes outside of the path run beside it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/etcd-server.ts';
import { Recorder, recordedJob } from '../../test/executable/recorded-pushes.ts';
import { ROOT } from '../../test/source-files.ts';
import { inAll, Meter } from './crossed-files.ts';

const JOB = 'house';
const WINDOWS = 50;
const POLL_MS = 50;
const LONGEST_MS = 300_000;
/** Windows are short, so that work of timers is not in all of them, and several steps long, so that a whole one is. */
const TASKS_PER_WINDOW = 5;
const PUSHES_PER_WINDOW = 6;
const TASKS = 4_000;
const PREDICTIONS = 3;
const TASKS_BEFORE_PREDICT = 10;
const FIRST_WINDOW_MS = 100;
const QUIET = ['--log-level', 'error'];
const RECORDS_PER_TASK = 200;

const folder = mkdtempSync(join(tmpdir(), 'paddlet-house-'));
const storeUrl = `sqlite:${join(folder, 'store.db')}`;
const beside = new Set<ChildProcess>();
const meter = new Meter();

process.once('exit', () => {
  for (const child of beside) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A process beside this one: its files do not count. */
function startBeside(...args: string[]): ChildProcess {
  const log = openSync(join(folder, 'beside.log'), 'a');
  const child = spawn(process.execPath, [join(ROOT, 'bin/paddlet.ts'), ...args], {
    ...{ cwd: folder, stdio: ['ignore', log, log] },
  });
  closeSync(log);
  beside.add(child);
  child.once('exit', () => beside.delete(child));
  return child;
}

/** A role or command in this process. */
async function runHere(...args: string[]): Promise<void> {
  const { main } = await import('../../src/commands/main.ts');
  const code = await main(args);
  if (code !== 0) throw new Error(`paddlet ${args.join(' ')}: exit code ${code}`);
}

/** Rows of two columns that say something of the label. */
function csv(records: number): string {
  const rows = Array.from(
    { length: records },
    (_, i) => `${20 + ((i * 7) % 50)},c${(i * 13) % 97},${i % 3 === 0 ? 1 : 0}`,
  );
  return `${['age,city,label', ...rows].join('\n')}\n`;
}

/** The files of a job that learns from a CSV file. */
function writeCsvJob(tasks: number): void {
  writeFileSync(join(folder, 'train.csv'), csv(tasks * RECORDS_PER_TASK));
  const job = {
    name: JOB,
    data: {
      ...{ train: 'train.csv', format: 'csv', recordsPerTask: RECORDS_PER_TASK },
      columns: { age: 'number', city: 'category', label: 'label' },
    },
    model: { type: 'lr' },
    optimizer: { type: 'adagrad', learningRate: 0.1 },
    training: { passes: 1, batchSize: 50 },
    // Long leases, so that renewals are rare.
    cluster: { pservers: 1, trainers: 1, leaseTtl: '60s' },
  };
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
}

/** From a CSV line, read for the first time, to a finished task: trainer and master; the pserver is beside. */
async function walkTask(): Promise<Set<string>[]> {
  writeCsvJob(TASKS);
  const address = `127.0.0.1:${await freePort()}`;
  startBeside('pserver', '--index', '0', '--store', storeUrl);
  const master = ['master', 'job.yaml', '--store', storeUrl, '--expose-metrics', '--listen', address];
  for (const words of [master, ['trainer', '--store', storeUrl]]) {
    void runHere(...words, ...QUIET).then(() => fail(`the ${words[0]} ended too early`), fail);
  }
  const tasksDone = async (): Promise<number> => {
    const text = await fetch(`http://${address}/metrics`).then(
      (response) => response.text(),
      // The master does not listen yet.
      () => '',
    );
    return Number(/^paddlet_master_tasks\{queue="done"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  while ((await tasksDone()) === 0) await sleep(POLL_MS);
  return longEnoughWindows(TASKS_PER_WINDOW, tasksDone);
}

/** A push to two pservers of a job with two copies of each unit: client and pservers; the master is beside. */
async function walkPush(): Promise<Set<string>[]> {
  const job = recordedJob(folder, JOB, { pservers: 2, replicas: 2, leaseTtl: '60s' });
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
  startBeside('master', 'job.yaml', '--store', storeUrl);
  for (const index of ['0', '1']) {
    const words = ['pserver', '--index', index, '--store', storeUrl, '--dir', folder];
    void runHere(...words, ...QUIET).then(() => fail('a pserver ended too early'), fail);
  }
  const recorder = await Recorder.open({ storeUrl, job: JOB, isReading: false, onFatal: fail });
  await recorder.untilStatus('OK', 2);
  recorder.start(1);
  return windowsOf(WINDOWS, () => somePushes(recorder));
}

/** Until that many more pushes are acknowledged. */
function somePushes(recorder: Recorder): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const enough = recorder.history.length + PUSHES_PER_WINDOW;
  recorder.onAcknowledged = () => {
    if (recorder.history.length >= enough) resolve();
  };
  return promise;
}

/** The whole command, on a CSV file and the checkpoint of a job that has ended. */
async function walkPredict(): Promise<Set<string>[]> {
  writeCsvJob(TASKS_BEFORE_PREDICT);
  const [code] = (await once(startBeside('run', 'job.yaml'), 'exit')) as [number | null];
  if (code !== 0) fail(`paddlet run ended with ${code}: ${readFileSync(join(folder, 'beside.log'), 'utf8')}`);
  writeFileSync(join(folder, 'new.csv'), csv(RECORDS_PER_TASK));
  const predict = (): Promise<void> =>
    runHere('predict', JOB, '--data', 'new.csv', '--output', 'scores.csv', '--replace', '--json');
  await predict();
  return windowsOf(PREDICTIONS, predict);
}

async function windowsOf(count: number, act: () => Promise<void>): Promise<Set<string>[]> {
  await meter.start();
  const windows: Set<string>[] = [];
  while (windows.length < count) windows.push(await meter.during(act));
  return windows;
}

/** Windows in which enough is done. Asking for the amount done runs files, too, so it is asked between the windows. */
async function longEnoughWindows(wanted: number, done: () => Promise<number>): Promise<Set<string>[]> {
  await meter.start();
  const windows: Set<string>[] = [];
  let windowMs = FIRST_WINDOW_MS;
  while (windows.length < WINDOWS) {
    const before = await done();
    const ran = await meter.during(() => sleep(windowMs));
    if ((await done()) - before >= wanted) windows.push(ran);
    else windowMs *= 2;
  }
  return windows;
}

function fail(why: unknown): never {
  process.stderr.write(`${why instanceof Error ? why.stack : why}\n`);
  process.exit(1);
}

const WALKS: Readonly<Record<string, () => Promise<Set<string>[]>>> = {
  task: walkTask,
  predict: walkPredict,
  push: walkPush,
};
// Also ends the processes beside this one.
process.once('disconnect', () => process.exit(1));
setTimeout(() => fail(`not done after ${LONGEST_MS / 1000} s`), LONGEST_MS).unref();
process.chdir(folder);
const crossed = inAll(await WALKS[process.argv[2]!]!());
if (process.send === undefined) process.stdout.write(`${crossed.join('\n')}\n`);
else await new Promise((sent) => process.send!(crossed, sent));
process.exit(0);
