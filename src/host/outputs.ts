/**
 * Stdout and stderr of this process. If the reader closes the pipe, or the disk is full, the process must not end: Node
 * would end it, by an 'error' event without a listener.
 */
import { fstatSync, writeSync } from 'node:fs';
import type { Log } from '../base/seams.ts';

export interface Outputs {
  /** Resolves when stdout has taken all that was written, with the error of the first write that failed. */
  flushed(): Promise<Error | undefined>;
}

/**
 * Whether a write failed because the reader closed the pipe, as `| head` does when it has enough. That is not a failure
 * of the command, which continues: a job that trains must not end with the reader of its result.
 */
export const isReaderGone = (failure: Error): boolean => (failure as NodeJS.ErrnoException).code === 'EPIPE';

/** To be called once, before anything is written and after all modules are loaded. */
export function guardOutputs(): Outputs {
  let failure: Error | undefined;
  // oclif's own listener throws, or hides that the reader closed the pipe.
  process.stdout.removeAllListeners('error');
  process.stdout.on('error', (error) => {
    failure ??= error;
  });
  // There is no other place to report it.
  process.stderr.on('error', () => {});
  return {
    flushed: () =>
      new Promise((resolve) => {
        // A stream that has failed calls back with another error, on a later turn than its first 'error' event.
        process.stdout.write('', () => setImmediate(() => resolve(failure)));
      }),
  };
}

/** Writes one line to a log; never throws. */
export type WriteLine = (line: string) => void;

/** Writes lines to stderr, whether it is a file, a pipe or a terminal. */
export function stderrLines(): WriteLine {
  const { stderr } = process;
  return isFile(stderr.fd) ? fileLines(() => stderr.fd) : (line) => void stderr.write(`${line}\n`);
}

/**
 * For a file that may be on a full disk: Node's own stream would stay closed after the first failure. Lines that do not
 * fit are lost; the next one that does says how many. `descriptor` may throw: then the line is lost, too.
 */
export function fileLines(descriptor: () => number): WriteLine {
  let lost = 0;
  /** The disk took only a part of the last line. */
  let isCut = false;
  return (line) => {
    const note = lost === 0 ? '' : `(${lost} lines were lost, because they could not be written)\n`;
    const text = Buffer.from(`${isCut ? '\n' : ''}${note}${line}\n`);
    try {
      const written = writeSync(descriptor(), text);
      if (written === text.length) {
        lost = 0;
        isCut = false;
        return;
      }
      isCut ||= written > 0;
    } catch {
      // Counted below: a log that cannot be written stops nothing.
    }
    lost++;
  };
}

/** Node prints its own warnings to stderr, which is not bounded as a log is. */
export function logWarnings(log: Log): void {
  // Node has none where they are turned off.
  if (process.listenerCount('warning') === 0) return;
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn(`${name}: ${message}`));
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
