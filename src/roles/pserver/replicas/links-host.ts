/**
 * The links of a pserver as a primary, with their connections. Whatever is told or happens here is followed by a turn,
 * once the caller has returned: updates for which there is room are placed, and batches go out. So what the machines of
 * many units do at one go shares batches, and the units are never called from within a call of theirs.
 */
import { assert } from '../../../base/assert.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { ReplicaEffect } from '../../../core/replicas/events.ts';
import { keyOfOwner, type LinkName, type ReplicaAnswer } from '../../../core/replicas/messages.ts';
import type { BatchAnswer, SharedPayload } from '../../../core/replicas/peer-link.ts';
import { PeerLinks } from '../../../core/replicas/peer-links.ts';
import type { PlacedPart } from '../../../core/replicas/room-queue.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { WorkTimes } from '../metrics.ts';
import { PeerConnections, type PeerConnectionsOptions } from './peer-connections.ts';

/** The units that this pserver leads. What their machines do when they are told is to be given to `stepped`. */
export interface LinkedUnits {
  /** For all units that have this peer. */
  connected(peer: UnitOwner): void;
  /** For all units that have this peer. */
  heard(peer: UnitOwner): void;
  /** For the unit of the link. Undefined: its copy must be begun with again (`connected`). */
  answered(link: LinkName, answer: ReplicaAnswer | undefined): void;
}

/** To be called once, within the call that gives it, and before the machines of these units place the update. */
export type TakeRoom<P extends SharedPayload> = (payload: P, placed: readonly PlacedPart[]) => void;

export interface LinksHostOptions<P extends SharedPayload>
  extends Pick<PeerConnectionsOptions<P>, 'connect' | 'addressOf'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly units: LinkedUnits;
  /** After which a member that owes an answer is taken for failed. */
  readonly silenceMs: number;
  /** Batches that were sent to a peer and are not answered. */
  readonly mostUnderWay: number;
  /** A bug. */
  readonly onFatal: (error: unknown) => void;
}

/** Each answer of a peer concerns all its units. They are told of one in this part of `silenceMs`. */
const HEARD_PART = 16;
/** How long commit positions wait for an update to ride on. What a peer has staged takes memory until then. */
export const COMMITS_WAIT_MS = 20;

export class LinksHost<P extends SharedPayload> {
  readonly #options: LinksHostOptions<P>;
  readonly #links: PeerLinks<P>;
  readonly #connections: PeerConnections<P>;
  /** When its units were last told that the peer has been heard on its connection. */
  readonly #heardMs = new Map<string, number>();
  /** Those who wait for room. */
  readonly #asked = new Map<number, (takeRoom: TakeRoom<P>) => void>();
  #asks = 0;
  /** Whose room may be taken now. */
  #offered: number | undefined;
  /** A turn is to come, or is under way. */
  #isTurnDue = false;
  #arePeersOther = false;
  #areCommitsDue = false;
  #cancelCommits: Cancel | undefined;
  #isClosed = false;

  constructor(options: LinksHostOptions<P>) {
    this.#options = options;
    this.#links = new PeerLinks(options.mostUnderWay);
    this.#connections = new PeerConnections({
      ...options,
      onOpened: (peer, windowBytes) => this.#opened(peer, windowBytes),
      onAnswer: (...answered) => options.times.during('copies', () => this.#answered(...answered)),
      onClosed: (peer, connection) => {
        this.#heardMs.delete(keyOfOwner(peer));
        this.#links.closed(peer, connection);
      },
    });
  }

  /** The machine of a unit has taken a step: its effects, and the peers that it has now. */
  stepped(unit: number, effects: readonly ReplicaEffect<P>[], peers: readonly UnitOwner[]): void {
    this.#links.effects(unit, effects);
    if (this.#links.setPeers(unit, peers)) this.#arePeersOther = true;
    this.#takeTurn();
  }

  /**
   * To place an update of that size in these units. `onRoom` is called when there is room at all their peers; room that
   * it does not take is free again. The function that is given back ends the wait.
   */
  ask(bytesByUnit: SharedPayload['bytesByUnit'], onRoom: (takeRoom: TakeRoom<P>) => void): () => void {
    this.#asks += 1;
    const id = this.#asks;
    this.#asked.set(id, onRoom);
    this.#links.queue.ask(id, bytesByUnit);
    this.#takeTurn();
    return () => {
      if (!this.#asked.delete(id)) return;
      this.#links.queue.cancel(id);
      this.#takeTurn();
    };
  }

  /** Bytes that are taken at the peer. */
  takenAt(peer: UnitOwner): number {
    return this.#links.takenAt(peer);
  }

  /** Any process that has lost its index. The machines of its units are told, too; `addressOf` has it no more. */
  gone(peer: UnitOwner): void {
    this.#connections.close(peer);
    this.#links.gone(peer);
    this.#takeTurn();
  }

  /** Peers may have an address now. */
  lookAgain(): void {
    this.#arePeersOther = true;
    this.#takeTurn();
  }

  /** Nothing is sent or called any more. */
  close(): void {
    this.#isClosed = true;
    this.#asked.clear();
    this.#cancelCommits?.();
    this.#connections.closeAll();
  }

  #takeTurn(): void {
    if (this.#isTurnDue || this.#isClosed) return;
    this.#isTurnDue = true;
    queueMicrotask(() => {
      try {
        this.#options.times.during('copies', () => this.#turn());
      } catch (error) {
        this.#options.onFatal(error);
      }
      this.#isTurnDue = false;
    });
  }

  #turn(): void {
    const { queue } = this.#links;
    for (let granted = queue.grant(); granted.length > 0; granted = queue.grant())
      for (const id of granted) this.#offerRoom(id);
    if (this.#isClosed) return;
    for (const batch of this.#links.batches(this.#areCommitsDue)) this.#connections.send(batch);
    this.#areCommitsDue = false;
    if (this.#links.haveCommits) this.#planCommits();
    if (!this.#arePeersOther) return;
    this.#arePeersOther = false;
    // A peer that is not needed any more was told so just now.
    this.#connections.keep(queue.peers());
  }

  /** Those that come to wait before they are due go with the others: who waits less than that does no harm. */
  #planCommits(): void {
    this.#cancelCommits ??= this.#options.clock.after(COMMITS_WAIT_MS, () => {
      this.#cancelCommits = undefined;
      this.#areCommitsDue = true;
      this.#takeTurn();
    });
  }

  #offerRoom(id: number): void {
    const onRoom = this.#asked.get(id);
    // Its wait was ended when another one was called.
    if (onRoom === undefined) return;
    this.#asked.delete(id);
    const { queue } = this.#links;
    this.#offered = id;
    onRoom((payload, placed) => {
      assert(this.#offered === id, 'room is taken once, and at once');
      this.#offered = undefined;
      queue.place(id, payload, placed);
    });
    if (this.#offered === id) queue.cancel(id);
    this.#offered = undefined;
  }

  #opened(peer: UnitOwner, windowBytes: number): number {
    const connection = this.#links.opened(peer, windowBytes);
    this.#options.units.connected(peer);
    this.#takeTurn();
    return connection;
  }

  #answered(peer: UnitOwner, connection: number, answer: BatchAnswer): boolean {
    const { log, units } = this.#options;
    const frames = this.#links.answered(peer, connection, answer);
    if (frames === undefined) {
      log.warn(`pserver ${peer.index} does not answer about its copies: reconnecting`);
      return false;
    }
    this.#heard(peer);
    for (const frame of frames) if (!this.#isClosed) units.answered(frame.link, frame.answer);
    this.#takeTurn();
    return true;
  }

  #heard(peer: UnitOwner): void {
    const { clock, units, silenceMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const toldMs = this.#heardMs.get(keyOfOwner(peer));
    if (toldMs !== undefined && nowMs - toldMs < silenceMs / HEARD_PART) return;
    this.#heardMs.set(keyOfOwner(peer), nowMs);
    units.heard(peer);
  }
}
