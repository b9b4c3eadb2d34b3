/** The events, effects and state of the source of a move (move-source.ts). */
import type { MoveAnswer, MoveMessage, MoveName, UnitOwner } from './move-messages.ts';
import type { MoveWindowState } from './move-window.ts';

export interface SourceOptions {
  readonly name: MoveName;
  /** Shards of the unit, ascending. */
  readonly shards: readonly number[];
  /** For a copy: the committed position of the unit when the move starts. */
  readonly position?: number;
  /** Most bytes in flight to the target. If more bytes of updates wait for the window, their answers wait, too. */
  readonly windowBytes: number;
  /** The source gives up a target that sends nothing new for this long. */
  readonly silenceMs: number;
  /** Longest time that updates wait for the target to confirm the seal. */
  readonly handOverMs: number;
}

export type SourcePhase =
  /** The target has not answered yet. */
  | 'offering'
  /** The source sends shards and updates to the target. */
  | 'copying'
  /** The target must confirm that its copy is complete. If the unit is to be handed over, updates wait. */
  | 'sealing'
  /** The store decides about the change of the head. The source answers no request for the unit. */
  | 'deciding'
  /** The target has the backup copy. The replicas decide whether the head will name it. */
  | 'copied'
  /** This pserver leads the unit as before; the target must discard its copy. */
  | 'abandoning'
  /** Ended: this pserver leads the unit as before. */
  | 'kept'
  /** Ended: the target leads the unit. */
  | 'moved'
  /** Ended: the head decides whether the target keeps its backup copy. */
  | 'released';

/** Plain data. A machine that is created from it continues where this machine is. */
export interface SourceState<P> {
  phase: SourcePhase;
  /** Number of copied shards, in the order of the options. */
  captured: number;
  /** Whether the machine has requested the next shard (`capture`). */
  isCapturing: boolean;
  /** The number of the frame after the last piece. */
  copiedAt: number;
  /** For `lead`: number of updates since the move started. For `copy`: the committed position of the unit. */
  position: number;
  isCaughtUpReported: boolean;
  isHandOverDue: boolean;
  isUnconfirmedReported: boolean;
  isTargetGone: boolean;
  /** When the target last sent something new, or when the source started to wait for an answer. */
  heardMs: number;
  sealingMs: number;
  /** Tickets of updates whose answers wait. */
  held: readonly number[];
  window: MoveWindowState<P>;
}

/** A transaction that changes the head if all of its conditions hold, and otherwise changes nothing. */
export interface HandOver {
  readonly unit: number;
  /** Condition: the head still has this epoch. During a hand-over, this pserver does not change the head otherwise. */
  readonly from: number;
  readonly epoch: number;
  readonly primary: UnitOwner;
  /** Condition: the ownership keys of these indexes have these tokens. */
  readonly alive: readonly UnitOwner[];
}

export interface Piece<P> {
  readonly payload: P;
  readonly byteLength: number;
}

export type Decision =
  | { readonly outcome: 'succeeded' }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly primary: UnitOwner };

export type SourceEvent<P> =
  /** A connection to the target was opened. The machine sends all unanswered messages on it. */
  | { readonly type: 'connected' }
  | { readonly type: 'answer'; readonly answer: MoveAnswer }
  /** All pieces of the shard as it is now, with all updates that were applied to it. At least one piece. */
  | { readonly type: 'captured'; readonly shard: number; readonly pieces: readonly Piece<P>[] }
  /**
   * An update was just applied to the unit. The shell submits this before anything else happens to the unit. The
   * machine returns `ticket` with `acknowledge` when the update may be answered.
   */
  | { readonly type: 'applied'; readonly payload: P; readonly byteLength: number; readonly ticket: number }
  /** Allowed after `caughtUp`. No save is running, and none starts before the next `abandoned` or `moved`. */
  | { readonly type: 'handOver' }
  /**
   * For a copy, after `caughtUp`: the copy ends at the position that is committed now. In the same step, the machine of
   * the unit's replicas gets `join`. Ignored if the move was already abandoned.
   */
  | { readonly type: 'seal'; readonly position: number }
  /** No head names the sealed copy, and no proposed transaction will change that (core/replicas). */
  | { readonly type: 'joinFailed' }
  /** The head names the copy, or this pserver no longer leads the unit. */
  | { readonly type: 'release' }
  /**
   * The outcome of the proposed transaction. `failed`: the store answered that it changed nothing; `primary` is from
   * the head that the same transaction read.
   */
  | ({ readonly type: 'decided' } & Decision)
  /** The store shows that the target's token no longer exists. */
  | { readonly type: 'targetGone' }
  /**
   * The unit stays here, or the head needs no further copy, for example because the job stops or the plan has changed.
   * Ignored once the change is proposed or the copy is confirmed.
   */
  | { readonly type: 'abandon'; readonly reason: string }
  | { readonly type: 'tick' }
  /** This process was suspended until now. The machine does not count that time as silence of the target. */
  | { readonly type: 'resumed' };

export type SourceEffect<P> =
  /** Send in the order of the effects. Without a connection, drop the message: `connected` repeats what is needed. */
  | { readonly type: 'send'; readonly message: MoveMessage<P> }
  /** Copy the shard as it is at one instant, and submit `captured` at that instant. */
  | { readonly type: 'capture'; readonly shard: number }
  /** The update with this ticket may be answered. */
  | { readonly type: 'acknowledge'; readonly ticket: number }
  /** The target has all shards, so `handOver` or `seal` may be submitted. At most once. */
  | { readonly type: 'caughtUp' }
  /**
   * Send this transaction and submit `decided`. After an unknown outcome, the machine proposes it again: wait a moment
   * before sending it.
   */
  | { readonly type: 'propose'; readonly handOver: HandOver }
  /** The target has the backup copy, exactly as it was at `seal`. */
  | { readonly type: 'copied' }
  /**
   * The target does not confirm a sealed copy, or `abandon` came after `seal`: the replicas must end the join. Then
   * submit `joinFailed`, or `release` if the head already names the copy. At most once.
   */
  | { readonly type: 'unconfirmed'; readonly reason: string }
  /** This pserver continues to lead the unit: check waiting requests again. */
  | { readonly type: 'abandoned'; readonly reason: string }
  /** The target leads the unit: drop the unit, and refuse waiting requests, whose clients then go to the target. */
  | { readonly type: 'moved' };
