/**
 * One watch on one stream of its own. It resumes after lost connections from the revision after the last one delivered,
 * never from what a new connection's greeting says, which would skip what happened in between.
 */
import type { IResponseHeader, IWatchResponse } from 'etcd3';
import { backoffMs } from '../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { compacted } from '../failures.ts';
import type { WatchHandlers } from '../store.ts';
import { callError, EtcdCallError } from './call-error.ts';
import { bytes, eventsByRevision, rangeEnd } from './codec.ts';
import type { EtcdRpc } from './rpc.ts';
import { CALL_LIMIT_MS } from './time-limits.ts';

export interface EtcdWatchOptions {
  readonly rpc: EtcdRpc;
  readonly clock: Clock;
  readonly log: Log;
  readonly prefix: string;
  readonly fromRevision: bigint;
  readonly handlers: WatchHandlers;
  /** Throws when the answer is not of the store that was opened. */
  readonly checkHeader: (header: IResponseHeader) => void;
  /** Asks the cluster as a whole whether it still has `revision`; throws `StoreReplaced` when it has not. */
  readonly checkRevision: (revision: bigint) => Promise<void>;
  /** The watch has ended by itself. */
  readonly onEnded: () => void;
}

export class EtcdWatch {
  readonly #options: EtcdWatchOptions;
  #next: bigint;
  #failures = 0;
  #isEnded = false;
  /** Releases the stream, or the wait for the next one. */
  #release: Cancel = () => {};

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    this.#next = options.fromRevision;
    void this.#connect();
  }

  cancel(): void {
    this.#isEnded = true;
    this.#release();
  }

  /** Ends the watch with an error that no new connection can fix. */
  end(error: Error): void {
    if (this.#isEnded) return;
    this.cancel();
    this.#options.onEnded();
    this.#options.handlers.onEnd(error);
  }

  async #connect(): Promise<void> {
    const { rpc, clock, prefix } = this.#options;
    let opened: Awaited<ReturnType<EtcdRpc['watch']>>;
    try {
      opened = await rpc.watch();
    } catch (error) {
      if (!(error instanceof EtcdCallError)) throw error;
      return this.#retry(error);
    }
    const { stream, fail } = opened;
    let isCurrent = true;
    const release = (): void => {
      isCurrent = false;
      cancelGreeting();
      stream.cancel();
    };
    const lose = (why: Error, isRefused = false): void => {
      if (!isCurrent) return;
      release();
      fail(isRefused);
      this.#retry(why);
    };
    const cancelGreeting = clock.after(CALL_LIMIT_MS, () => lose(new Error('no answer to the watch request')));
    // Even after the release: the cancelled stream reports an error, which would be thrown without a listener.
    stream.on('error', (error) => lose(error, callError(error).isTokenRefused));
    stream.on('end', () => lose(new Error('the stream ended')));
    stream.on('data', (response) => {
      if (!isCurrent) return;
      if (response.created) cancelGreeting();
      this.#take(response, lose);
    });
    if (this.#isEnded) return release();
    this.#release = release;
    stream.write({
      create_request: {
        key: bytes(prefix),
        range_end: rangeEnd(prefix),
        start_revision: this.#next.toString(),
        progress_notify: true,
      },
    });
  }

  #take(response: IWatchResponse, lose: (why: Error, isRefused?: boolean) => void): void {
    try {
      this.#options.checkHeader(response.header);
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      this.end(error);
      return;
    }
    const compactRevision = BigInt(response.compact_revision);
    if (compactRevision > 0n) this.end(compacted(this.#next, compactRevision));
    else if (response.canceled) lose(new Error(response.cancel_reason || 'cancelled by the server'), true);
    else if (response.created) this.#greeted(BigInt(response.header.revision));
    else this.#deliver(response);
  }

  #deliver(response: IWatchResponse): void {
    for (const [revision, events] of eventsByRevision(response)) {
      if (this.#isEnded) return;
      this.#next = revision + 1n;
      this.#options.handlers.onEvents(events, revision);
    }
    // A progress report: everything up to its revision has been sent.
    const revision = BigInt(response.header.revision);
    if (response.events.length === 0 && revision >= this.#next) this.#next = revision + 1n;
  }

  /**
   * A store that was wiped greets a watch from a revision that it has not reached, and then stays silent. A member that
   * lags does so too: so the cluster is asked.
   */
  #greeted(revision: bigint): void {
    this.#failures = 0;
    const seen = this.#next - 1n;
    if (revision >= seen) return;
    this.#options.checkRevision(seen).catch((error: unknown) => {
      if (isPaddletError(error, 'StoreReplaced')) this.end(error as PaddletError);
      else if (!isPaddletError(error)) throw error;
      // Unreachable: the stream breaks as well, and its successor asks again.
    });
  }

  #retry(why: Error): void {
    if (this.#isEnded) return;
    const { clock, log, prefix } = this.#options;
    log.debug('watch lost its connection', { prefix, error: why.message });
    this.#release = clock.after(backoffMs(this.#failures++), () => void this.#connect());
  }
}
