/**
 * Carries batches to a pserver that has copies of units led here, and returns its answers in the order of the batches.
 * Any failure ends the connection, and another one is made. Batches under way are not repeated here, because the
 * machines of the units begin again on each connection.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { KeptConnection, type OpenConnection } from '../../../cluster/client/kept-connection.ts';
import type { ClusterContext } from '../../../cluster/context.ts';
import type { BatchAnswer, PeerBatch, SharedPayload } from '../../../core/replicas/peer-link.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { Channel, RequestOptions } from '../../../protocol/messages/channel.ts';

/**
 * Requests from one pserver to another. They reject with a `PaddletError` for failures that may happen in operation.
 */
export interface PeerProtocol<P extends SharedPayload> {
  /** The first request of each connection. Returns the window that this pserver has at the peer. */
  open(channel: Channel, options: RequestOptions): Promise<number>;
  send(channel: Channel, batch: PeerBatch<P>, options: RequestOptions): Promise<BatchAnswer>;
}

export interface PeerConnection<P extends SharedPayload> {
  /** Batches are sent in order. Without a connection, a batch is lost. */
  send(batch: PeerBatch<P>): void;
  /** The peer has failed on this connection. The connection ends, and another one is made. */
  reconnect(): void;
  /** After this, nothing is sent or called. Batches that were sent may still arrive. */
  close(): void;
}

export interface PeerEvents {
  /** A connection has opened: the first one, or a later one. */
  readonly onOpened: (windowBytes: number) => void;
  /** The peer has answered the oldest unanswered batch on the connection. */
  readonly onAnswer: (answer: BatchAnswer) => void;
  /** The connection was lost. Batches that were sent on it get no answers. */
  readonly onClosed: () => void;
}

export interface PeerConnectionOptions<P extends SharedPayload> extends PeerEvents {
  readonly context: Pick<ClusterContext, 'host' | 'network'>;
  readonly peer: UnitOwner & { readonly address: string };
  readonly protocol: PeerProtocol<P>;
  /** Time after which a member that owes an answer is treated as failed. */
  readonly silenceMs: number;
  /** Reports a bug. */
  readonly onFatal: (error: unknown) => void;
}

/** Limit of the first request, including the time to connect. */
const OPEN_TIMEOUT_MS = 15_000;
/**
 * How many times `silenceMs` a batch may wait for its answer. The machines of the units, not this limit, detect a
 * silent peer. A begin may wait at a backup that cannot reach the store, and another connection would send everything
 * again. A peer that no unit needs is disconnected. So this limit is for a peer that has lost a request while the heads
 * cannot change.
 */
const ANSWER_SILENCES = 4;

export const connectPeer = <P extends SharedPayload>(options: PeerConnectionOptions<P>): PeerConnection<P> =>
  new BackupConnection(options);

interface Sent {
  answer: BatchAnswer | undefined;
}

interface Open {
  readonly connection: OpenConnection;
  /** Batches that are unanswered, or behind an unanswered one. */
  readonly sent: Sent[];
}

class BackupConnection<P extends SharedPayload> implements PeerConnection<P> {
  readonly #options: PeerConnectionOptions<P>;
  readonly #kept: KeptConnection<number>;
  #open: Open | undefined;
  /** The last permanent refusal, which is logged only once. Empty after an answer. */
  #refusal = '';

  constructor(options: PeerConnectionOptions<P>) {
    this.#options = options;
    const { context, peer, protocol, onFatal } = options;
    this.#kept = new KeptConnection({
      ...{ context, address: peer.address, peer: `pserver ${peer.index}`, onFatal },
      open: (channel) => protocol.open(channel, { timeoutMs: OPEN_TIMEOUT_MS }),
      onOpened: (connection, windowBytes) => {
        this.#open = { connection, sent: [] };
        options.onOpened(windowBytes);
      },
      onLost: () => {
        this.#open = undefined;
        options.onClosed();
      },
    });
  }

  send(batch: PeerBatch<P>): void {
    if (this.#open === undefined) return;
    const sent: Sent = { answer: undefined };
    this.#open.sent.push(sent);
    this.#carry(this.#open, batch, sent).catch(this.#options.onFatal);
  }

  reconnect(): void {
    this.#open?.connection.lose();
  }

  close(): void {
    this.#open = undefined;
    this.#kept.close();
  }

  async #carry(open: Open, batch: PeerBatch<P>, sent: Sent): Promise<void> {
    const { protocol, silenceMs } = this.#options;
    const timeoutMs = ANSWER_SILENCES * silenceMs;
    try {
      sent.answer = await open.connection.ask((channel) => protocol.send(channel, batch, { timeoutMs }));
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      if (this.#open === open) this.#failed(open, error);
      return;
    }
    this.#giveAnswers(open);
  }

  #failed({ connection }: Open, error: PaddletError): void {
    const { context, peer } = this.#options;
    const refusal = `pserver ${peer.index} at ${peer.address} refuses updates: ${error.code}: ${error.message}`;
    if (error.action === 'fatal' && refusal !== this.#refusal) {
      this.#refusal = refusal;
      context.host.log.warn(refusal);
    }
    connection.lose();
  }

  /** The peer may answer requests in any order. The answers are passed on in the order of the batches. */
  #giveAnswers(open: Open): void {
    const { connection, sent } = open;
    for (let answer = sent[0]?.answer; this.#open === open && answer !== undefined; answer = sent[0]?.answer) {
      sent.shift();
      this.#options.onAnswer(answer);
      if (this.#open !== open) return;
      connection.works();
      this.#refusal = '';
    }
  }
}
