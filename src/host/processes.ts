/** Starts this program again: the roles of a cluster are processes of one executable. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import type { Readable } from 'node:stream';
import { LIMITS } from '../base/limits.ts';
import type { ReportedLease } from '../base/seams.ts';
import { OWN_LOG, outputBeside, ownLogText, takeOutput } from './log-file.ts';
import { REPORTS, REPORTS_DESCRIPTOR, type Report, readReports } from './reports.ts';
import { type ForwardedSignal, TETHER, type Tether, tetherText } from './tether.ts';

export interface SelfCommand {
  readonly command: string;
  /** Come before the arguments of the subcommand. */
  readonly args: readonly string[];
}

/** How to start this program: the executable itself, or in development node with the entry script. */
export function selfCommand(): SelfCommand {
  if (isSea()) return { command: process.execPath, args: [] };
  const script = process.argv[1];
  if (script === undefined) throw new Error('cannot start this program again: it has no entry script');
  return { command: process.execPath, args: [...process.execArgv, script] };
}

export interface SpawnOptions {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * The child appends its log to this file, and its output streams are appended when it has ended (`log-file.ts`);
   * without it they are this process's own. A file that cannot be opened does not stop the child: `onNoLog` gets the
   * reason.
   */
  readonly logFile?: string;
  /** Bytes at which the log file is rotated. */
  readonly logBytes?: number;
  readonly onNoLog?: (error: Error) => void;
  /**
   * The child notices (`onTetherLost`) when this process has exited, even by SIGKILL, and learns who it was and how
   * long it may take to stop then.
   */
  readonly tether?: Tether;
  /** Takes the child's reports (`reports.ts`). */
  readonly onReport?: (report: Report) => void;
  /** Takes what the child tells of its leases (`reports.ts`). It may come after the child's end. */
  readonly onLease?: (told: ReportedLease) => void;
  /** Another program than this one; for tests. */
  readonly self?: SelfCommand;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly pid: number;
  /** Settles once, when the process has ended and been reaped. */
  readonly ended: Promise<ProcessEnd>;
  /** Settles when it has ended and all that it reported has been taken. */
  readonly closed: Promise<void>;
  /** False when it has already ended. */
  kill(signal: NodeJS.Signals): boolean;
  /** Passes a signal on by the tether (`onForwarded`). */
  forward(signal: ForwardedSignal): void;
  /** By SIGSTOP: it does nothing until SIGCONT. False for one that a debugger holds. */
  isSuspended(): boolean;
}

/**
 * Starts `paddlet <args>`. Rejects when the process cannot be started at all (Node's error). A child has its own
 * process group, so Ctrl-C in a terminal reaches only this process, which then stops its children in order.
 */
export async function spawnSelf(args: readonly string[], options: SpawnOptions = {}): Promise<RunningProcess> {
  const self = options.self ?? selfCommand();
  const { tether, onReport = () => {}, onLease = () => {} } = options;
  const isReporting = options.onReport !== undefined || options.onLease !== undefined;
  const outputFd = openOutput(options);
  let child: ChildProcess;
  try {
    const output = options.logFile === undefined ? 'inherit' : (outputFd ?? 'ignore');
    const env = {
      [TETHER]: tetherText(tether),
      [REPORTS]: isReporting ? '1' : '',
      [OWN_LOG]: options.logFile === undefined ? '' : ownLogText(options.logFile, logBytesOf(options)),
    };
    child = spawn(self.command, [...self.args, ...args], {
      cwd: options.cwd,
      env: { ...process.env, ...env, ...options.env },
      stdio: [tether === undefined ? 'ignore' : 'pipe', output, output, isReporting ? 'pipe' : 'ignore'],
      detached: true,
    });
  } finally {
    if (outputFd !== undefined) closeSync(outputFd);
  }
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      takeOutputOf(options);
      resolve({ code, signal });
    });
  });
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  // The pipe breaks when the child ends first: that is not an error here.
  child.stdin?.on('error', () => {});
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid as number));
  });
  // Only now: one that cannot be started has no pipes.
  if (isReporting) readReports(child.stdio[REPORTS_DESCRIPTOR] as Readable, { onReport, onLease });
  // Later 'error' events tell that a signal could not be sent; `kill` answers that itself.
  child.on('error', () => {});
  return {
    pid,
    ended,
    closed,
    kill: (signal) => child.kill(signal),
    isSuspended: () => isSuspended(pid),
    forward: (signal) => void child.stdin?.write(`${signal}\n`),
  };
}

/** The state follows the name in parentheses (proc(5)). */
function isSuspended(pid: number): boolean {
  try {
    return /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // It has just ended.
    return false;
  }
}

const logBytesOf = ({ logBytes = LIMITS.logFileBytes }: SpawnOptions): number => logBytes;

/** Undefined: what the child prints is lost. A full disk takes no new file, but may take lines in one that there is. */
function openOutput(options: SpawnOptions): number | undefined {
  const { logFile, onNoLog } = options;
  if (logFile === undefined) return undefined;
  // There is some when the one who started the last child was killed.
  takeOutputOf(options);
  try {
    return openSync(outputBeside(logFile), 'a');
  } catch {
    // Below.
  }
  try {
    return openSync(logFile, 'a');
  } catch (error) {
    onNoLog?.(error as Error);
    return undefined;
  }
}

/** Where the disk is full, it stays beside the log until the next child is started. */
function takeOutputOf(options: SpawnOptions): void {
  const { logFile } = options;
  if (logFile === undefined) return;
  try {
    takeOutput(logFile, logBytesOf(options));
  } catch {
    // The launcher itself says why a child ended.
  }
}
