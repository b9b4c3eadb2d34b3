/**
 * Tells all browsers that look at one job what there is to see. It looks only while there are any, once for all of
 * them.
 */
import { pause } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import type { PageData, PageMessage } from '../../page/page-data.ts';
import type { Viewer } from '../../protocol/messages/channel.ts';
import type { Looked } from './page-looks.ts';

const EVERY_MS = 2_000;
/** Between the first two looks: rates need two. */
const FIRST_EVERY_MS = 500;
/** The store, or processes that are suspended. */
const LOOK_WITHIN_MS = 6_000;
/** What the last look of all may take. */
const LAST_LOOK_MS = 1_000;

export interface FeedOptions {
  readonly host: Pick<Host, 'clock' | 'log'>;
  readonly look: () => Promise<Looked>;
  /** No browser shows the page now: drops what was kept for the next refresh. */
  readonly rest: () => void;
  /** What is known before the first look. */
  readonly empty: Pick<PageData, 'version' | 'servedBy' | 'jobs'>;
}

interface Shown extends Looked {
  /** Counts the changes of the curves. */
  readonly curvesNumber: number;
  readonly problem: string | undefined;
  readonly atMs: number;
}

export class PageFeed {
  readonly #options: FeedOptions;
  /** With the number of the curves that each has. */
  readonly #viewers = new Map<Viewer, number>();
  readonly #closing = new AbortController();
  #shown: Shown | undefined;
  #running: Promise<void> | undefined;
  /**
   * A look that takes longer than it may is not started a second time: what comes of it is shown with the next text.
   */
  #looking: Promise<Looked | string> | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  add(viewer: Viewer): void {
    this.#viewers.set(viewer, -1);
    viewer.onClosed(() => this.#viewers.delete(viewer));
    const { clock } = this.#options.host;
    const isFresh = this.#shown !== undefined && clock.monotonicMs() - this.#shown.atMs < EVERY_MS;
    if (isFresh) this.#tell(viewer, this.#shown!).catch((error: unknown) => this.#problemOf(error));
    this.#running ??= this.#run();
  }

  /** Shows once more what there is to see. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    // One that hangs is not waited for: this process is to end.
    if (this.#viewers.size > 0 && this.#looking === undefined) await this.#lookOnce(LAST_LOOK_MS);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options.host;
    let everyMs = FIRST_EVERY_MS;
    while (this.#viewers.size > 0 && !this.#closing.signal.aborted) {
      await this.#lookOnce(LOOK_WITHIN_MS);
      await pause(clock, everyMs, this.#closing.signal);
      everyMs = EVERY_MS;
    }
    this.#running = undefined;
    if (!this.#closing.signal.aborted) this.#options.rest();
  }

  async #lookOnce(withinMs: number): Promise<void> {
    try {
      const found = await this.#foundWithin(withinMs);
      // This process ends: the last look is not for saying that there was no time for it.
      if (this.#closing.signal.aborted && typeof found === 'string') return;
      const shown = typeof found === 'string' ? this.#failed(found) : this.#succeeded(found);
      this.#shown = shown;
      await Promise.all([...this.#viewers.keys()].map((viewer) => this.#tell(viewer, shown)));
    } catch (error) {
      this.#problemOf(error);
    }
  }

  /** Or why there is nothing. */
  async #foundWithin(withinMs: number): Promise<Looked | string> {
    const { clock } = this.#options.host;
    const { promise: limit, resolve } = Promise.withResolvers<undefined>();
    const end = (): void => resolve(undefined);
    const cancel = clock.after(withinMs, end);
    const { signal } = this.#closing;
    if (!signal.aborted) signal.addEventListener('abort', end, { once: true });
    this.#looking ??= this.#options.look().catch((error: unknown) => this.#problemOf(error));
    const found = await Promise.race([this.#looking, limit]);
    cancel();
    signal.removeEventListener('abort', end);
    if (found === undefined) return 'the store or a process of the job did not answer in time';
    this.#looking = undefined;
    return found;
  }

  /** A bug here must not end a master that trains: it is logged with its stack, and the page says so. */
  #problemOf(error: unknown): string {
    if (isPaddletError(error)) return error.message;
    this.#options.host.log.error('the page has a bug', { error });
    return 'this is a bug: see the stack in the log of the process that serves this page';
  }

  #succeeded({ data, curves }: Looked): Shown {
    const before = this.#shown;
    const curvesNumber = (before?.curvesNumber ?? 0) + (before?.curves === curves ? 0 : 1);
    return { data, curves, curvesNumber, problem: undefined, atMs: this.#options.host.clock.monotonicMs() };
  }

  #failed(problem: string): Shown {
    const { host, empty } = this.#options;
    const data = { ...empty, ...this.#shown?.data, time: this.#shown?.data.time ?? host.clock.wallSeconds() };
    const known = this.#shown ?? { curves: [], curvesNumber: 0 };
    return { ...known, data, problem, atMs: host.clock.monotonicMs() };
  }

  async #tell(viewer: Viewer, { data, curves, curvesNumber, problem }: Shown): Promise<void> {
    const isKnown = this.#viewers.get(viewer) === curvesNumber;
    const message: PageMessage = { type: 'data', data: { ...data, problem, ...(isKnown ? {} : { curves }) } };
    const isSent = await viewer.send(JSON.stringify(message));
    if (isSent && this.#viewers.has(viewer)) this.#viewers.set(viewer, curvesNumber);
  }
}
