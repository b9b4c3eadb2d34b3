/** What moves that make backup copies ask those who keep the copies, and tell them. With `replicas: 1` none is made. */
import type { MoveName, UnitOwner } from '../../../core/units/move-messages.ts';
import type { FilledCopy } from './incoming-unit.ts';
import type { Outgoing } from './outgoing.ts';

/** A copy of a unit that another process is to have. */
export interface CopyFor {
  readonly unit: number;
  readonly target: UnitOwner;
}

/**
 * At the pserver that leads the unit. All of it is told when the step of the move is done, so that the moves may be
 * called.
 */
export interface CopyMaker {
  /** The target has all shards: `Outgoing.seal` may be called from now on. */
  caughtUp(copy: CopyFor): void;
  /** The target has its copy, as it was at the seal. What it has missed since is to be sent to it from now on. */
  copied(copy: CopyFor): void;
  /**
   * A sealed copy is not confirmed or not wanted any more: the machine of the unit's replicas is to end the join. Then
   * `joinFailed` is called, or `release` if it was too late for that.
   */
  unconfirmed(copy: CopyFor, reason: string): void;
  /** Nothing more comes of the move: it is given up, or the copy is in the head. Another one may begin. */
  ended(copy: CopyFor): void;
}

/** At the pserver that gets the copy. */
export interface CopyKeeper {
  /** Of the unit here. `joining`: the copy is in no head yet; the next one may replace it. */
  standing(unit: number): 'none' | 'joining' | 'member';
  /** It has everything that is committed up to `position`. Throws when it cannot be kept: then its memory is freed. */
  adopt(name: MoveName, filled: FilledCopy, position: number): void;
  /** What that move has made is in no head, and is to be freed at once, if it is still here. */
  abandoned(name: MoveName): void;
}

export interface BackupCopies {
  readonly maker: CopyMaker;
  readonly keeper: CopyKeeper;
  /** Called first, with the copies that are made for others. */
  readonly attach?: (outgoing: Outgoing) => void;
}
