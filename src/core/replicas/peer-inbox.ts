/**
 * A backup keeps here the batches that it has received from one primary. The inbox decides which batches have room and
 * when each batch is answered. Batches are answered in order, each when all its begins are answered. A begin may wait
 * until the store shows its epoch here. After a connection is lost, answers to its batches are discarded.
 */
import { assert } from '../../base/assert.ts';
import { BackupRoom, type BackupRoomOptions } from './backup-room.ts';
import { isSameLink, type LinkName, type ReplicaAnswer } from './messages.ts';
import { type BatchAnswer, type LinkFrame, type PeerBatch, roomOf, type SharedPayload } from './peer-link.ts';

interface OpenFrame {
  readonly link: LinkName;
  readonly isBegin: boolean;
  answer: ReplicaAnswer | undefined;
}

export class PeerInbox<P extends SharedPayload> {
  readonly room: BackupRoom<P>;
  /** The frames of each batch, by unit and in order. A batch contains each unit at most once. */
  #batches: Map<number, OpenFrame>[] = [];

  constructor(room: BackupRoomOptions) {
    this.room = new BackupRoom(room);
  }

  /** A connection has opened: the first one, or a later one. Earlier batches are not answered. */
  opened(): void {
    this.#batches = [];
  }

  /**
   * Call this when the whole batch has arrived. If the payload does not fit the room, the primary has failed: the
   * result is undefined, and no part of the batch may be used. Otherwise, submit each returned frame to the machine of
   * its unit, and pass the machines' answers to `answered`. Then `answers` returns the answers to send.
   */
  received({ left, frames, order, isLate }: PeerBatch<P>): readonly LinkFrame<P>[] | undefined {
    for (const unit of left) this.room.left(unit);
    const known = frames.map((frame) => this.#withHeldPart(frame, { order, isLate }));
    const fresh = known.filter((frame, at) => frame === frames[at]).flatMap(stagedBy);
    const payload = fresh[0]?.payload;
    if (payload !== undefined) {
      const units = fresh.map(({ unit }) => unit);
      assert(
        fresh.every((one) => one.payload === payload),
        'what is staged by one batch is one update',
      );
      const received = { order, bytes: roomOf(payload, units), isLate };
      if (!this.room.admits(received)) return undefined;
      this.room.take(payload, received, units);
    }
    known.forEach((frame, at) => {
      if (frame !== frames[at]) for (const one of stagedBy(frame)) this.room.takeAgain(one.payload, one.unit);
    });
    const open = new Map<number, OpenFrame>();
    for (const { link, frame } of frames)
      open.set(link.unit, { link, isBegin: frame.type === 'begin', answer: undefined });
    this.#batches.push(open);
    return known;
  }

  /** Returns the same frame, or a frame with the earlier payload that already contains its part. */
  #withHeldPart(sent: LinkFrame<P>, of: Pick<PeerBatch<P>, 'order' | 'isLate'>): LinkFrame<P> {
    const { link, frame } = sent;
    if (frame.type !== 'stage') return sent;
    const payload = this.room.holding(of, link.unit);
    return payload === undefined ? sent : { link, frame: { ...frame, update: { ...frame.update, payload } } };
  }

  /** A machine has answered. The answer is assigned to the oldest unanswered frame of the link. */
  answered(link: LinkName, answer: ReplicaAnswer): void {
    for (const frames of this.#batches) {
      const open = frames.get(link.unit);
      if (open === undefined || open.answer !== undefined || !isSameLink(open.link, link)) continue;
      open.answer = answer;
      return;
    }
  }

  /** This pserver has no copy of the unit: a frame for the unit has come, or the copy was just freed. */
  hasNone(unit: number): void {
    this.room.keep(unit, []);
    for (const frames of this.#batches) {
      const open = frames.get(unit);
      if (open !== undefined) open.answer ??= { type: 'refused', why: 'unfit' };
    }
  }

  /**
   * Returns the answers to the batches that are complete now, in order. Call this after submitting the received frames.
   */
  answers(): BatchAnswer[] {
    const answers: BatchAnswer[] = [];
    for (let batch = this.#batches[0]; batch !== undefined && isAnswered(batch); batch = this.#batches[0]) {
      answers.push(Array.from(batch.values(), ({ answer }) => answer));
      this.#batches.shift();
    }
    return answers;
  }
}

const stagedBy = <P>({ link, frame }: LinkFrame<P>): { unit: number; payload: P }[] =>
  frame.type === 'stage' ? [{ unit: link.unit, payload: frame.update.payload }] : [];

function isAnswered(batch: ReadonlyMap<number, OpenFrame>): boolean {
  for (const { isBegin, answer } of batch.values()) if (isBegin && answer === undefined) return false;
  return true;
}
