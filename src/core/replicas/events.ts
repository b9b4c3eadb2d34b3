/** Events that a copy of a unit handles, and effects that it returns (replica.ts). */
import type { UnitOwner } from '../units/move-messages.ts';
import type { LinkName, PlacedUpdate, ReplicaAnswer, ReplicaFrame, UpdateName } from './messages.ts';
import type { UpdateLogState } from './update-log.ts';

/** The fields of a unit's head that the copies use in their decisions. */
export interface UnitHead {
  readonly epoch: number;
  readonly primary: UnitOwner;
  /** The in-sync set, with the primary. Each member has every update that is committed or may have been committed. */
  readonly inSync: readonly UnitOwner[];
}

/**
 * A transaction on the head of a unit. It changes the head only if all of these are true:
 * - the head still has the epoch `from`;
 * - this process and all processes in `alive` still have their indexes;
 * - the processes in `gone` have lost their indexes.
 */
export interface HeadProposal {
  readonly kind: 'add' | 'remove' | 'handOver' | 'promote';
  readonly from: number;
  readonly head: UnitHead;
  readonly alive: readonly UnitOwner[];
  readonly gone: readonly UnitOwner[];
}

/** `failed`: the store answered that the transaction changed nothing. `head` is the head that the transaction read. */
export type Outcome =
  | { readonly outcome: 'succeeded' }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly head: UnitHead };

export type ReplicaEvent<P> =
  /** An update from outside; submit it only while `admits('update')` is true. The update gets the next position. */
  | { readonly type: 'place'; readonly payload: P }
  | { readonly type: 'frame'; readonly link: LinkName; readonly frame: ReplicaFrame<P> }
  | { readonly type: 'answer'; readonly link: LinkName; readonly answer: ReplicaAnswer }
  /** A connection to the copy has opened: the first one, or a later one. */
  | { readonly type: 'connected'; readonly to: UnitOwner }
  /** The copy's process has answered for any unit, so it is not silent. */
  | { readonly type: 'heard'; readonly from: UnitOwner }
  /**
   * The head, and whether its primary has its index, both at one revision of the store. Submitted when either changes.
   */
  | { readonly type: 'seen'; readonly head: UnitHead; readonly isPrimaryAlive: boolean }
  /** The process has lost its index, or the planner removes its copy. The primary removes it from the head. */
  | { readonly type: 'gone'; readonly owner: UnitOwner }
  /** The outcome of the proposal to change the head of epoch `from`. */
  | ({ readonly type: 'decided'; readonly from: number } & Outcome)
  /**
   * The process has a copy of the unit with exactly the updates committed now. Submit this only while this copy leads.
   */
  | { readonly type: 'join'; readonly joiner: UnitOwner }
  /** Ends the join of a copy that no head names yet. */
  | { readonly type: 'giveUp'; readonly joiner: UnitOwner }
  /** Hands the unit over to this in-sync member. Ignored if that is not possible now. */
  | { readonly type: 'handOver'; readonly to: UnitOwner }
  | { readonly type: 'tick' }
  /** This process was suspended until now. The time does not count as silence of the other processes. */
  | { readonly type: 'resumed' };

export type ReplicaEffect<P> =
  /**
   * Sent in the order of the effects, and lost without a connection. After `connected`, the machine sends again what
   * the peer lacks.
   */
  | { readonly type: 'send'; readonly link: LinkName; readonly frame: ReplicaFrame<P> }
  | { readonly type: 'answer'; readonly link: LinkName; readonly answer: ReplicaAnswer }
  /** Apply the updates in the order of the effects. Then their trainers may be answered. */
  | { readonly type: 'commit'; readonly update: PlacedUpdate<P> }
  /** These updates will never be applied. Their trainers get `ReplicaFailed`. */
  | { readonly type: 'drop'; readonly names: readonly UpdateName[] }
  /**
   * Send the transaction and submit `decided`. After an unknown outcome, the machine proposes it again: wait before
   * sending it.
   */
  | { readonly type: 'propose'; readonly proposal: HeadProposal }
  /** Read the head and submit `seen`. */
  | { readonly type: 'look' }
  /** This copy leads the unit and answers its requests. */
  | { readonly type: 'serve'; readonly epoch: number }
  /** Another copy leads the unit, or may lead it. Requests that wait must be judged again. */
  | { readonly type: 'stepDown' }
  /** The head no longer names this copy, or will never name it. Free the copy. */
  | { readonly type: 'discard' }
  /** The copy was not taken into the head. */
  | { readonly type: 'joinFailed'; readonly joiner: UnitOwner };

export interface ReplicaOptions {
  readonly unit: number;
  readonly me: UnitOwner;
  /** If a member owes an answer for this time, the primary removes it from the head. */
  readonly silenceMs: number;
  /** Smallest size of the in-sync set, with the primary, at which updates are placed. */
  readonly minInSync: number;
}

/** Another copy, as the primary sees it. */
export interface PeerState {
  readonly owner: UnitOwner;
  /** The peer has answered in this epoch, on this connection. */
  readonly isBegun: boolean;
  /** Position up to which the peer certainly has every update. */
  readonly acknowledged: number;
  /** Position up to which every update was sent to the peer. */
  readonly sent: number;
  /** Position up to which the peer has certainly applied every update. */
  readonly committed: number;
  /** The newest commit position that was sent to the peer. */
  readonly reported: number;
  /** Time since which the peer owes an answer; undefined if it owes none. */
  readonly owesSinceMs: number | undefined;
  /**
   * The peer must leave the head: it lost its index, was silent for too long, refused to follow, or the planner removes
   * its copy.
   */
  readonly isGone: boolean;
}

export interface PrimaryState {
  readonly head: UnitHead;
  readonly peers: readonly PeerState[];
  /** A former primary placed updates up to this position. Until all of them are committed, the unit answers nothing. */
  readonly inherited: number;
  readonly proposal: HeadProposal | undefined;
  /** The member that gets the unit as soon as no update is under way. */
  readonly handOverTo: UnitOwner | undefined;
  readonly isServing: boolean;
}

/** The primary that made a copy, and its epoch at that time. */
export interface CopyMaker {
  readonly epoch: number;
  readonly primary: UnitOwner;
}

export interface BackupState {
  /** The epoch whose primary this copy follows. */
  readonly epoch: number;
  /** Defined until a head names the copy: the primary that made it. */
  readonly madeBy: CopyMaker | undefined;
  readonly proposal: HeadProposal | undefined;
}

/** The first frame of an epoch whose head the store has not shown here yet. */
export interface EarlyBegin<P> {
  readonly link: LinkName;
  readonly frame: ReplicaFrame<P>;
}

/** State of a machine as plain data. A machine created from it continues where this machine is. */
export interface ReplicaState<P> {
  readonly log: UpdateLogState<P>;
  /** The newest head that this copy has seen in the store, or has made. */
  readonly head: UnitHead | undefined;
  readonly isPrimaryAlive: boolean;
  readonly early: EarlyBegin<P> | undefined;
  readonly role:
    | ({ readonly is: 'primary' } & PrimaryState)
    | ({ readonly is: 'backup' } & BackupState)
    | { readonly is: 'none' };
}
