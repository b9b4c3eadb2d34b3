/** What goes into the source of a move and what comes out (move-source.ts). */
import type { MoveAnswer, MoveMessage, MoveName, UnitOwner } from './move-messages.ts';
import type { MoveWindowState } from './move-window.ts';

export interface SourceOptions {
  readonly name: MoveName;
  /** Shards of the unit, ascending. */
  readonly shards: readonly number[];
  /** For a copy: the committed position of the unit when the move starts. */
  readonly position?: number;
  /** Bytes that may be under way to the target, and bytes of updates that may wait before answers to them do. */
  readonly windowBytes: number;
  /** A target from which nothing new comes for so long is given up. */
  readonly silenceMs: number;
  /** The longest that updates wait for the seal. */
  readonly handOverMs: number;
}

export type SourcePhase =
  /** The target has not answered yet. */
  | 'offering'
  /** Shards and updates go to the target. */
  | 'copying'
  /** The target is to confirm that it has everything. When the unit is to be handed over, updates wait. */
  | 'sealing'
  /** The change of the head is under way. Nothing of the unit is answered. */
  | 'deciding'
  /** The target has the copy. The replicas decide whether it comes into the head. */
  | 'copied'
  /** This pserver leads the unit as before; the target is to let go of its copy. */
  | 'abandoning'
  /** Ended: this pserver leads the unit as before. */
  | 'kept'
  /** Ended: the target leads the unit. */
  | 'moved'
  /** Ended: the target keeps its copy or not by what the store says. */
  | 'released';

/** Plain data: a machine that is made from it continues where this one is. */
export interface SourceState<P> {
  phase: SourcePhase;
  /** How many shards are copied, in the order of the options. */
  captured: number;
  /** The next one was asked for. */
  isCapturing: boolean;
  /** The number of the frame after the last piece. */
  copiedAt: number;
  /** Updates of the unit since the move began; of a copy, with those before. */
  position: number;
  isCaughtUpSaid: boolean;
  isHandOverDue: boolean;
  isUnconfirmedSaid: boolean;
  isTargetGone: boolean;
  /** When the target last said something new, or began to owe an answer. */
  heardMs: number;
  sealingMs: number;
  /** Tickets of updates whose answers wait. */
  held: readonly number[];
  window: MoveWindowState<P>;
}

/** One transaction. It does what it says when all of this is so, and nothing otherwise. */
export interface HandOver {
  readonly unit: number;
  /** The head has this epoch still. While a move is under way, this pserver makes no other change of the head. */
  readonly from: number;
  readonly epoch: number;
  readonly primary: UnitOwner;
  /** The ownership keys of these indexes have these tokens. */
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
  /** A connection to the target is open: the first, or another one, which gets all that is not answered once more. */
  | { readonly type: 'connected' }
  | { readonly type: 'answer'; readonly answer: MoveAnswer }
  /** All pieces of the shard as it is now: no update was applied to it since. At least one. */
  | { readonly type: 'captured'; readonly shard: number; readonly pieces: readonly Piece<P>[] }
  /**
   * An update was applied to the unit just now. The event comes before anything else happens to the unit. `ticket`
   * comes back with `acknowledge`, when the update may be answered.
   */
  | { readonly type: 'applied'; readonly payload: P; readonly byteLength: number; readonly ticket: number }
  /** May come after `caughtUp`. No save is running, and none begins before the next `abandoned` or `moved`. */
  | { readonly type: 'handOver' }
  /**
   * For a copy, after `caughtUp`: the copy ends with what is committed now. At the same moment the machine of the
   * unit's replicas gets `join`. Ignored if the move was abandoned before.
   */
  | { readonly type: 'seal'; readonly position: number }
  /** A sealed copy is in no head, and no proposed transaction will put it into one (core/replicas). */
  | { readonly type: 'joinFailed' }
  /** The copy is in the head, or this pserver no longer leads the unit. */
  | { readonly type: 'release' }
  /**
   * What became of the proposed transaction. `failed`: it was answered, and did nothing; `primary` is in the head that
   * the same transaction read.
   */
  | ({ readonly type: 'decided' } & Decision)
  /** The store shows that the target's token no longer exists. */
  | { readonly type: 'targetGone' }
  /**
   * The unit is to stay, or no copy to be made: the job is being stopped, the plan has changed. Ignored once the change
   * was proposed, or the copy confirmed.
   */
  | { readonly type: 'abandon'; readonly reason: string }
  | { readonly type: 'tick' }
  /** This process was suspended until now: the time does not count as the target's silence. */
  | { readonly type: 'resumed' };

export type SourceEffect<P> =
  /** In the order of the effects. Lost when there is no connection: `connected` sends again what matters. */
  | { readonly type: 'send'; readonly message: MoveMessage<P> }
  /** Copy the shard as it is at one instant, and submit `captured` at that instant. */
  | { readonly type: 'capture'; readonly shard: number }
  /** The update with this ticket may be answered. */
  | { readonly type: 'acknowledge'; readonly ticket: number }
  /** The target has all shards: `handOver` may come, or `seal`. Once. */
  | { readonly type: 'caughtUp' }
  /**
   * Send this transaction and submit `decided`. After an unknown outcome it is proposed again: wait a moment before
   * sending it.
   */
  | { readonly type: 'propose'; readonly handOver: HandOver }
  /** The target has the copy, exactly as it was at `seal`. */
  | { readonly type: 'copied' }
  /**
   * The target does not confirm a sealed copy, or the copy is no longer wanted: the replicas are to end the join. Then
   * `joinFailed` comes, or `release` if it was too late for that. Once.
   */
  | { readonly type: 'unconfirmed'; readonly reason: string }
  /** This pserver continues to lead the unit: requests that wait are judged again. */
  | { readonly type: 'abandoned'; readonly reason: string }
  /** The target leads the unit: drop it. Requests that wait go to the target. */
  | { readonly type: 'moved' };
