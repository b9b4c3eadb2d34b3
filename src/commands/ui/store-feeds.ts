/** Feeds for the page of the jobs of one store, each while browsers look at its job. */
import type { Host } from '../../base/seams.ts';
import { lastHolder } from '../../host/folder-lock.ts';
import { jobName } from '../../job/fields.ts';
import type { Viewer } from '../../protocol/messages/channel.ts';
import { defaultChroot, keysOf } from '../../store/keys.ts';
import { listJobs } from '../../store/list-jobs.ts';
import type { Store } from '../../store/store.ts';
import { jobNetwork } from '../base/job-network.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import { PageFeed } from '../page/page-feed.ts';
import { type Looked, PageLooks, readJobLines } from '../page/page-looks.ts';
import { VERSION } from '../version.ts';

export interface StoreFeedsOptions {
  readonly host: Host;
  readonly store: Store;
  /** Folder beside an embedded store in which runs keep their files. */
  readonly folder: string | undefined;
  /** Chroot of the job that is shown if a browser does not name one. */
  readonly chroot: string | undefined;
}

const NO_CURVES: Looked['curves'] = [];
const SERVED = { version: VERSION, servedBy: 'ui' } as const;

interface Open {
  readonly feed: PageFeed;
  readonly looks: JobInSight;
}

export class StoreFeeds {
  readonly #options: StoreFeedsOptions;
  /** By the name of the job; '' where none is named. */
  readonly #open = new Map<string, Open>();

  constructor(options: StoreFeedsOptions) {
    this.#options = options;
  }

  /** `job` as a browser names it: one that cannot be a job's name is as none. */
  add(job: string | undefined, viewer: Viewer): void {
    const name = jobName.safeParse(job).success ? job! : '';
    let known: Open | undefined = this.#open.get(name);
    if (known === undefined) {
      const looks = new JobInSight(this.#options, name === '' ? this.#options.chroot : defaultChroot(name));
      const feed = new PageFeed({
        ...this.#options,
        empty: { ...SERVED, jobs: [] },
        look: () => looks.look(),
        // Another browser may have come since.
        rest: () => feed.viewers === 0 && this.#forget(name, known!),
      });
      known = { feed, looks };
      this.#open.set(name, known);
    }
    known.feed.add(viewer);
  }

  #forget(name: string, { looks }: Open): void {
    this.#open.delete(name);
    looks.rest();
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(({ feed }) => feed.close()));
    for (const { looks } of all) looks.rest();
  }
}

/** A job that is known by its prefix, or is the only one of the store; else the list of all jobs. */
class JobInSight {
  readonly #options: StoreFeedsOptions;
  #chroot: string | undefined;
  #looks: PageLooks | undefined;

  constructor(options: StoreFeedsOptions, chroot: string | undefined) {
    this.#options = options;
    this.#chroot = chroot;
  }

  async look(): Promise<Looked> {
    const { host, store, folder } = this.#options;
    if (this.#chroot === undefined) {
      const names = await listJobs(store, { most: 2 });
      if (names.length === 1) this.#chroot = defaultChroot(names[0]!);
    }
    if (this.#chroot === undefined) {
      const data = { ...SERVED, time: host.clock.wallSeconds(), jobs: await readJobLines(store) };
      return { data, curves: NO_CURVES };
    }
    const keys = keysOf(this.#chroot);
    const isRunHere = folder !== undefined && defaultChroot(lastHolder(folder)?.job ?? '') === this.#chroot;
    this.#looks ??= new PageLooks({
      ...{ host, store, keys, servedBy: 'ui', folder: isRunHere ? folder : undefined },
      network: jobNetwork({ ...host, log: QUIET_LOG }, store, keys),
    });
    return this.#looks.look();
  }

  rest(): void {
    this.#looks?.rest();
  }
}
