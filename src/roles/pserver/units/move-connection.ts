/**
 * Carries a move to its target: messages as requests, in order, and what the target answers. When the connection is
 * lost it makes another one, with back-off. Nothing is repeated here: after each connection the source sends again what
 * has not been answered.
 *
 * A connection counts once the target has answered on it, to a request that passes the checks of every other one. So a
 * process that listens at the address and takes no part in this job's moves is a silent target, which the source gives
 * up.
 */
import { backoffMs, jittered, pause } from '../../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { jobFields } from '../../../cluster/client/job-fields.ts';
import type { ClusterContext } from '../../../cluster/context.ts';
import type { MoveAnswer, MoveMessage, UnitOwner } from '../../../core/units/move-messages.ts';
import type { Channel } from '../../../protocol/messages/channel.ts';
import { decodeAnswers, encodeMove } from './move-codec.ts';
import type { MovePayload } from './outgoing-move.ts';

export interface MoveConnection {
  /** In order. Lost while there is no connection. */
  send(message: MoveMessage<MovePayload>): void;
  /** Nothing is sent or called any more. What was sent may still arrive. */
  close(): void;
}

export interface MoveConnectionOptions {
  readonly context: Pick<ClusterContext, 'host' | 'network'>;
  readonly job: ReturnType<typeof jobFields>;
  readonly target: UnitOwner & { readonly address: string };
  /** There is a connection: the first, or another one. */
  readonly onConnected: () => void;
  readonly onAnswer: (answer: MoveAnswer) => void;
  /** A bug. */
  readonly onFatal: (error: unknown) => void;
}

/** With the time to connect, for the first request. */
const ANSWER_TIMEOUT_MS = 15_000;
/** How long a closed one waits for what was sent to be answered. */
const CLOSE_TIMEOUT_MS = 1_000;

export const connectMove = (options: MoveConnectionOptions): MoveConnection => new TargetConnection(options);

/** On which the target has answered. */
interface OpenConnection {
  readonly channel: Channel;
  readonly lost: PromiseWithResolvers<void>;
}

class TargetConnection implements MoveConnection {
  readonly #options: MoveConnectionOptions;
  readonly #closed = new AbortController();
  /** Messages that are sent and not answered. */
  readonly #unanswered = new Set<Promise<void>>();
  /** That the target has not answered on yet. */
  #opening: Channel | undefined;
  #open: OpenConnection | undefined;
  /** In a row, without an answer to a message between them. */
  #failures = 0;

  constructor(options: MoveConnectionOptions) {
    this.#options = options;
    this.#keepConnected().catch(options.onFatal);
  }

  send(message: MoveMessage<MovePayload>): void {
    if (this.#open === undefined) return;
    const answered = this.#ask(this.#open, message)
      .catch(this.#options.onFatal)
      .finally(() => this.#unanswered.delete(answered));
    this.#unanswered.add(answered);
  }

  close(): void {
    this.#closed.abort();
    this.#opening?.close();
    if (this.#open !== undefined) this.#lose(this.#open);
  }

  async #keepConnected(): Promise<void> {
    const { clock, random } = this.#options.context.host;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      // A channel would connect again by itself, and then send what was given to it before.
      const channel = this.#options.context.network.connect(this.#options.target.address);
      if (await this.#isAnswered(channel)) await this.#carry({ channel, lost: Promise.withResolvers() });
      channel.close();
      await pause(clock, jittered(backoffMs(this.#failures++), random), signal);
    }
  }

  async #isAnswered(channel: Channel): Promise<boolean> {
    this.#opening = channel;
    try {
      const header = { type: 'openMove' as const, ...this.#options.job };
      (await channel.request({ header }, { timeoutMs: ANSWER_TIMEOUT_MS })).free();
      return !this.#closed.signal.aborted;
    } catch (error) {
      this.#log(error);
      return false;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Until it is lost or closed. */
  async #carry(open: OpenConnection): Promise<void> {
    this.#open = open;
    this.#options.onConnected();
    await open.lost.promise;
    if (this.#closed.signal.aborted) await this.#lastAnswers();
  }

  #lose(open: OpenConnection): void {
    if (this.#open === open) this.#open = undefined;
    open.lost.resolve();
  }

  async #ask(open: OpenConnection, message: MoveMessage<MovePayload>): Promise<void> {
    for (const answer of await this.#answersTo(open, message)) {
      if (!this.#closed.signal.aborted) this.#options.onAnswer(answer);
    }
  }

  async #answersTo(open: OpenConnection, message: MoveMessage<MovePayload>): Promise<readonly MoveAnswer[]> {
    try {
      const request = encodeMove(this.#options.job, message);
      const reply = await open.channel.request(request, { timeoutMs: ANSWER_TIMEOUT_MS });
      this.#failures = 0;
      reply.free();
      return decodeAnswers(reply.header.answers);
    } catch (error) {
      const expected = this.#log(error);
      // Sending it again would not help.
      if (expected.action === 'fatal') return [refusedFor(message, expected)];
      this.#lose(open);
      return [];
    }
  }

  async #lastAnswers(): Promise<void> {
    const isOver = new AbortController();
    const late = pause(this.#options.context.host.clock, CLOSE_TIMEOUT_MS, isOver.signal);
    await Promise.race([Promise.all(this.#unanswered), late]);
    isOver.abort();
  }

  /** Throws what is no expected error. */
  #log(error: unknown): PaddletError {
    if (!isPaddletError(error)) throw error;
    const { context, target } = this.#options;
    context.host.log.debug(`pserver ${target.index} at ${target.address}: ${error.code}: ${error.message}`);
    return error;
  }
}

function refusedFor(message: MoveMessage<MovePayload>, { code, message: why }: PaddletError): MoveAnswer {
  const name = message.type === 'frame' ? message.frame.name : message.name;
  return { type: 'refused', name, reason: `${code}: ${why}` };
}
