/**
 * The connections of a pserver to the pservers that have copies of its units. Each peer with a known address has one.
 */
import { assert } from '../../../base/assert.ts';
import { isIn, keyOfOwner } from '../../../core/replicas/messages.ts';
import type { BatchAnswer, SharedPayload } from '../../../core/replicas/peer-link.ts';
import type { AddressedBatch } from '../../../core/replicas/peer-links.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { PeerConnection, PeerEvents } from './peer-connection.ts';

export interface ConnectPeerOptions extends PeerEvents {
  readonly peer: UnitOwner & { readonly address: string };
}

/** Connects, and reconnects until it is closed. Its events come after this call has returned. */
export type ConnectPeer<P extends SharedPayload> = (options: ConnectPeerOptions) => PeerConnection<P>;

export interface PeerConnectionsOptions<P extends SharedPayload> {
  readonly connect: ConnectPeer<P>;
  /** Returns undefined if the peer has lost its index, or has not been seen yet. */
  readonly addressOf: (peer: UnitOwner) => string | undefined;
  /** Returns the number of the connection. */
  readonly onOpened: (peer: UnitOwner, windowBytes: number) => number;
  /** Returns false if the peer has failed. Then its connection is replaced. */
  readonly onAnswer: (peer: UnitOwner, connection: number, answer: BatchAnswer) => boolean;
  readonly onClosed: (peer: UnitOwner, connection: number) => void;
}

interface Kept<P extends SharedPayload> {
  readonly peer: UnitOwner;
  readonly connection: PeerConnection<P>;
  /** Number of the open connection. */
  number: number | undefined;
}

export class PeerConnections<P extends SharedPayload> {
  readonly #options: PeerConnectionsOptions<P>;
  /** Keyed by peer. */
  readonly #kept = new Map<string, Kept<P>>();

  constructor(options: PeerConnectionsOptions<P>) {
    this.#options = options;
  }

  /** Connects to these peers, and closes the connections to all others. */
  keep(peers: readonly UnitOwner[]): void {
    for (const { peer } of [...this.#kept.values()]) if (!isIn(peers, peer)) this.close(peer);
    for (const peer of peers) {
      const address = this.#options.addressOf(peer);
      if (address !== undefined && !this.#kept.has(keyOfOwner(peer))) this.#connect(peer, address);
    }
  }

  send({ peer, connection, batch }: AddressedBatch<P>): void {
    const kept = this.#kept.get(keyOfOwner(peer));
    assert(kept?.number === connection, 'batches go out on the connection that is open');
    kept.connection.send(batch);
  }

  close(peer: UnitOwner): void {
    const kept = this.#kept.get(keyOfOwner(peer));
    if (kept === undefined) return;
    this.#kept.delete(keyOfOwner(peer));
    this.#closed(kept);
    kept.connection.close();
  }

  closeAll(): void {
    for (const { peer } of [...this.#kept.values()]) this.close(peer);
  }

  #connect(peer: UnitOwner, address: string): void {
    const { connect, onOpened, onAnswer } = this.#options;
    const kept: Kept<P> = {
      peer,
      number: undefined,
      connection: connect({
        peer: { ...peer, address },
        onOpened: (windowBytes) => {
          kept.number = onOpened(peer, windowBytes);
        },
        onAnswer: (answer) => {
          if (!onAnswer(peer, kept.number!, answer)) kept.connection.reconnect();
        },
        onClosed: () => this.#closed(kept),
      }),
    };
    this.#kept.set(keyOfOwner(peer), kept);
  }

  #closed(kept: Kept<P>): void {
    const { number } = kept;
    kept.number = undefined;
    if (number !== undefined) this.#options.onClosed(kept.peer, number);
  }
}
