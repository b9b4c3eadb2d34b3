/** A row for each job of ./.paddlet or of a store. Reads only; a store that cannot be read is a row with its error. */
import { basename, resolve } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { readEntries } from '../../checkpoint/registry/discover.ts';
import { generationsOf } from '../../checkpoint/registry/entry.ts';
import { defaultChroot, keysOf, ROOT } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { type JobView, viewOf } from '../../view/job-view.ts';
import { readStoredProgress } from '../../view/stored-progress.ts';
import { type CommandStore, openCommandStore } from '../base/command-store.ts';
import { type ErrorJson, errorJson } from '../base/errors.ts';
import { HOME, hasStore, jobsAtHome } from '../base/find-store.ts';
import { lookAtJob } from '../base/look-at-job.ts';
import { fromSystem } from '../base/machine-errors.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import type { CredentialFlags } from '../base/store-credentials.ts';
import { folderUse } from './folder-use.ts';

export interface JobRow {
  readonly name: string;
  /** The job's folder in ./.paddlet; absent for a job of `--store`. */
  readonly folder?: string;
  /** The store that `--store` names; absent for a job in ./.paddlet. */
  readonly store?: string;
  readonly state?: 'not started' | 'running' | 'stopped' | 'done' | 'failed';
  readonly progress?: JobRowProgress;
  /** Seconds since 1970 when the job was published. */
  readonly created?: number;
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
    return [failedRow(options, name, { folder }, error)];
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
    const retryStore = <T>(call: () => Promise<T>): Promise<T> => retryUntilAnswered(ask, call);
    const look = await lookAtJob({ host, store, keys, folder, retryStore }, { isWhole: true });
    const { end } = look.seen;
    const hasFailed = end !== undefined && 'failure' in end;
    // A look at a job that has ended does not read how far it came.
    const stored = hasFailed ? await retryStore(() => readStoredProgress(store, keys, look.seen)) : look.seen.stored;
    const view = viewOf({ ...look, seen: { ...look.seen, stored } });
    const { entries } = await retryStore(() => store.range({ prefix: keys.checkpointsPrefix }));
    const { published } = readEntries(keys.checkpointsPrefix, entries);
    const files = published.flatMap((one) => generationsOf(one.entry));
    const use = folder === undefined ? undefined : folderUse(folder);
    const checkpointBytes = files.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    const isOutside = view.record.job.checkpoint.dir !== undefined;
    const progress = progressOf(view);
    const state = stateOf(view);
    const seen = [...files.map(({ timestamp }) => timestamp), ...(use?.lastLog === undefined ? [] : [use.lastLog])];
    return {
      name,
      ...whereOf(folder, store),
      state,
      created: view.record.created,
      ...(progress !== undefined && { progress }),
      lastAlive: lastAlive(view, state, seen, clock.wallSeconds()),
      bytes: (use?.bytes ?? 0) + (use === undefined || isOutside ? checkpointBytes : 0),
    };
  } catch (error) {
    return failedRow(options, name, whereOf(folder, store), error);
  }
}

const whereOf = (folder: string | undefined, { url }: Pick<Store, 'url'>): Pick<JobRow, 'folder' | 'store'> =>
  folder === undefined ? { store: url } : { folder };

const stateOf = ({ phase }: JobView): NonNullable<JobRow['state']> =>
  phase === 'done' || phase === 'failed' || phase === 'stopped' ? phase : 'running';

function lastAlive({ record, result }: JobView, state: JobRow['state'], seen: number[], now: number): number {
  if (state === 'running') return now;
  return result === undefined ? Math.max(record.created, ...seen) : record.created + result.elapsedSeconds;
}

function progressOf({ progress, result, master }: JobView): JobRowProgress | undefined {
  const { passes, pass, tasks, rounds } = progress;
  if (pass === undefined && master === undefined) return undefined;
  return {
    pass: result === undefined ? (pass ?? 0) : passes,
    passes,
    ...(tasks && { tasks: { total: tasks.total, done: tasks.done } }),
    ...(rounds && { rounds }),
  };
}

/** Rethrows bugs, and an interruption of the whole command. */
function failedRow(
  { signal }: RowsOptions,
  name: string,
  where: Pick<JobRow, 'folder' | 'store'>,
  thrown: unknown,
): JobRow {
  const error = fromSystem(thrown);
  if (!isPaddletError(error) || signal.aborted) throw thrown;
  const { code, message, hint } = errorJson(error).error;
  const shown = { code, message, ...(hint !== undefined && { hint }) };
  return { name, ...where, error: shown };
}
