/**
 * What the primaries send here of which this pserver has copies: one inbox for each of them, and the requests that wait
 * for their answers. Only the newest connection of a primary is answered.
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
  /** To the machine of its unit. What that answers comes later, and then `giveAnswers` is called. */
  readonly onFrame: (frame: LinkFrame<SharedUpdate>) => void;
}

interface Primary {
  readonly inbox: PeerInbox<SharedUpdate>;
  /** Of the newest connection. */
  session: Session | undefined;
  /** The batches on it, in order. */
  waiting: PromiseWithResolvers<BatchAnswer>[];
}

export class Inboxes {
  readonly #options: InboxesOptions;
  readonly #primaries = new Map<string, Primary>();

  constructor(options: InboxesOptions) {
    this.#options = options;
  }

  /** A connection. Gives the window that the primary has here. */
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

  /** Throws `Overloaded` when the primary goes beyond its window: its connection is then of no use. */
  received(primary: UnitOwner, batch: PeerBatch<SharedUpdate>, session: Session): Promise<BatchAnswer> {
    const from = this.#primaries.get(keyOfOwner(primary));
    if (from === undefined || from.session !== session) throw otherConnection();
    const frames = from.inbox.received(batch);
    if (frames === undefined) {
      from.session = undefined;
      refuse(from);
      throw new PaddletError('Overloaded', `pserver ${primary.index} sent more than this pserver has room for`);
    }
    // There is room for it now, and the request may end before it is committed.
    for (const { frame } of frames) if (frame.type === 'stage') frame.update.payload.own();
    const answer = Promise.withResolvers<BatchAnswer>();
    from.waiting.push(answer);
    const ofCopies = frames.filter(({ link }) => this.#options.hasCopy(link.unit));
    for (const { link } of frames) if (!this.#options.hasCopy(link.unit)) from.inbox.hasNone(link.unit);
    for (const frame of ofCopies) this.#options.onFrame(frame);
    // The machines answer in their turn, which is yet to come.
    if (ofCopies.length === 0) giveAnswers(from);
    return answer.promise;
  }

  /** Of a machine. */
  answered(link: LinkName, answer: ReplicaAnswer): void {
    this.#primaries.get(keyOfOwner(link.primary))?.inbox.answered(link, answer);
  }

  /** The copy has these staged, and nothing else. */
  keep(unit: number, staged: readonly PlacedUpdate<SharedUpdate>[]): void {
    for (const { inbox } of this.#primaries.values()) inbox.room.keep(unit, staged);
  }

  /** There is no copy of the unit here any more. */
  hasNone(unit: number): void {
    for (const { inbox } of this.#primaries.values()) inbox.hasNone(unit);
  }

  /** To be called when what the frames have brought about is done. */
  giveAnswers(): void {
    for (const from of this.#primaries.values()) giveAnswers(from);
  }

  /** The process has lost its index. What its updates take here is counted until they are applied or dropped. */
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

/** What came on a connection before is not answered any more. */
function refuse(from: Primary): void {
  for (const { promise, reject } of from.waiting) {
    promise.catch(() => {});
    reject(otherConnection());
  }
  from.waiting = [];
}

const otherConnection = (): PaddletError => new PaddletError('NotReady', 'another connection has replaced this one');
