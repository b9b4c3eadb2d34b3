/**
 * The links of a pserver as a primary, with their connections. Each call and each event is followed by a turn, after
 * the caller has returned. In the turn, updates that have room are placed, and batches are sent. So the work of many
 * units shares batches, and a unit is never called from within its own call.
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

/** The units that this pserver leads. The effects of their machines must be passed to `stepped`. */
export interface LinkedUnits {
  /** Submits the event to all units that have this peer. */
  connected(peer: UnitOwner): void;
  /** Submits the event to all units that have this peer. */
  heard(peer: UnitOwner): void;
  /** Submits the answer to the unit of the link. Undefined: the copy must be begun again (`connected`). */
  answered(link: LinkName, answer: ReplicaAnswer | undefined): void;
}

/** Call this once, within the call that passes it, and before the machines of these units place the update. */
export type TakeRoom<P extends SharedPayload> = (payload: P, placed: readonly PlacedPart[]) => void;

export interface LinksHostOptions<P extends SharedPayload>
  extends Pick<PeerConnectionsOptions<P>, 'connect' | 'addressOf'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly units: LinkedUnits;
  /** Time after which a member that owes an answer is treated as failed. */
  readonly silenceMs: number;
  /** Maximum number of unanswered batches at each peer. */
  readonly maxInFlight: number;
  /** Reports a bug. */
  readonly onFatal: (error: unknown) => void;
}

/** Each answer of a peer concerns all its units. They are informed at most this many times per `silenceMs`. */
const HEARD_PART = 16;
/**
 * How long commit positions wait for an update that carries them. Until then, staged updates take memory at the peer.
 */
export const COMMITS_WAIT_MS = 20;

export class LinksHost<P extends SharedPayload> {
  readonly #options: LinksHostOptions<P>;
  readonly #links: PeerLinks<P>;
  readonly #connections: PeerConnections<P>;
  /** Peer → time when its units were last informed that it has answered on its connection. */
  readonly #heardMs = new Map<string, number>();
  /** Callbacks of the updates that wait for room, by id. */
  readonly #asked = new Map<number, (takeRoom: TakeRoom<P>) => void>();
  #asks = 0;
  /** The update that may take its room now. */
  #offered: number | undefined;
  /** A turn is scheduled or running. */
  #isTurnDue = false;
  #havePeersChanged = false;
  #areCommitsDue = false;
  #cancelCommits: Cancel | undefined;
  #isClosed = false;

  constructor(options: LinksHostOptions<P>) {
    this.#options = options;
    this.#links = new PeerLinks(options.maxInFlight);
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

  /** The machine of a unit has taken a step, with these effects. `peers`: its peers after the step. */
  stepped(unit: number, effects: readonly ReplicaEffect<P>[], peers: readonly UnitOwner[]): void {
    this.#links.effects(unit, effects);
    if (this.#links.setPeers(unit, peers)) this.#havePeersChanged = true;
    this.#takeTurn();
  }

  /**
   * Asks for room for an update with parts of these sizes. `onRoom` is called when all peers of the units have room.
   * Room that `onRoom` does not take is free again. The returned function ends the wait.
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

  /**
   * A process has lost its index. The caller also informs the units' machines, and `addressOf` no longer knows the
   * process.
   */
  gone(peer: UnitOwner): void {
    this.#connections.close(peer);
    this.#links.gone(peer);
    this.#takeTurn();
  }

  /** Peers may have an address now. */
  addressesChanged(): void {
    this.#havePeersChanged = true;
    this.#takeTurn();
  }

  /** After this, nothing is sent or called. */
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
    if (!this.#havePeersChanged) return;
    this.#havePeersChanged = false;
    // The batches above have informed each peer that the next line disconnects.
    this.#connections.keep(queue.peers());
  }

  /** Commit positions that are added before the timer fires are sent, too: a shorter wait does no harm. */
  #planCommits(): void {
    this.#cancelCommits ??= this.#options.clock.after(COMMITS_WAIT_MS, () => {
      this.#cancelCommits = undefined;
      this.#areCommitsDue = true;
      this.#takeTurn();
    });
  }

  #offerRoom(id: number): void {
    const onRoom = this.#asked.get(id);
    // The callback of another update has ended this wait.
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
    const reportedMs = this.#heardMs.get(keyOfOwner(peer));
    if (reportedMs !== undefined && nowMs - reportedMs < silenceMs / HEARD_PART) return;
    this.#heardMs.set(keyOfOwner(peer), nowMs);
    units.heard(peer);
  }
}
