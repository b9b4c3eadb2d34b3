/**
 * What a pserver has received from one of the primaries that it backs up: what may come in, and which batches are
 * answered. A batch is answered when all its beginnings are, and in the order of the batches: a beginning may wait for
 * what the store shows here. An answer that comes when its connection was lost counts no more.
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
  /** By unit, in the order of the frames: each unit is in a batch at most once. */
  #batches: Map<number, OpenFrame>[] = [];

  constructor(room: BackupRoomOptions) {
    this.room = new BackupRoom(room);
  }

  /** Another connection, or the first one. What came before it is not answered. */
  opened(): void {
    this.#batches = [];
  }

  /**
   * To be told when all of it is here; whether its payload has room is asked before that (`BackupRoom.admits`, after
   * `left`). Undefined when it does not fit the room: the primary has failed, and nothing of the batch is to be used.
   * Otherwise each frame that is given back is to be submitted to the machine of its unit, and what the machines answer
   * to `answered`. Then `answers` says what goes back.
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

  /** The same frame, or one with the payload that has its part here already. */
  #withHeldPart(sent: LinkFrame<P>, of: Pick<PeerBatch<P>, 'order' | 'isLate'>): LinkFrame<P> {
    const { link, frame } = sent;
    if (frame.type !== 'stage') return sent;
    const payload = this.room.holding(of, link.unit);
    return payload === undefined ? sent : { link, frame: { ...frame, update: { ...frame.update, payload } } };
  }

  /** A machine of replicas answers, whichever frame the answer is about. */
  answered(link: LinkName, answer: ReplicaAnswer): void {
    for (const frames of this.#batches) {
      const open = frames.get(link.unit);
      if (open === undefined || open.answer !== undefined || !isSameLink(open.link, link)) continue;
      open.answer = answer;
      return;
    }
  }

  /** There is no copy of the unit here: a frame of it has come, or the copy was freed just now. */
  hasNone(unit: number): void {
    this.room.keep(unit, []);
    for (const frames of this.#batches) {
      const open = frames.get(unit);
      if (open !== undefined) open.answer ??= { type: 'refused', why: 'unfit' };
    }
  }

  /**
   * Answers to the batches that are complete now, in order. To be called after the frames that have come are submitted.
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
