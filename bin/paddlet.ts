#!/usr/bin/env node
/** Entry point, in development (`npx node bin/paddlet.ts`) and of the bundle. */
import type { MessagePort } from 'node:worker_threads';
import { EXIT } from '../src/base/errors.ts';
import { withoutUser } from '../src/commands/base/without-user.ts';
import { versionLine } from '../src/commands/version.ts';
import { guardOutputs, isReaderGone } from '../src/host/outputs.ts';
import { ignoreHangup } from '../src/host/stop-signals.ts';
import { THREAD_WORDS, type ThreadWord } from '../src/host/thread-words.ts';

type RunThread = (port: MessagePort, data: never) => void;

const THREADS: Readonly<Record<ThreadWord, () => Promise<RunThread>>> = {
  [THREAD_WORDS.predict]: async () => (await import('../src/commands/predict/thread.ts')).makeParts,
  [THREAD_WORDS.trainer]: async () => (await import('../src/commands/trainer/thread.ts')).readTasks,
};

const argv = process.argv.slice(2);

void start();

/**
 * Exits as soon as the command has returned: a library's idle timer or socket must not keep a finished process alive.
 * `main` waits until the output is written. A rejection here is a bug; Node prints it and exits with 1.
 */
async function start(): Promise<void> {
  ignoreHangup();
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v' || argv[0] === 'version')) {
    process.exit(await printVersion());
  }
  const thread = THREADS[argv[0] as ThreadWord];
  if (thread !== undefined && (await runThread(thread))) return;
  const { main } = await withoutUser(() => import('../src/commands/main.ts'));
  process.exit(await main(argv));
}

/** False in the main thread: then it is no command. */
async function runThread(load: () => Promise<RunThread>): Promise<boolean> {
  const { parentPort, workerData } = await import('node:worker_threads');
  if (parentPort === null) return false;
  const run = await load();
  run(parentPort, workerData as never);
  return true;
}

/** Without loading any command. */
async function printVersion(): Promise<number> {
  const outputs = guardOutputs();
  process.stdout.write(`${versionLine()}\n`);
  const failure = await outputs.flushed();
  if (failure === undefined || isReaderGone(failure)) return EXIT.done;
  process.stderr.write(`error OutputFailed: the output could not be written: ${failure.message}\n`);
  return EXIT.machine;
}
