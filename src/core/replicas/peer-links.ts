/**
 * All links of a pserver as a primary: one outbox and one window for each process that has copies of its units, and
 * those that wait for room. It is told what the machines of the units want (replica.ts), and says which batches go out.
 *
 * In each turn: `ask` or events of the connections; then the machines' effects go to `effects`, and the peers of each
 * unit that took a step to `setPeers`; then `grant`, and what is granted is placed in the same turn; then `batches`.
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
  readonly #mostUnderWay: number;
  readonly #outboxes = new Map<string, PeerOutbox<P>>();
  #gone: UnitOwner[] = [];
  /** Who waits for room. Its peers are set here (`setPeers`). */
  readonly queue: RoomQueue;

  /** `mostUnderWay`: batches that were sent to a peer and are not answered. */
  constructor(mostUnderWay: number) {
    this.#mostUnderWay = mostUnderWay;
    this.queue = new RoomQueue((peer) => this.#outboxTo(peer).room);
  }

  /** Bytes that are taken at the peer. */
  takenAt(peer: UnitOwner): number {
    return this.#outboxes.get(keyOfOwner(peer))?.room.takenBytes ?? 0;
  }

  /** Returns the number of the connection; then the machines of all units get `connected`. */
  opened(peer: UnitOwner, windowBytes: number): number {
    return this.#outboxTo(peer).opened(windowBytes);
  }

  closed(peer: UnitOwner, connection: number): void {
    const outbox = this.#outboxes.get(keyOfOwner(peer));
    if (outbox?.connection === connection) outbox.closed();
  }

  /**
   * The process of the peer has lost its index. Units that still have it as a peer get notice, and take it out of their
   * heads.
   */
  gone(peer: UnitOwner): void {
    if (!isIn(this.#gone, peer)) this.#gone.push(peer);
    this.#outboxes.get(keyOfOwner(peer))?.closed();
    this.#removeGone();
  }

  /** Effects of the machine of a unit, in their order. To be called before `setPeers` for the same step. */
  effects(unit: number, effects: readonly ReplicaEffect<P>[]): void {
    for (const effect of effects) {
      if (effect.type === 'send') this.#outboxTo(effect.link.member).send(effect.link, effect.frame);
      else if (effect.type === 'drop')
        for (const peer of this.queue.peersOf(unit)) this.#outboxTo(peer).room.dropped(unit, effect.names);
    }
  }

  /** To which processes the unit's machine sends from now on (`Replica.peers`). Tells whether they are others. */
  setPeers(unit: number, peers: readonly UnitOwner[]): boolean {
    const left = this.queue.setPeers(unit, peers);
    if (left === undefined) return false;
    for (const peer of left) this.#outboxTo(peer).leave(unit);
    if (left.length > 0) this.#removeGone();
    return true;
  }

  /** Commit positions have not gone: after a while they are due. */
  get haveCommits(): boolean {
    for (const outbox of this.#outboxes.values()) if (outbox.hasCommits) return true;
    return false;
  }

  /** Commit positions are due at once where an update waits for room: they may free it. */
  batches(areCommitsDue: boolean): AddressedBatch<P>[] {
    const isNow = areCommitsDue || this.queue.waiting > 0;
    return [...this.#outboxes.values()].flatMap((outbox) =>
      outbox.batches(isNow).map((sent) => ({ peer: outbox.peer, ...sent })),
    );
  }

  /**
   * Events for the machines: `heard` for all units of the peer, and each unit's answer. Undefined: the peer has failed,
   * and the connection is to be closed.
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
      outbox = new PeerOutbox(peer, new PeerRoom(), this.#mostUnderWay);
      this.#outboxes.set(key, outbox);
    }
    return outbox;
  }
}
