/**
 * Receives the batches of the primaries that this pserver backs up. Each primary has an inbox, and a list of the
 * requests that wait for answers. Only the newest connection of a primary gets answers.
 */
import { PaddletError } from '../../../base/errors.ts';
import type { BackupRoomOptions } from '../../../core/replicas/backup-room.ts';
import { keyOfOwner, type LinkName, type PlacedUpdate, type ReplicaAnswer } from '../../../core/replicas/messages.ts';
import { PeerInbox } from '../../../core/replicas/peer-inbox.ts';
import type { BatchAnswer, LinkFrame, PeerBatch } from '../../../core/replicas/peer-link.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import type { SharedUpdate } from '../update/shared-update.ts';

export interface InboxesOptions {
  readonly room: BackupRoomOptions;
  readonly hasCopy: (unit: number) => boolean;
  /** Passes a frame to the machine of its unit. The machine answers later, and then the caller calls `giveAnswers`. */
  readonly onFrame: (frame: LinkFrame<SharedUpdate>) => void;
}

interface Primary {
  readonly inbox: PeerInbox<SharedUpdate>;
  /** Session of the newest connection. Undefined after the primary has exceeded its window or lost its index. */
  session: Session | undefined;
  /** Answers to the batches on the newest connection, in order. */
  waiting: PromiseWithResolvers<BatchAnswer>[];
}

export class Inboxes {
  readonly #options: InboxesOptions;
  readonly #primaries = new Map<string, Primary>();

  constructor(options: InboxesOptions) {
    this.#options = options;
  }

  /** A connection has opened. Returns the window that the primary has here. */
  opened(primary: UnitOwner, session: Session): number {
    const { room } = this.#options;
    let from = this.#primaries.get(keyOfOwner(primary));
    if (from === undefined) {
      from = { inbox: new PeerInbox(room), session: undefined, waiting: [] };
      this.#primaries.set(keyOfOwner(primary), from);
    }
    refuse(from);
    from.inbox.opened();
    from.session = session;
    return room.windowBytes;
  }

  /** Throws `Overloaded` if the primary exceeds its window. The primary must then open another connection. */
  received(primary: UnitOwner, batch: PeerBatch<SharedUpdate>, session: Session): Promise<BatchAnswer> {
    const from = this.#primaries.get(keyOfOwner(primary));
    if (from === undefined || from.session !== session) throw otherConnection();
    const frames = from.inbox.received(batch);
    if (frames === undefined) {
      from.session = undefined;
      refuse(from);
      throw new PaddletError('Overloaded', `pserver ${primary.index} sent more than this pserver has room for`);
    }
    // The update has room now. It needs separate memory, because the request may end before the update is committed.
    for (const { frame } of frames) if (frame.type === 'stage') frame.update.payload.own();
    const answer = Promise.withResolvers<BatchAnswer>();
    from.waiting.push(answer);
    const ofCopies = frames.filter(({ link }) => this.#options.hasCopy(link.unit));
    for (const { link } of frames) if (!this.#options.hasCopy(link.unit)) from.inbox.hasNone(link.unit);
    for (const frame of ofCopies) this.#options.onFrame(frame);
    // The machines answer in the next turn, so only a batch without copies is answered now.
    if (ofCopies.length === 0) giveAnswers(from);
    return answer.promise;
  }

  /** A machine has answered. */
  answered(link: LinkName, answer: ReplicaAnswer): void {
    this.#primaries.get(keyOfOwner(link.primary))?.inbox.answered(link, answer);
  }

  /** The copy has exactly these updates staged. */
  keep(unit: number, staged: readonly PlacedUpdate<SharedUpdate>[]): void {
    for (const { inbox } of this.#primaries.values()) inbox.room.keep(unit, staged);
  }

  /** This pserver no longer has a copy of the unit. */
  hasNone(unit: number): void {
    for (const { inbox } of this.#primaries.values()) inbox.hasNone(unit);
  }

  /** Call this after the turn has carried out the effects of the frames. */
  giveAnswers(): void {
    for (const from of this.#primaries.values()) giveAnswers(from);
  }

  /** The process has lost its index. Its updates take room here until they are applied or dropped. */
  gone(primary: UnitOwner): void {
    const from = this.#primaries.get(keyOfOwner(primary));
    if (from === undefined) return;
    from.session = undefined;
    refuse(from);
    const { windowTakenBytes, lateTakenBytes } = from.inbox.room;
    if (windowTakenBytes + lateTakenBytes === 0) this.#primaries.delete(keyOfOwner(primary));
  }

  close(): void {
    for (const from of this.#primaries.values()) refuse(from);
    this.#primaries.clear();
  }
}

function giveAnswers({ inbox, waiting }: Primary): void {
  if (waiting.length === 0) return;
  for (const answer of inbox.answers()) waiting.shift()!.resolve(answer);
}

/** Rejects the waiting requests of a connection that was replaced, has failed, or ends. */
function refuse(from: Primary): void {
  for (const { promise, reject } of from.waiting) {
    promise.catch(() => {});
    reject(otherConnection());
  }
  from.waiting = [];
}

const otherConnection = (): PaddletError => new PaddletError('NotReady', 'another connection has replaced this one');
