/**
 * Carries a move to its target: messages as requests, in order, and what the target answers. Nothing is repeated here:
 * after each connection the source sends again what has not been answered. A target that takes no part in moves is
 * silent, and the source gives it up.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { jobFields } from '../../../cluster/client/job-fields.ts';
import { KeptConnection, type OpenConnection } from '../../../cluster/client/kept-connection.ts';
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

export const connectMove = (options: MoveConnectionOptions): MoveConnection => new TargetConnection(options);

class TargetConnection implements MoveConnection {
  readonly #options: MoveConnectionOptions;
  readonly #kept: KeptConnection<void>;

  constructor(options: MoveConnectionOptions) {
    this.#options = options;
    const { context, job, target, onConnected, onFatal } = options;
    this.#kept = new KeptConnection({
      ...{ context, address: target.address, peer: `pserver ${target.index}`, onFatal },
      open: async (channel) => {
        const header = { type: 'openMove' as const, ...job };
        (await channel.request({ header }, { timeoutMs: ANSWER_TIMEOUT_MS })).free();
      },
      onOpened: onConnected,
    });
  }

  send(message: MoveMessage<MovePayload>): void {
    const { current } = this.#kept;
    if (current !== undefined) this.#ask(current, message).catch(this.#options.onFatal);
  }

  close(): void {
    this.#kept.close();
  }

  async #ask(connection: OpenConnection, message: MoveMessage<MovePayload>): Promise<void> {
    for (const answer of await this.#answersTo(connection, message)) {
      if (!this.#kept.isClosed) this.#options.onAnswer(answer);
    }
  }

  async #answersTo(connection: OpenConnection, message: MoveMessage<MovePayload>): Promise<readonly MoveAnswer[]> {
    try {
      const answers = await connection.ask((channel) => this.#request(channel, message));
      connection.works();
      return answers;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      // Sending it again would not help.
      if (error.action === 'fatal') return [refusedFor(message, error)];
      connection.lose();
      return [];
    }
  }

  async #request(channel: Channel, message: MoveMessage<MovePayload>): Promise<readonly MoveAnswer[]> {
    const reply = await channel.request(encodeMove(this.#options.job, message), { timeoutMs: ANSWER_TIMEOUT_MS });
    reply.free();
    return decodeAnswers(reply.header.answers);
  }
}

function refusedFor(message: MoveMessage<MovePayload>, { code, message: why }: PaddletError): MoveAnswer {
  const name = message.type === 'frame' ? message.frame.name : message.name;
  return { type: 'refused', name, reason: `${code}: ${why}` };
}
