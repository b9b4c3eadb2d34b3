/**
 * All links of a pserver as a primary. For each process with copies of its units, it keeps an outbox and a window. It
 * also keeps the updates that wait for room. The caller passes in the effects of the units' machines (replica.ts), and
 * gets the batches to send.
 *
 * In each turn, the caller does the following in this order:
 * - call `ask`, or report events of the connections;
 * - pass the machines' effects to `effects`, and the peers of each unit that took a step to `setPeers`;
 * - call `grant`, and place the granted updates in the same turn;
 * - call `batches`.
 */
import type { UnitOwner } from '../units/move-messages.ts';
import type { ReplicaEffect } from './events.ts';
import { isIn, keyOfOwner } from './messages.ts';
import type { BatchAnswer, SharedPayload } from './peer-link.ts';
import { type AnsweredFrame, PeerOutbox, type SentBatch } from './peer-outbox.ts';
import { PeerRoom } from './peer-room.ts';
import { RoomQueue } from './room-queue.ts';

export interface AddressedBatch<P> extends SentBatch<P> {
  readonly peer: UnitOwner;
}

export class PeerLinks<P extends SharedPayload> {
  readonly #maxInFlight: number;
  readonly #outboxes = new Map<string, PeerOutbox<P>>();
  #gone: UnitOwner[] = [];
  /** Updates that wait for room. `setPeers` keeps the peers of the queue current. */
  readonly queue: RoomQueue;

  /** `maxInFlight`: maximum number of unanswered batches at each peer. */
  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
    this.queue = new RoomQueue((peer) => this.#outboxTo(peer).room);
  }

  /** Bytes that are taken at the peer. */
  takenAt(peer: UnitOwner): number {
    return this.#outboxes.get(keyOfOwner(peer))?.room.takenBytes ?? 0;
  }

  /** Returns the number of the connection. Then the caller submits `connected` to the machines of all units. */
  opened(peer: UnitOwner, windowBytes: number): number {
    return this.#outboxTo(peer).opened(windowBytes);
  }

  closed(peer: UnitOwner, connection: number): void {
    const outbox = this.#outboxes.get(keyOfOwner(peer));
    if (outbox?.connection === connection) outbox.closed();
  }

  /**
   * The process of the peer has lost its index. The caller also informs the units that still have the peer, and they
   * remove it from their heads.
   */
  gone(peer: UnitOwner): void {
    if (!isIn(this.#gone, peer)) this.#gone.push(peer);
    this.#outboxes.get(keyOfOwner(peer))?.closed();
    this.#removeGone();
  }

  /** Effects of the machine of a unit, in order. Call this before `setPeers` for the same step. */
  effects(unit: number, effects: readonly ReplicaEffect<P>[]): void {
    for (const effect of effects) {
      if (effect.type === 'send') this.#outboxTo(effect.link.member).send(effect.link, effect.frame);
      else if (effect.type === 'drop')
        for (const peer of this.queue.peersOf(unit)) this.#outboxTo(peer).room.dropped(unit, effect.names);
    }
  }

  /**
   * Sets the processes to which the unit's machine sends from now on (`Replica.peers`). Returns whether they have
   * changed.
   */
  setPeers(unit: number, peers: readonly UnitOwner[]): boolean {
    const left = this.queue.setPeers(unit, peers);
    if (left === undefined) return false;
    for (const peer of left) this.#outboxTo(peer).leave(unit);
    if (left.length > 0) this.#removeGone();
    return true;
  }

  /** Commit positions wait to be sent, and become due after a while. */
  get haveCommits(): boolean {
    for (const outbox of this.#outboxes.values()) if (outbox.hasCommits) return true;
    return false;
  }

  /** If an update waits for room, commit positions are due at once, because they may free room. */
  batches(areCommitsDue: boolean): AddressedBatch<P>[] {
    const areCommitsIncluded = areCommitsDue || this.queue.waiting > 0;
    return [...this.#outboxes.values()].flatMap((outbox) =>
      outbox.batches(areCommitsIncluded).map((sent) => ({ peer: outbox.peer, ...sent })),
    );
  }

  /**
   * Returns the answers for the machines. The caller also submits `heard` to all units of the peer. Undefined: the peer
   * has failed, and the caller must close the connection.
   */
  answered(peer: UnitOwner, connection: number, answers: BatchAnswer): AnsweredFrame[] | undefined {
    const outbox = this.#outboxes.get(keyOfOwner(peer));
    return outbox === undefined ? [] : outbox.answered(connection, answers);
  }

  #removeGone(): void {
    this.#gone = this.#gone.filter((peer) => {
      const isNeeded = this.queue.isPeer(peer);
      if (!isNeeded) this.#outboxes.delete(keyOfOwner(peer));
      return isNeeded;
    });
  }

  #outboxTo(peer: UnitOwner): PeerOutbox<P> {
    const key = keyOfOwner(peer);
    let outbox = this.#outboxes.get(key);
    if (outbox === undefined) {
      outbox = new PeerOutbox(peer, new PeerRoom(), this.#maxInFlight);
      this.#outboxes.set(key, outbox);
    }
    return outbox;
  }
}
