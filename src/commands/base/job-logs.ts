/** The log files of a job that `paddlet run` works on: one for each process, and its own. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const logFolder = (folder: string): string => join(folder, 'logs');

/** `name` of a process: `pserver 0`. */
export const logFile = (folder: string, name: string): string =>
  join(logFolder(folder), `${name.replace(' ', '-')}.log`);

/** What the launcher itself logs. */
export const runLog = (folder: string): string => logFile(folder, 'run');

const LOG_NAME = /^(run|master|(?:pserver|trainer)-\d+)\.log$/;

/** Names of those that there are, without `.log`: the run and the master first. */
export function logNames(folder: string): string[] {
  const logs = logFolder(folder);
  if (!existsSync(logs)) return [];
  const names = readdirSync(logs).flatMap((file) => LOG_NAME.exec(file)?.[1] ?? []);
  return names.sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b, 'en', { numeric: true }));
}

const RANKS = ['run', 'master', 'pserver', 'trainer'];
const rankOf = (name: string): number => RANKS.indexOf(name.split('-')[0]!);

export function removeLogs(folder: string): void {
  for (const name of logNames(folder)) rmSync(logFile(folder, name), { force: true });
}
