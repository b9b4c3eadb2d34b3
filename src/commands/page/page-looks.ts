/** Looks at one job repeatedly, for its page: at what changes fast each time, at the rest now and then. */
import { isPaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { describePlaces } from '../../cluster/client/describe-copies.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { readJobRecord } from '../../cluster/job/job-record.ts';
import { parseJobEnd } from '../../cluster/job/job-watch.ts';
import { NO_HISTORY } from '../../core/history.ts';
import type { PageCurve, PageData, PageJobLine, PageLogLine } from '../../page/page-data.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import { readHistory } from '../../roles/master/load-history.ts';
import { defaultChroot, type Keys, keysOf } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import type { Store } from '../../store/store.ts';
import { viewOf } from '../../view/job-view.ts';
import { type Look, seeJob } from '../../view/see-job.ts';
import { linesOf } from '../base/history-lines.ts';
import { VERSION } from '../version.ts';
import { curvesOf } from './curves.ts';
import { KeptNetwork } from './kept-network.ts';
import { LogTail } from './log-tail.ts';
import { pageJobOf } from './page-job.ts';

/** The list of jobs and the curves. */
const SLOW_MS = 10_000;
const MOST_JOBS = 200;

export interface LooksOptions {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  readonly network: Network;
  /** Folder of the job, if it is known: its logs are there. */
  readonly folder: string | undefined;
  readonly servedBy: PageData['servedBy'];
}

export interface Looked {
  readonly data: Omit<PageData, 'curves' | 'problem'>;
  /** The same array while they have not changed. */
  readonly curves: readonly PageCurve[];
}

interface Slow {
  readonly atMs: number;
  readonly jobs: readonly PageJobLine[];
  readonly curves: readonly PageCurve[];
}

export class PageLooks {
  readonly #options: LooksOptions;
  readonly #network: KeptNetwork;
  #logs: LogTail | undefined;
  #before: Look | undefined;
  #slow: Slow | undefined;

  constructor(options: LooksOptions) {
    this.#options = options;
    this.#network = new KeptNetwork(options.network);
  }

  /** Throws what the store throws. */
  async look(): Promise<Looked> {
    const { host, store, keys, folder, servedBy } = this.#options;
    const { clock } = host;
    const now = await seeJob(store, keys, this.#network, { clock, folder, isWhole: true });
    this.#network.sweep();
    const { jobs, curves } = await this.#lookSlowly(now?.seen.end !== undefined);
    const data = { time: clock.wallSeconds(), version: VERSION, servedBy, jobs };
    if (now === undefined) return { data, curves };
    const { seen } = now;
    // A job that was started over is not compared with its former state.
    const isSame = this.#before?.seen.record.id === seen.record.id;
    const view = viewOf(now, isSame ? this.#before : undefined);
    this.#before = now;
    const units = seen.copies ?? (await describePlaces(store, keys, seen.record));
    const log = await this.#lastLines();
    return { data: { ...data, job: pageJobOf({ view, units, log }) }, curves };
  }

  /** Until the next look, which compares with nothing. */
  rest(): void {
    this.#network.close();
    this.#logs = undefined;
    this.#before = undefined;
  }

  /** Logs that cannot be read hide nothing else. */
  async #lastLines(): Promise<readonly PageLogLine[]> {
    const { host, folder } = this.#options;
    if (folder === undefined) return [];
    this.#logs ??= new LogTail(host.disk, folder);
    try {
      return await this.#logs.lines();
    } catch (error) {
      host.log.debug(`the logs in ${folder} cannot be read`, { error });
      return [];
    }
  }

  /** Does not wait for the interval if the job has ended. */
  async #lookSlowly(hasEnded: boolean): Promise<Slow> {
    const { host, store, keys } = this.#options;
    const atMs = host.clock.monotonicMs();
    const isDue = this.#slow === undefined || atMs - this.#slow.atMs >= SLOW_MS;
    const wasOpen = this.#before !== undefined && this.#before.seen.end === undefined;
    if (!isDue && !(hasEnded && wasOpen)) return this.#slow!;
    const [jobs, curves] = await Promise.all([readJobLines(store), readCurves(store, keys)]);
    this.#slow = { atMs, jobs, curves };
    return this.#slow;
  }
}

/** None where they cannot be read: a master begins them again. */
async function readCurves(store: Store, keys: Keys): Promise<PageCurve[]> {
  const record = await readJobRecord(store, keys);
  if (record === undefined) return [];
  const history = await readHistory(store, keys).catch((error: unknown) => {
    if (isPaddletError(error, 'StoreValueInvalid')) return NO_HISTORY;
    throw error;
  });
  return curvesOf(linesOf(history, modelOf(record).task));
}

/** The first of them by name. */
export async function readJobLines(store: Store): Promise<PageJobLine[]> {
  const names = await listJobs(store, { most: MOST_JOBS });
  return Promise.all(names.map(async (name) => ({ name, end: await endOf(store, name) })));
}

/** Undefined, too, of a job of another version. */
async function endOf(store: Store, name: string): Promise<PageJobLine['end']> {
  const result = await store.get(keysOf(defaultChroot(name)).result);
  if (result === undefined) return undefined;
  try {
    return 'result' in parseJobEnd(result.key, result.value) ? 'done' : 'failed';
  } catch (error) {
    if (isPaddletError(error, 'StoreValueInvalid')) return undefined;
    throw error;
  }
}
