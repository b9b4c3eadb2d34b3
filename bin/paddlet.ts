#!/usr/bin/env node
/** Entry point, in development (`npx node bin/paddlet.ts`) and of the bundle. */
import { EXIT } from '../src/base/errors.ts';
import { withoutUser } from '../src/commands/base/without-user.ts';
import { THREAD_WORD } from '../src/commands/predict/thread-word.ts';
import { versionLine } from '../src/commands/version.ts';
import { guardOutputs, isReaderGone } from '../src/host/outputs.ts';
import { ignoreHangup } from '../src/host/stop-signals.ts';

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
  if (argv[0] === THREAD_WORD && (await runThread())) return;
  const { main } = await withoutUser(() => import('../src/commands/main.ts'));
  process.exit(await main(argv));
}

/** False in the main thread: then it is no command. */
async function runThread(): Promise<boolean> {
  const { parentPort, workerData } = await import('node:worker_threads');
  if (parentPort === null) return false;
  const { makeParts } = await import('../src/commands/predict/thread.ts');
  makeParts(parentPort, workerData);
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
