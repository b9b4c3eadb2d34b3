/**
 * The outbox combines the frames of all units that a pserver leads into batches for one peer. Each batch contains:
 * - all begins;
 * - the stages of the oldest unsent update, in all units;
 * - the commit positions that the peer does not know.
 *
 * Commit positions wait a little for a batch with other frames, which saves half of all batches. When they are due,
 * they are sent alone, because the next update may wait for the room that they free. Stages never wait here for room:
 * they have room, or need none.
 *
 * When a connection is lost, the outbox drops everything under way, and the machines begin again on the next
 * connection.
 */
import { assert } from '../../base/assert.ts';
import type { UnitOwner } from '../units/move-messages.ts';
import type { LinkName, ReplicaAnswer, ReplicaFrame } from './messages.ts';
import type { BatchAnswer, LinkFrame, PeerBatch, SharedPayload } from './peer-link.ts';
import type { PeerRoom } from './peer-room.ts';

type Stage<P> = Extract<ReplicaFrame<P>, { type: 'stage' }>;

interface StagedUpdate<P> {
  readonly payload: P;
  readonly isLate: boolean;
  /** Keyed by unit. */
  readonly stages: Map<number, LinkFrame<P> & { readonly frame: Stage<P> }>;
}

export interface SentBatch<P> {
  readonly connection: number;
  readonly batch: PeerBatch<P>;
}

interface InFlight<P> {
  readonly batch: PeerBatch<P>;
  /**
   * Units that were left after the batch was sent. Answers for them concern copies that no longer belong to this
   * primary.
   */
  readonly left: Set<number>;
}

/**
 * Event for the machine of the unit. If the answer is undefined, the event is `connected`, because the copy must be
 * begun again.
 */
export interface AnsweredFrame {
  readonly link: LinkName;
  readonly answer: ReplicaAnswer | undefined;
}

export class PeerOutbox<P extends SharedPayload> {
  readonly peer: UnitOwner;
  readonly room: PeerRoom;
  readonly #maxInFlight: number;
  #connection = 0;
  #isOpen = false;
  #begins = new Map<number, LinkFrame<P>>();
  /** Updates in the order of their payloads. */
  #updates: StagedUpdate<P>[] = [];
  #commits = new Map<number, LinkFrame<P>>();
  /**
   * The newest commit position of each unit. A stage that has waited here carries this position instead of its original
   * one.
   */
  readonly #committed = new Map<number, number>();
  /**
   * Units that were left, until the peer has answered a batch that names them. The next connection names them again.
   */
  readonly #left = new Set<number>();
  /** The newest epoch that was begun with the peer, by unit. */
  readonly #epochs = new Map<number, number>();
  #inFlight: InFlight<P>[] = [];

  constructor(peer: UnitOwner, room: PeerRoom, maxInFlight: number) {
    this.peer = peer;
    this.room = room;
    this.#maxInFlight = maxInFlight;
  }

  get connection(): number {
    return this.#connection;
  }

  /** Returns the number of the connection. */
  opened(windowBytes: number): number {
    this.closed();
    this.#isOpen = true;
    this.room.opened(windowBytes);
    this.#connection += 1;
    return this.#connection;
  }

  closed(): void {
    this.#isOpen = false;
    this.#begins.clear();
    this.#updates = [];
    this.#commits.clear();
    this.#inFlight = [];
  }

  /** Call this in the order of the effects. Without a connection, the frame is lost. */
  send(link: LinkName, frame: ReplicaFrame<P>): void {
    const { unit, epoch } = link;
    if (frame.type === 'begin') this.#epochs.set(unit, epoch);
    if (!this.#isOpen) return;
    this.#committed.set(unit, frame.committed);
    if (frame.type === 'begin') {
      // The machine sends earlier updates again, as far as the copy lacks them.
      this.#forget(unit);
      this.#begins.set(unit, { link, frame });
    } else if (frame.type === 'stage') this.#add(link, frame);
    else this.#commits.set(unit, { link, frame });
  }

  /** The peer's copy of the unit gets nothing more from this process, unless this process begins it again. */
  leave(unit: number): void {
    this.#forget(unit);
    this.#epochs.delete(unit);
    this.#left.add(unit);
    for (const { left } of this.#inFlight) left.add(unit);
    this.room.left(unit);
  }

  /** Commit positions wait to be sent. */
  get hasCommits(): boolean {
    return this.#commits.size > 0;
  }

  /**
   * Returns the batches to send now. Call this after all effects of the turn are here. `areCommitsDue`: commit
   * positions no longer wait for a batch with other frames.
   */
  batches(areCommitsDue: boolean): SentBatch<P>[] {
    const sent: SentBatch<P>[] = [];
    while (this.#isOpen && this.#inFlight.length < this.#maxInFlight) {
      const batch = this.#next(areCommitsDue);
      if (batch === undefined) break;
      this.#inFlight.push({ batch, left: new Set() });
      sent.push({ connection: this.#connection, batch });
    }
    return sent;
  }

  /** Returns undefined if the answers do not match the oldest batch. Then the caller must close the connection. */
  answered(connection: number, answers: BatchAnswer): AnsweredFrame[] | undefined {
    if (connection !== this.#connection || !this.#isOpen) return [];
    const first = this.#inFlight[0];
    if (first === undefined || first.batch.frames.length !== answers.length) return undefined;
    this.#inFlight.shift();
    for (const unit of reportedBy(first)) this.#left.delete(unit);
    return first.batch.frames.flatMap(({ link }, at) =>
      // An answer to a frame before a waiting begin says nothing about the state after the begin.
      first.left.has(link.unit) || this.#begins.has(link.unit) ? [] : [this.#answeredFrame(link, answers[at])],
    );
  }

  #answeredFrame(link: LinkName, answer: ReplicaAnswer | undefined): AnsweredFrame {
    const isNewest = this.#epochs.get(link.unit) === link.epoch;
    if (isNewest && answer?.type === 'staged') this.room.answered(link.unit, answer.committed);
    return { link, answer };
  }

  #forget(unit: number): void {
    this.#begins.delete(unit);
    this.#commits.delete(unit);
    for (const { stages } of this.#updates) stages.delete(unit);
    this.#updates = this.#updates.filter(({ stages }) => stages.size > 0);
  }

  #add(link: LinkName, frame: Stage<P>): void {
    const { payload, name } = frame.update;
    const isLate = !this.room.has(link.unit, name);
    let update = this.#updates.findLast((one) => one.payload === payload && one.isLate === isLate);
    if (update === undefined) {
      update = { payload, isLate, stages: new Map() };
      // Units start at different times. So one unit may lack an update that is older than an update waiting for another
      // unit.
      const at = this.#updates.findLastIndex((one) => one.payload.order <= payload.order);
      this.#updates.splice(at + 1, 0, update);
    }
    assert(!update.stages.has(link.unit), 'an update is placed once in each unit');
    update.stages.set(link.unit, { link, frame });
  }

  #next(areCommitsDue: boolean): PeerBatch<P> | undefined {
    const reported = new Set(this.#inFlight.flatMap(reportedBy));
    const left = [...this.#left].filter((unit) => !reported.has(unit));
    const frames: LinkFrame<P>[] = [...this.#begins.values()];
    const [update] = this.#updates;
    const stages = update === undefined ? [] : this.#takeOthers(update.stages);
    if (update?.stages.size === 0) this.#updates.shift();
    for (const [unit, { link, frame }] of stages) {
      this.#commits.delete(unit);
      frames.push({ link, frame: { ...frame, committed: this.#committed.get(unit)! } });
    }
    if (frames.length === 0 && left.length === 0 && !areCommitsDue) return undefined;
    frames.push(...this.#takeOthers(this.#commits).map(([, commit]) => commit));
    if (frames.length === 0 && left.length === 0) return undefined;
    this.#begins.clear();
    const { order, isLate } = stages.length === 0 ? NOTHING_STAGED : { ...update!, order: update!.payload.order };
    return { left, frames, order, isLate };
  }

  /** Takes the frames of units that the batch does not begin. The other frames go into the next batch. */
  #takeOthers<T>(from: Map<number, T>): [unit: number, frame: T][] {
    const taken = [...from].filter(([unit]) => !this.#begins.has(unit));
    for (const [unit] of taken) from.delete(unit);
    return taken;
  }
}

const NOTHING_STAGED = { order: 0, isLate: false };

/**
 * The units that the batch names as left. If a unit was begun and left again since then, it must be named once more.
 */
const reportedBy = <P>({ batch, left }: InFlight<P>): number[] => batch.left.filter((unit) => !left.has(unit));
