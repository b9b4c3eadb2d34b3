/**
 * What the two sides of a move say to each other (docs/copies.md). Every frame and every answer carries the whole
 * name of its move: a connection may have been cut and made again, and what an earlier one carried may arrive late.
 */

/** A process that leads a unit or is to lead it: the next process at the same index has another token. */
export interface UnitOwner {
  readonly index: number;
  /** The fencing token, as decimal text. */
  readonly token: string;
}

/**
 * `lead`: the target is to lead the unit. `copy`: it is to have a backup copy of it, and the source continues to lead.
 * From the seal on, the target follows by the replica link (core/replicas).
 */
export type MovePurpose = 'lead' | 'copy';

export interface MoveName {
  readonly purpose: MovePurpose;
  readonly unit: number;
  /** Epoch of the unit's head while `source` leads the unit and the move is in progress. */
  readonly epoch: number;
  readonly source: UnitOwner;
  readonly target: UnitOwner;
  /** Counted by the source within the epoch: after an abandoned move comes another one. */
  readonly attempt: number;
}

/** `P` is what the shells put into frames: the state of shards, and updates. The machines do not look into it. */
export type MoveContent<P> =
  /**
   * A part of the copy of a shard. All parts of a shard follow each other, and the shards are in ascending order.
   * `position`: the updates that the unit had seen when the shard was copied. For `lead` they are counted from the
   * beginning of the move; for `copy` it is what was committed.
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
  /** There is no further update in this move: the copy is complete at `position`. */
  | { readonly type: 'seal'; readonly position: number };

/** Numbered from 0 within its move. A frame is repeated under the same number when a connection was cut. */
export interface MoveFrame<P> {
  readonly name: MoveName;
  readonly number: number;
  readonly content: MoveContent<P>;
}

/** What the source sends. */
export type MoveMessage<P> =
  /** Asks the target to take the unit. */
  | { readonly type: 'offer'; readonly name: MoveName }
  | { readonly type: 'frame'; readonly frame: MoveFrame<P> }
  /** The head names the target: it should look into the store now. */
  | { readonly type: 'moved'; readonly name: MoveName }
  /**
   * The source continues to lead the unit, and the target is to have no copy by this move. Answered with `discarded`,
   * and repeated until it is. A sealed copy for `copy` is abandoned only when it is in no head and cannot come into
   * one.
   */
  | { readonly type: 'abandon'; readonly name: MoveName };

/** What the target answers. */
export type MoveAnswer =
  | { readonly type: 'accepted'; readonly name: MoveName }
  /** The target has no copy for this move, and takes no frames of it. */
  | { readonly type: 'refused'; readonly name: MoveName; readonly reason: string }
  /** The target has put in all frames below `next`. */
  | { readonly type: 'taken'; readonly name: MoveName; readonly next: number }
  /**
   * The copy is complete at `position`. For `lead` it takes no further update until the target leads the unit. For
   * `copy` it has become a backup copy, which the move no longer concerns.
   */
  | { readonly type: 'sealed'; readonly name: MoveName; readonly position: number }
  /** The target has no copy for this move, and will not make one. */
  | { readonly type: 'discarded'; readonly name: MoveName };

export const isSameOwner = (a: UnitOwner, b: UnitOwner): boolean => a.index === b.index && a.token === b.token;

export const isSameMove = (a: MoveName, b: MoveName): boolean =>
  a.purpose === b.purpose &&
  a.unit === b.unit &&
  a.epoch === b.epoch &&
  a.attempt === b.attempt &&
  isSameOwner(a.source, b.source) &&
  isSameOwner(a.target, b.target);
