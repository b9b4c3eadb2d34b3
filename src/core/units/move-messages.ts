/**
 * The messages between the source and the target of a move (docs/copies.md). Every frame and every answer carries the
 * whole name of its move: after a reconnect, messages of an earlier connection may still arrive.
 */

/** A pserver process that leads a unit or is to lead it. The next process at the same index has another token. */
export interface UnitOwner {
  readonly index: number;
  /** The fencing token, as decimal text. */
  readonly token: string;
}

/**
 * `lead`: the target is to lead the unit. `copy`: the target is to have a backup, and the source continues to lead;
 * from the seal on, the target follows the unit by the replica link (core/replicas).
 */
export type MovePurpose = 'lead' | 'copy';

export interface MoveName {
  readonly purpose: MovePurpose;
  readonly unit: number;
  /** Epoch of the unit's head while `source` leads the unit and the move is in progress. */
  readonly epoch: number;
  readonly source: UnitOwner;
  readonly target: UnitOwner;
  /** Number of this attempt within the epoch, counted by the source: an abandoned move can be followed by another. */
  readonly attempt: number;
}

/** `P`: the payload, which is the state of a shard or an update. The machines do not look into it. */
export type MoveContent<P> =
  /**
   * A part of the copy of a shard. All parts of a shard follow each other, and the shards are in ascending order.
   * `position`: the position of the unit when the shard was copied. For `lead`, it counts updates since the move
   * started; for `copy`, it is the committed position.
   */
  | {
      readonly type: 'piece';
      readonly shard: number;
      readonly isLast: boolean;
      readonly position: number;
      readonly payload: P;
    }
  /** The update that brings the unit to `position`. */
  | { readonly type: 'update'; readonly position: number; readonly payload: P }
  /** Ends the updates of this move: the copy is complete at `position`. */
  | { readonly type: 'seal'; readonly position: number };

/** Numbered from 0 within its move. After a reconnect, the source sends again a frame under the same number. */
export interface MoveFrame<P> {
  readonly name: MoveName;
  readonly number: number;
  readonly content: MoveContent<P>;
}

/** A message of the source. */
export type MoveMessage<P> =
  /** Asks the target to take the unit. */
  | { readonly type: 'offer'; readonly name: MoveName }
  | { readonly type: 'frame'; readonly frame: MoveFrame<P> }
  /** The head names the target, which should read the head now. */
  | { readonly type: 'moved'; readonly name: MoveName }
  /**
   * The source continues to lead the unit, and the target must discard its copy. The source repeats this message until
   * the target answers `discarded`. It abandons a sealed backup copy only if no head names the copy, and none can.
   */
  | { readonly type: 'abandon'; readonly name: MoveName };

/** An answer of the target. */
export type MoveAnswer =
  | { readonly type: 'accepted'; readonly name: MoveName }
  /** The target does not have a copy for this move, and ignores its frames. */
  | { readonly type: 'refused'; readonly name: MoveName; readonly reason: string }
  /** The target has processed all frames below `next`. */
  | { readonly type: 'taken'; readonly name: MoveName; readonly next: number }
  /**
   * The copy is complete at `position`. For `lead`, it gets no further update until the target leads the unit. For
   * `copy`, it is now a backup copy, and no longer part of the move.
   */
  | { readonly type: 'sealed'; readonly name: MoveName; readonly position: number }
  /** The target does not have a copy for this move, and will not make one. */
  | { readonly type: 'discarded'; readonly name: MoveName };

export const isSameOwner = (a: UnitOwner, b: UnitOwner): boolean => a.index === b.index && a.token === b.token;

export const isSameMove = (a: MoveName, b: MoveName): boolean =>
  a.purpose === b.purpose &&
  a.unit === b.unit &&
  a.epoch === b.epoch &&
  a.attempt === b.attempt &&
  isSameOwner(a.source, b.source) &&
  isSameOwner(a.target, b.target);
