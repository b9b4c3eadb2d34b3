/** Looks at one job again and again, for its page: at what changes fast each time, at the rest now and then. */
import type { Host } from '../../base/seams.ts';
import { describePlaces } from '../../cluster/client/describe-copies.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { readJobRecord } from '../../cluster/job/job-record.ts';
import { parseJobEnd } from '../../cluster/job/job-watch.ts';
import type { PageCurve, PageData, PageJobLine } from '../../page/page-data.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import { readHistory } from '../../roles/master/load-history.ts';
import { defaultChroot, type Keys, keysOf } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import type { Store } from '../../store/store.ts';
import { linesOf } from '../base/history-lines.ts';
import { showJob } from '../status/show-job.ts';
import type { Look } from '../top/rows.ts';
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
  /** Of the job, where it is known: its logs are there. */
  readonly folder: string | undefined;
  readonly servedBy: PageData['servedBy'];
}

export interface Looked {
  readonly data: Omit<PageData, 'curves' | 'problem'>;
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
  readonly #logs: LogTail | undefined;
  #before: Look | undefined;
  #slow: Slow | undefined;

  constructor(options: LooksOptions) {
    const { host, folder, network } = options;
    this.#options = options;
    this.#network = new KeptNetwork(network);
    this.#logs = folder === undefined ? undefined : new LogTail(host.disk, folder);
  }

  /** Throws what the store throws. */
  async look(): Promise<Looked> {
    const { host, store, keys, folder, servedBy } = this.#options;
    const { clock } = host;
    const status = await showJob(store, keys, this.#network, { clock, folder });
    this.#network.sweep();
    const { jobs, curves } = await this.#lookSlowly(status?.end !== undefined);
    const wallSeconds = clock.wallSeconds();
    const data = { time: wallSeconds, version: VERSION, servedBy, jobs };
    if (status === undefined) return { data, curves: [] };
    const now = { status, atMs: clock.monotonicMs() };
    // Of a job that was begun again nothing is compared.
    const isSame = this.#before?.status.record.id === status.record.id;
    const before = isSame ? this.#before : undefined;
    this.#before = now;
    const units = status.copies ?? (await describePlaces(store, keys, status.record));
    const log = (await this.#logs?.lines()) ?? [];
    return { data: { ...data, job: pageJobOf({ before, now, units, log, wallSeconds }) }, curves };
  }

  close(): void {
    this.#network.close();
  }

  /** At once when the job has ended. */
  async #lookSlowly(hasEnded: boolean): Promise<Slow> {
    const { host, store, keys } = this.#options;
    const atMs = host.clock.monotonicMs();
    const isDue = this.#slow === undefined || atMs - this.#slow.atMs >= SLOW_MS;
    const wasOpen = this.#before !== undefined && this.#before.status.end === undefined;
    if (!isDue && !(hasEnded && wasOpen)) return this.#slow!;
    const [jobs, curves] = await Promise.all([readJobLines(store), readCurves(store, keys)]);
    this.#slow = { atMs, jobs, curves };
    return this.#slow;
  }
}

async function readCurves(store: Store, keys: Keys): Promise<PageCurve[]> {
  const record = await readJobRecord(store, keys);
  if (record === undefined) return [];
  return curvesOf(linesOf(await readHistory(store, keys), modelOf(record).task));
}

/** The first of them by name. */
export async function readJobLines(store: Store): Promise<PageJobLine[]> {
  const names = (await listJobs(store)).slice(0, MOST_JOBS);
  return Promise.all(
    names.map(async (name) => {
      const result = await store.get(keysOf(defaultChroot(name)).result);
      const end = result && parseJobEnd(result.key, result.value);
      return { name, end: end && ('result' in end ? 'done' : 'failed') };
    }),
  );
}
