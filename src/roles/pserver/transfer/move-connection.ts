/**
 * Sends the messages of a move to its target as requests, in order, and passes on the answers. It never sends again a
 * message: after each reconnect, the source sends again the unanswered ones. If the target does not take part in moves,
 * it stays silent, and the source gives up the move.
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
  /** Sends messages in order. A message is lost if the target is not connected. */
  send(message: MoveMessage<MovePayload>): void;
  /** Stops sending and calling back. Messages that were already sent may still arrive. */
  close(): void;
}

export interface MoveConnectionOptions {
  readonly context: Pick<ClusterContext, 'host' | 'network'>;
  readonly job: ReturnType<typeof jobFields>;
  readonly target: UnitOwner & { readonly address: string };
  /** Called after the first connect and after each reconnect. */
  readonly onConnected: () => void;
  readonly onAnswer: (answer: MoveAnswer) => void;
  /** Called with errors that are bugs. */
  readonly onFatal: (error: unknown) => void;
}

/** Longest wait for an answer. For the first request, it includes the time to connect. */
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
      // A resend would fail again.
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
