/** A row for each job of ./.paddlet or of a store. Reads only; a store that cannot be read is a row with its error. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { readEntries } from '../../checkpoint/registry/discover.ts';
import { generationsOf } from '../../checkpoint/registry/entry.ts';
import { directingInfo } from '../../cluster/job/describe-job.ts';
import { defaultChroot, keysOf, ROOT } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import { type CommandStore, openCommandStore } from '../base/command-store.ts';
import { type ErrorJson, errorJson } from '../base/errors.ts';
import { HOME, hasStore, jobsAtHome } from '../base/find-store.ts';
import { logFolder } from '../base/job-logs.ts';
import { jobNetwork } from '../base/job-network.ts';
import { fromSystem } from '../base/machine-errors.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import type { CredentialFlags } from '../base/store-credentials.ts';
import { showJob } from '../status/show-job.ts';
import { phaseOf, type ShownStatus } from '../status/shown-status.ts';
import { readStoredProgress, type StoredProgress } from '../status/stored-progress.ts';

export interface JobRow {
  readonly name: string;
  /** The job's folder in ./.paddlet; absent for a job of `--store`. */
  readonly folder?: string;
  readonly state?: 'not started' | 'running' | 'stopped' | 'done' | 'failed';
  readonly progress?: JobRowProgress;
  /** Seconds since 1970 when the job ended, or when one of its processes last wrote something. Absent if unknown. */
  readonly lastAlive?: number;
  /** Size of the folder and of checkpoints outside it; for a job of `--store`, size of its checkpoints. */
  readonly bytes?: number;
  readonly error?: Pick<ErrorJson['error'], 'code' | 'message' | 'hint'>;
}

export interface JobRowProgress {
  /** Passes that have ended. */
  readonly pass: number;
  readonly passes: number;
  /** Over all passes, in async mode. */
  readonly tasks?: { readonly total: number; readonly done: number };
  /** Over all passes, in sync mode. */
  readonly rounds?: { readonly total: number; readonly done: number };
}

export interface RowsOptions {
  readonly flags: CredentialFlags & { readonly store?: string | undefined };
  readonly host: Host;
  readonly signal: AbortSignal;
  readonly limitMs: number;
}

/** Stores read at the same time: one that does not answer delays the others only within its group. */
const STORES_AT_ONCE = 8;

export async function jobRows(options: RowsOptions): Promise<readonly JobRow[]> {
  if (options.flags.store !== undefined) return rowsOfStore(options, undefined);
  const rows: JobRow[] = [];
  const names = jobsAtHome();
  for (let from = 0; from < names.length; from += STORES_AT_ONCE) {
    const group = names.slice(from, from + STORES_AT_ONCE);
    rows.push(...(await Promise.all(group.map((name) => rowsOfFolder(options, name)))).flat());
  }
  return rows;
}

async function rowsOfFolder(options: RowsOptions, name: string): Promise<readonly JobRow[]> {
  const folder = resolve(HOME, name);
  try {
    return await rowsOfStore(options, folder);
  } catch (error) {
    // Deleted since the folders were listed.
    if (isPaddletError(error, 'JobUnknown') && !hasStore(folder)) return [];
    return [failedRow(options, name, folder, error)];
  }
}

/** An empty store: its job was stopped before a master published it, or a deletion was interrupted. */
async function rowWithoutJob({ store, ask }: CommandStore, folder: string): Promise<JobRow> {
  const { entries } = await retryUntilAnswered(ask, () => store.range({ prefix: '/', limit: 1 }));
  const [other] = entries;
  if (other !== undefined) {
    throw new PaddletError('JobUnknown', `${store.url} has no job below ${ROOT}; its first key is ${other.key}`, {
      hint: 'show a job with another prefix with `paddlet status --dir FOLDER --chroot PREFIX`',
    });
  }
  const { bytes, lastLog } = folderUse(folder);
  return {
    ...{ name: basename(folder), folder, state: 'not started', bytes },
    ...(lastLog !== undefined && { lastAlive: lastLog }),
  };
}

async function rowsOfStore(options: RowsOptions, folder: string | undefined): Promise<readonly JobRow[]> {
  const { flags, signal, limitMs } = options;
  const host = folder === undefined ? options.host : { ...options.host, log: QUIET_LOG };
  const where = { ...flags, ...(folder !== undefined && { dir: folder }) };
  const opened = await openCommandStore({ flags: where, host, signal, access: 'read', limitMs });
  try {
    const names = await retryUntilAnswered(opened.ask, () => listJobs(opened.store));
    if (names.length === 0 && folder !== undefined) return [await rowWithoutJob(opened, folder)];
    const rows: JobRow[] = [];
    // One after the other: each asks all processes of its job.
    for (const name of names) rows.push(await rowOfJob({ ...options, host }, opened, name, folder));
    return rows;
  } finally {
    await opened.store.close();
  }
}

async function rowOfJob(
  options: RowsOptions,
  { store, ask }: CommandStore,
  name: string,
  folder: string | undefined,
): Promise<JobRow> {
  const { host } = options;
  const { clock } = host;
  try {
    const keys = keysOf(defaultChroot(name));
    const network = jobNetwork({ ...host, log: QUIET_LOG }, store, keys);
    const status = await retryUntilAnswered(ask, () => showJob(store, keys, network, { clock, folder }));
    if (status === undefined) throw new PaddletError('JobUnknown', `the job ${name} was deleted`);
    const hasFailed = status.end !== undefined && 'failure' in status.end;
    const stored = hasFailed
      ? await retryUntilAnswered(ask, () => readStoredProgress(store, keys, status))
      : status.stored;
    const { entries } = await retryUntilAnswered(ask, () => store.range({ prefix: keys.checkpointsPrefix }));
    const { published } = readEntries(keys.checkpointsPrefix, entries);
    const files = published.flatMap((one) => generationsOf(one.entry));
    const use = folder === undefined ? undefined : folderUse(folder);
    const checkpointBytes = files.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    const isOutside = status.record.job.checkpoint.dir !== undefined;
    const progress = progressOf(status, stored);
    const state = stateOf(status);
    const seen = [...files.map(({ timestamp }) => timestamp), ...(use?.lastLog === undefined ? [] : [use.lastLog])];
    return {
      name,
      ...(folder !== undefined && { folder }),
      state,
      ...(progress !== undefined && { progress }),
      lastAlive: lastAlive(status, state, seen, clock.wallSeconds()),
      bytes: (use?.bytes ?? 0) + (use === undefined || isOutside ? checkpointBytes : 0),
    };
  } catch (error) {
    return failedRow(options, name, folder, error);
  }
}

function stateOf(status: ShownStatus): NonNullable<JobRow['state']> {
  const phase = phaseOf(status);
  return phase === 'done' || phase === 'failed' || phase === 'stopped' ? phase : 'running';
}

function lastAlive({ record, end }: ShownStatus, state: JobRow['state'], seen: number[], now: number): number {
  if (state === 'running') return now;
  if (end !== undefined && 'result' in end) return record.created + end.result.elapsedSeconds;
  return Math.max(record.created, ...seen);
}

function progressOf(status: ShownStatus, stored: StoredProgress | undefined): JobRowProgress | undefined {
  const { passes } = status.record.job.training;
  const { end } = status;
  if (end !== undefined && 'result' in end) {
    const { mode, tasks } = end.result;
    return { pass: passes, passes, ...(mode === 'async' && { tasks: { total: tasks.total, done: tasks.done } }) };
  }
  const master = directingInfo(status);
  if (master?.mode === 'sync') {
    const { pass = 0, round, total } = master.rounds;
    return { pass, passes, ...(round !== undefined && { rounds: { total, done: round } }) };
  }
  if (master !== undefined) {
    const { pass, total, done } = master.tasks;
    return { pass, passes, tasks: { total: passes * total, done: pass * total + done } };
  }
  if (stored === undefined) return undefined;
  if (stored.mode === 'sync') {
    return { pass: stored.pass, passes, rounds: { total: stored.total, done: stored.round } };
  }
  return { pass: stored.pass, passes, tasks: { total: stored.tasks.total, done: stored.tasks.done } };
}

/** Rethrows bugs, and an interruption of the whole command. */
function failedRow({ signal }: RowsOptions, name: string, folder: string | undefined, thrown: unknown): JobRow {
  const error = fromSystem(thrown);
  if (!isPaddletError(error) || signal.aborted) throw thrown;
  const { code, message, hint } = errorJson(error).error;
  const shown = { code, message, ...(hint !== undefined && { hint }) };
  return { name, ...(folder !== undefined && { folder }), error: shown };
}

interface FolderUse {
  readonly bytes: number;
  /** Seconds since 1970 of the last entry in a log. */
  readonly lastLog: number | undefined;
}

/** A file with several names counts once. A file that a running job has just removed counts as 0. */
function folderUse(folder: string): FolderUse {
  const inodes = new Set<number>();
  const logs = logFolder(folder);
  let [bytes, lastMs] = [0, 0];
  const walk = (at: string): void => {
    for (const entry of entriesIn(at)) {
      const path = join(at, entry.name);
      // Links are not followed.
      if (entry.isDirectory()) walk(path);
      const found = entry.isFile() ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
      if (found === undefined || inodes.has(found.ino)) continue;
      inodes.add(found.ino);
      bytes += found.size;
      if (at === logs) lastMs = Math.max(lastMs, found.mtimeMs);
    }
  };
  walk(folder);
  return { bytes, lastLog: lastMs === 0 ? undefined : lastMs / 1000 };
}

function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
