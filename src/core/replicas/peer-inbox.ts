/**
 * What a pserver has received from one of the primaries that it backs up: what may come in, and which batches are
 * answered. A batch is answered when all its beginnings are, and in the order of the batches: a beginning may wait for
 * what the store shows here. An answer that comes when its connection was lost counts no more.
 */
import { assert } from '../../base/assert.ts';
import { BackupRoom, type BackupRoomOptions } from './backup-room.ts';
import { isSameLink, type LinkName, type ReplicaAnswer } from './messages.ts';
import { type BatchAnswer, type PeerBatch, roomOf, type SharedPayload } from './peer-link.ts';

interface OpenFrame {
  readonly link: LinkName;
  readonly isBegin: boolean;
  answer: ReplicaAnswer | undefined;
}

export class PeerInbox<P extends SharedPayload> {
  readonly room: BackupRoom<P>;
  #batches: OpenFrame[][] = [];

  constructor(room: BackupRoomOptions) {
    this.room = new BackupRoom(room);
  }

  /** Another connection, or the first one. What came before it is not answered. */
  opened(): void {
    this.#batches = [];
  }

  /**
   * To be told when all of it is here; whether its payload has room is asked before that (`BackupRoom.admits`, after
   * `left`). Gives false when it does not fit the room: the primary has failed, and nothing of the batch is to be used.
   * Otherwise each frame is to be submitted to the machine of its unit, and what the machines answer to `answered`.
   * Then `answers` says what goes back.
   */
  received({ left, frames, order, isLate }: PeerBatch<P>): boolean {
    for (const unit of left) this.room.left(unit);
    const staged = frames.flatMap(({ link, frame }) =>
      frame.type === 'stage' ? [{ unit: link.unit, payload: frame.update.payload }] : [],
    );
    const payload = staged[0]?.payload;
    if (payload !== undefined) {
      const units = staged.map(({ unit }) => unit);
      assert(
        staged.every((one) => one.payload === payload),
        'what is staged by one batch is one update',
      );
      const received = { order, bytes: roomOf(payload, units), isLate };
      if (!this.room.admits(received)) return false;
      this.room.take(payload, received, units);
    }
    this.#batches.push(frames.map(({ link, frame }) => ({ link, isBegin: frame.type === 'begin', answer: undefined })));
    return true;
  }

  /** Of a machine, whichever frame it is about. */
  answered(link: LinkName, answer: ReplicaAnswer): void {
    for (const frames of this.#batches) {
      const open = frames.find((frame) => frame.answer === undefined && isSameLink(frame.link, link));
      if (open === undefined) continue;
      open.answer = answer;
      return;
    }
  }

  /** There is no copy of the unit here: a frame of it has come, or the copy was freed just now. */
  hasNone(unit: number): void {
    this.room.keep(unit, []);
    for (const open of this.#batches.flat())
      if (open.link.unit === unit) open.answer ??= { type: 'refused', why: 'unfit' };
  }

  /** Of the batches that are answered now, in order. To be called when the frames that have come are submitted. */
  answers(): BatchAnswer[] {
    const answers: BatchAnswer[] = [];
    for (let batch = this.#batches[0]; batch !== undefined && isAnswered(batch); batch = this.#batches[0]) {
      answers.push(batch.map(({ answer }) => answer));
      this.#batches.shift();
    }
    return answers;
  }
}

const isAnswered = (batch: readonly OpenFrame[]): boolean =>
  batch.every(({ isBegin, answer }) => !isBegin || answer !== undefined);
