/** The signals that ask this process to stop. */
import { closeSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * Whether this process is to outlive its terminal. Node resets ignored signals before any of our code runs, so the
 * disposition that `nohup` has set cannot be read. `nohup` is known by the name that shells put into the environment,
 * and by what it does: a process of a terminal's session uses the terminal neither for input nor for output.
 */
const outlivesTerminal =
  /(?:^|\/)nohup$/.test(process.env._ ?? '') || (![0, 1, 2].some((descriptor) => isatty(descriptor)) && hasTerminal());

/** Whether the session of this process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Ignores SIGHUP if this process is to outlive its terminal; call it once, as early as possible. */
export function ignoreHangup(): void {
  if (outlivesTerminal) process.on('SIGHUP', () => {});
}

/** Calls `run` for each such signal, but not for a SIGHUP that this process ignores. */
export function onStopSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', run: () => void): void {
  if (signal !== 'SIGHUP' || !outlivesTerminal) process.on(signal, run);
}
