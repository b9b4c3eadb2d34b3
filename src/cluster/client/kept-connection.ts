/**
 * Keeps connected to one process: when the connection is lost it makes another one, with back-off. Nothing is repeated
 * here: after each connection its user sends again what matters.
 *
 * A connection counts once the process has answered its first request, which passes the checks of every other one. So a
 * process that listens at the address and takes no part in this job is one that is silent.
 */
import { backoffMs, jittered, pause } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { Channel } from '../../protocol/messages/channel.ts';
import type { ClusterContext } from '../context.ts';

export interface KeptConnectionOptions<T> {
  readonly context: Pick<ClusterContext, 'host' | 'network'>;
  readonly address: string;
  /** Name of the peer, for the log. */
  readonly peer: string;
  /** The first request of each connection. */
  readonly open: (channel: Channel) => Promise<T>;
  /** There is a connection: the first, or another one. */
  readonly onOpened: (connection: OpenConnection, opened: T) => void;
  /** It was lost, and not closed. */
  readonly onLost?: () => void;
  /** A bug. */
  readonly onFatal: (error: unknown) => void;
}

/** A connection on which the peer has answered. */
export interface OpenConnection {
  /** Rejects as `send` does. What that throws is logged when it is an expected error. */
  ask<T>(send: (channel: Channel) => Promise<T>): Promise<T>;
  /** What the peer has answered is of use. Until then each connection is one more failure in a row. */
  works(): void;
  /** Ends it, and another one is made. */
  lose(): void;
}

/** How long a closed one waits for what was sent to be answered. */
const CLOSE_TIMEOUT_MS = 1_000;

export class KeptConnection<T> {
  readonly #options: KeptConnectionOptions<T>;
  readonly #closed = new AbortController();
  /** The channel on which the peer has not answered yet. */
  #opening: Channel | undefined;
  #current: Current | undefined;
  /** Number of failures in a row. */
  #failures = 0;

  constructor(options: KeptConnectionOptions<T>) {
    this.#options = options;
    this.#keepConnected().catch(options.onFatal);
  }

  get current(): OpenConnection | undefined {
    return this.#current;
  }

  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** After it nothing is sent or called. What was sent before may still arrive. */
  close(): void {
    this.#closed.abort();
    this.#opening?.close();
    this.#current?.lose();
  }

  async #keepConnected(): Promise<void> {
    const { clock, random } = this.#options.context.host;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      // A channel would connect again by itself, and then send what was given to it before.
      const channel = this.#options.context.network.connect(this.#options.address);
      const answer = await this.#firstAnswer(channel);
      if (answer !== undefined) await this.#carry(channel, answer.opened);
      channel.close();
      await pause(clock, jittered(backoffMs(this.#failures++), random), signal);
    }
  }

  async #firstAnswer(channel: Channel): Promise<{ readonly opened: T } | undefined> {
    this.#opening = channel;
    try {
      const opened = await this.#options.open(channel);
      return this.isClosed ? undefined : { opened };
    } catch (error) {
      this.#log(error);
      return undefined;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Uses the connection until it is lost or closed. */
  async #carry(channel: Channel, opened: T): Promise<void> {
    const current = new Current(channel, {
      works: () => {
        this.#failures = 0;
      },
      failed: (error) => this.#log(error),
      lost: () => {
        if (this.#current !== current) return;
        this.#current = undefined;
        if (!this.isClosed) this.#options.onLost?.();
      },
    });
    this.#current = current;
    this.#options.onOpened(current, opened);
    await current.lost;
    if (this.isClosed) await this.#lastAnswers(current);
  }

  async #lastAnswers(current: Current): Promise<void> {
    const isOver = new AbortController();
    const late = pause(this.#options.context.host.clock, CLOSE_TIMEOUT_MS, isOver.signal);
    await Promise.race([current.allAnswered(), late]);
    isOver.abort();
  }

  /** Throws errors that are not expected. */
  #log(error: unknown): void {
    if (!isPaddletError(error)) throw error;
    const { context, peer, address } = this.#options;
    context.host.log.debug(`${peer} at ${address}: ${error.code}: ${error.message}`);
  }
}

interface CurrentEvents {
  readonly works: () => void;
  readonly failed: (error: unknown) => void;
  readonly lost: () => void;
}

class Current implements OpenConnection {
  readonly #channel: Channel;
  readonly #events: CurrentEvents;
  readonly #lost = Promise.withResolvers<void>();
  /** What is sent and not answered. */
  readonly #unanswered = new Set<Promise<unknown>>();

  constructor(channel: Channel, events: CurrentEvents) {
    this.#channel = channel;
    this.#events = events;
  }

  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  async ask<T>(send: (channel: Channel) => Promise<T>): Promise<T> {
    const answer = send(this.#channel);
    this.#unanswered.add(answer);
    try {
      return await answer;
    } catch (error) {
      this.#events.failed(error);
      throw error;
    } finally {
      this.#unanswered.delete(answer);
    }
  }

  works(): void {
    this.#events.works();
  }

  lose(): void {
    this.#events.lost();
    this.#lost.resolve();
  }

  async allAnswered(): Promise<void> {
    await Promise.allSettled(this.#unanswered);
  }
}
