/**
 * Carries batches to a pserver that has copies of units led here, and its answers back, in the order of the batches.
 * Whatever fails ends the connection, and another one is made: what was on its way is not repeated here, as the
 * machines of the units begin again on each connection.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { KeptConnection, type OpenConnection } from '../../../cluster/client/kept-connection.ts';
import type { ClusterContext } from '../../../cluster/context.ts';
import type { BatchAnswer, PeerBatch, SharedPayload } from '../../../core/replicas/peer-link.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { Channel, RequestOptions } from '../../../protocol/messages/channel.ts';

/** The requests of one pserver to one other. They reject with a `PaddletError` for what may happen in operation. */
export interface PeerProtocol<P extends SharedPayload> {
  /** The first request of each connection. Gives the window that this pserver has at the peer. */
  open(channel: Channel, options: RequestOptions): Promise<number>;
  send(channel: Channel, batch: PeerBatch<P>, options: RequestOptions): Promise<BatchAnswer>;
}

export interface PeerConnection<P extends SharedPayload> {
  /** In order. Lost while there is no connection. */
  send(batch: PeerBatch<P>): void;
  /** The peer has failed on this connection: it ends, and another one is made. */
  reconnect(): void;
  /** Nothing is sent or called any more. What was sent may still arrive. */
  close(): void;
}

export interface PeerEvents {
  /** There is a connection: the first, or another one. */
  readonly onOpened: (windowBytes: number) => void;
  /** To the oldest batch on the connection that is not answered. */
  readonly onAnswer: (answer: BatchAnswer) => void;
  /** It was lost: no batch that was sent on it is answered any more. */
  readonly onClosed: () => void;
}

export interface PeerConnectionOptions<P extends SharedPayload> extends PeerEvents {
  readonly context: Pick<ClusterContext, 'host' | 'network'>;
  readonly peer: UnitOwner & { readonly address: string };
  readonly protocol: PeerProtocol<P>;
  /** After which a member that owes an answer is taken for failed. */
  readonly silenceMs: number;
  /** A bug. */
  readonly onFatal: (error: unknown) => void;
}

/** With the time to connect. */
const OPEN_TIMEOUT_MS = 15_000;
/**
 * How many times `silenceMs` a batch may wait for its answer. It is not for a request to judge who is silent: a
 * beginning waits at a backup that cannot reach the store, and another connection would send everything again. The
 * machines of the units judge it, and a peer that no unit needs any more is left. So this bound is for a peer that has
 * lost a request while the heads cannot be changed.
 */
const ANSWER_SILENCES = 4;

export const connectPeer = <P extends SharedPayload>(options: PeerConnectionOptions<P>): PeerConnection<P> =>
  new BackupConnection(options);

interface Sent {
  answer: BatchAnswer | undefined;
}

interface Open {
  readonly connection: OpenConnection;
  /** Not answered, or behind one that is not. */
  readonly sent: Sent[];
}

class BackupConnection<P extends SharedPayload> implements PeerConnection<P> {
  readonly #options: PeerConnectionOptions<P>;
  readonly #kept: KeptConnection<number>;
  #open: Open | undefined;
  /** Why the last batch that failed was refused for good; logged once. */
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

  /** Requests may be answered in any order; the answers count in the order of the batches. */
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
