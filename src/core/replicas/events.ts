/** What goes into a copy of a unit and what comes out (replica.ts). */
import type { UnitOwner } from '../units/move-messages.ts';
import type { LinkName, PlacedUpdate, ReplicaAnswer, ReplicaFrame, UpdateName } from './messages.ts';
import type { UpdateLogState } from './update-log.ts';

/** The head of the unit, as far as the copies decide by it. */
export interface UnitHead {
  readonly epoch: number;
  readonly primary: UnitOwner;
  /** With the primary. Each has everything that is committed, and everything that may have been. */
  readonly inSync: readonly UnitOwner[];
}

/**
 * One transaction. It does what it says when the head has the epoch `from` still, this process its index, the processes
 * in `alive` theirs, and that in `gone` has lost its index. Otherwise it does nothing.
 */
export interface HeadProposal {
  readonly kind: 'add' | 'remove' | 'handOver' | 'promote';
  readonly from: number;
  readonly head: UnitHead;
  readonly alive: readonly UnitOwner[];
  readonly gone: readonly UnitOwner[];
}

/** `failed`: the transaction was answered, and did nothing; `head` is what it read. */
export type Outcome =
  | { readonly outcome: 'succeeded' }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly head: UnitHead };

export type ReplicaEvent<P> =
  /** An update from outside. Only while `admits('update')`. The next position is its own. */
  | { readonly type: 'place'; readonly payload: P }
  | { readonly type: 'frame'; readonly link: LinkName; readonly frame: ReplicaFrame<P> }
  | { readonly type: 'answer'; readonly link: LinkName; readonly answer: ReplicaAnswer }
  /** A connection to the copy is open: the first one, or another one. */
  | { readonly type: 'connected'; readonly to: UnitOwner }
  /** The copy's process has answered something, for whichever unit: it is not silent. */
  | { readonly type: 'heard'; readonly from: UnitOwner }
  /** The head, and whether its primary has its index, both at one revision of the store. Comes when either changes. */
  | { readonly type: 'seen'; readonly head: UnitHead; readonly isPrimaryAlive: boolean }
  /** The process has lost its index. */
  | { readonly type: 'gone'; readonly owner: UnitOwner }
  /** What became of the proposal that was made of the head of that epoch. */
  | ({ readonly type: 'decided'; readonly from: number } & Outcome)
  /** The process has a copy of the unit with exactly what is committed at this moment. Only while this one leads. */
  | { readonly type: 'join'; readonly joiner: UnitOwner }
  /** Ends a join that has not come into the head. */
  | { readonly type: 'giveUp'; readonly joiner: UnitOwner }
  /** To be led by this in-sync member. Ignored where that is not possible now. */
  | { readonly type: 'handOver'; readonly to: UnitOwner }
  | { readonly type: 'tick' }
  /** This process was suspended until now: the time does not count as the others' silence. */
  | { readonly type: 'resumed' };

export type ReplicaEffect<P> =
  /** In the order of the effects. Lost when there is no connection: `connected` sends again what matters. */
  | { readonly type: 'send'; readonly link: LinkName; readonly frame: ReplicaFrame<P> }
  | { readonly type: 'answer'; readonly link: LinkName; readonly answer: ReplicaAnswer }
  /** Apply the update, in this order; then its trainer may be answered. */
  | { readonly type: 'commit'; readonly update: PlacedUpdate<P> }
  /** These updates will never be applied: their trainers get `ReplicaFailed`. */
  | { readonly type: 'drop'; readonly names: readonly UpdateName[] }
  /** Send the transaction and submit `decided`. After an unknown outcome it is proposed again: wait a moment first. */
  | { readonly type: 'propose'; readonly proposal: HeadProposal }
  /** Read the head and submit `seen`. */
  | { readonly type: 'look' }
  /** It leads the unit and answers for it. */
  | { readonly type: 'serve'; readonly epoch: number }
  /** Another one leads the unit, or may: requests that wait are judged again. */
  | { readonly type: 'stepDown' }
  /** It is in the head no more, or its copy is of no use: free it. */
  | { readonly type: 'discard' }
  /** The copy was not taken into the head. */
  | { readonly type: 'joinFailed'; readonly joiner: UnitOwner };

export interface ReplicaOptions {
  readonly unit: number;
  readonly me: UnitOwner;
  /** A member that has not answered for so long, with something to answer, is taken out of the head. */
  readonly silenceMs: number;
  /** With fewer copies in sync no update is placed. */
  readonly minInSync: number;
}

/** Another copy, as its primary sees it. */
export interface PeerState {
  readonly owner: UnitOwner;
  /** It has answered in this epoch, on this connection. */
  readonly isBegun: boolean;
  /** Up to which position it has everything, for certain. */
  readonly acknowledged: number;
  /** The position up to which it was sent everything. */
  readonly sent: number;
  /** Up to which position it has applied everything, for certain. */
  readonly committed: number;
  /** The committed position that was sent to it. */
  readonly told: number;
  /** Time since which it owes an answer. */
  readonly owesSinceMs: number | undefined;
  /** Its process has lost its index. */
  readonly isGone: boolean;
}

export interface PrimaryState {
  readonly head: UnitHead;
  readonly peers: readonly PeerState[];
  /** Up to here a former primary had placed updates: before all of them are committed, nothing is answered. */
  readonly inherited: number;
  readonly proposal: HeadProposal | undefined;
  /** To be handed over as soon as nothing is under way. */
  readonly handOverTo: UnitOwner | undefined;
  readonly isServing: boolean;
}

/** The primary that has made a copy, as it was then. */
export interface CopyMaker {
  readonly epoch: number;
  readonly primary: UnitOwner;
}

export interface BackupState {
  /** The epoch whose primary it follows. */
  readonly epoch: number;
  /** It was in no head yet: who has made it, and under which epoch. */
  readonly madeBy: CopyMaker | undefined;
  readonly proposal: HeadProposal | undefined;
}

/** The first frame of an epoch that the store has not shown here yet. */
export interface EarlyBegin<P> {
  readonly link: LinkName;
  readonly frame: ReplicaFrame<P>;
}

/** Plain data: a machine that is made from it continues where this one is. */
export interface ReplicaState<P> {
  readonly log: UpdateLogState<P>;
  /** The newest that was seen in the store, or made. */
  readonly head: UnitHead | undefined;
  readonly isPrimaryAlive: boolean;
  readonly early: EarlyBegin<P> | undefined;
  readonly role:
    | ({ readonly is: 'primary' } & PrimaryState)
    | ({ readonly is: 'backup' } & BackupState)
    | { readonly is: 'none' };
}
