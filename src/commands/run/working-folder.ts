/** The folder that a run works in: one run at a time, which says who it is and logs for those who attach. */
import { type ExitCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host, Log } from '../../base/seams.ts';
import { isoTime } from '../../host/clock.ts';
import { type FolderLock, type Holder, lastHolder, lockFolder } from '../../host/folder-lock.ts';
import { createLog, type LogOptions, teeLog } from '../../host/log.ts';
import { type LogFile, logFile } from '../../host/log-file.ts';
import { logFolder, runLog } from '../base/job-logs.ts';

export interface RunLogOptions extends Pick<LogOptions, 'level' | 'identity'> {
  /** Bytes at which the log file is rotated. */
  readonly logBytes: number;
}

export class WorkingFolder {
  readonly #folder: string;
  readonly #lock: FolderLock;
  #holder: Holder;
  #logFile: LogFile | undefined;
  /** A log for that file only: the terminal shows the same in another way. */
  #log: Log | undefined;
  #hasStarted = false;
  /** Logs an error that nothing awaits, which ends this process. */
  readonly #onCrash = (error: Error): void => this.#log?.error('ended by an error', { error });

  /** Makes the folder. `JobConflict` when another run works in it, `SystemRefused` when it cannot be written to. */
  static async open(host: Host, folder: string, job: string): Promise<WorkingFolder> {
    await host.disk.makeFolder(folder);
    const lock = lockFolder(folder);
    if (lock === undefined) throw inUse(folder, lastHolder(folder));
    const started = isoTime(host.clock.wallSeconds());
    return new WorkingFolder(folder, lock, { pid: process.pid, started, job, logFrom: 0 });
  }

  private constructor(folder: string, lock: FolderLock, holder: Holder) {
    this.#folder = folder;
    this.#lock = lock;
    this.#holder = holder;
    this.#lock.describe(holder);
  }

  /** Makes the folder of the logs; the host with a log that goes to the run's own file too. */
  async startLog(host: Host, { level, identity, logBytes }: RunLogOptions): Promise<Host> {
    this.#hasStarted = true;
    await host.disk.makeFolder(logFolder(this.#folder));
    const file = logFile(runLog(this.#folder), logBytes);
    try {
      const { number, bytes } = file.open();
      this.#describe({ ...this.#holder, logFrom: bytes, logNumber: number });
    } catch (error) {
      host.log.warn(`--attach cannot show this run: ${(error as Error).message}`);
      return host;
    }
    this.#logFile = file;
    const { clock } = host;
    const log = createLog({
      ...{ level, format: 'text', color: false },
      ...(identity === undefined ? {} : { identity }),
      write: file.write,
      wallSeconds: () => clock.wallSeconds(),
    });
    this.#log = log;
    process.on('uncaughtExceptionMonitor', this.#onCrash);
    return { ...host, log: teeLog(host.log, log) };
  }

  /** A run that was refused, or had nothing to do, leaves what the last one that trained said of itself. */
  ended(exit: ExitCode, error?: unknown): void {
    if (!this.#hasStarted) {
      this.#lock.describe(this.#lock.before);
      return;
    }
    this.#logEnd(exit, error);
    const why = isPaddletError(error) ? { code: error.code, message: error.message } : {};
    this.#describe({ ...this.#holder, ended: { exit, ...why, ...hintOf(error) } });
  }

  #logEnd(exit: ExitCode, error: unknown): void {
    const message = `ended with exit code ${exit}`;
    if (error === undefined || isPaddletError(error, 'Interrupted')) this.#log?.info(message);
    else if (isPaddletError(error)) this.#log?.error(`${message}: ${error.code}: ${error.message}`, hintOf(error));
    else this.#log?.error(message, { error });
  }

  close(): void {
    process.off('uncaughtExceptionMonitor', this.#onCrash);
    this.#logFile?.close();
    this.#lock.release();
  }

  #describe(holder: Holder): void {
    this.#holder = holder;
    this.#lock.describe(holder);
  }
}

const hintOf = (error: unknown): { readonly hint?: string } =>
  isPaddletError(error) && error.hint !== undefined ? { hint: error.hint } : {};

export function inUse(folder: string, holder: Holder | undefined): PaddletError {
  const who = holder === undefined ? '' : ` (pid ${holder.pid}, started ${holder.started})`;
  return new PaddletError('JobConflict', `another \`paddlet run\` works in ${folder}${who}`, {
    hint: `watch it with the same command and --attach, or stop it with \`paddlet stop --dir ${folder}\``,
    ...(holder === undefined ? {} : { details: { pid: holder.pid, started: holder.started } }),
  });
}
