/** The log files of a job that `paddlet run` works on: one for each process, and its own. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const logFolder = (folder: string): string => join(folder, 'logs');

/** `name` of a process: `pserver 0`. */
export const logFile = (folder: string, name: string): string =>
  join(logFolder(folder), `${name.replace(' ', '-')}.log`);

/** What the launcher itself logs. */
export const runLog = (folder: string): string => logFile(folder, 'run');

/** A role, or the log of one process: `trainer`, `trainer-1`. */
export const LOG_WORD = /^(?:run|master|(?:pserver|trainer)(?:-\d+)?)$/;

/** Older entries are in files with a number, what a child said beside its log in one that ends in `out`. */
const LOG_NAME = /^(run|master|(?:pserver|trainer)-\d+)\.log(?:\.\d+)?$/;
const LOG_OR_OUTPUT = /^(?:run|master|(?:pserver|trainer)-\d+)\.log(?:\.(?:\d+|out))?$/;

/** Names of those that there are, without `.log`: the run and the master first. */
export function logNames(folder: string): string[] {
  const names = new Set(filesIn(folder).flatMap((file) => LOG_NAME.exec(file)?.[1] ?? []));
  return [...names].sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b, 'en', { numeric: true }));
}

function filesIn(folder: string): string[] {
  const logs = logFolder(folder);
  return existsSync(logs) ? readdirSync(logs) : [];
}

const RANKS = ['run', 'master', 'pserver', 'trainer'];
const rankOf = (name: string): number => RANKS.indexOf(name.split('-')[0]!);

export function removeLogs(folder: string): void {
  for (const file of filesIn(folder)) {
    if (LOG_OR_OUTPUT.test(file)) rmSync(join(logFolder(folder), file), { force: true });
  }
}
