/**
 * What the copies of one unit say to each other (docs/copies.md). Every frame and every answer names the unit, the
 * epoch and both processes: a connection may have been cut and made again, and what an earlier one carried may arrive
 * late.
 */
import { isSameOwner, type UnitOwner } from '../units/move-messages.ts';

/**
 * Name of an update. A name is never reused: after an update is dropped, the next one at its position has another
 * epoch.
 */
export interface UpdateName {
  /** How many updates the unit has seen with this one, since it came into being. */
  readonly position: number;
  /** Epoch in which the update was placed. */
  readonly epoch: number;
}

/** `P` is what the shells put into frames. The machines do not look into it. */
export interface PlacedUpdate<P> {
  readonly name: UpdateName;
  readonly payload: P;
}

/** From the primary of an epoch to one of the other copies. */
export interface LinkName {
  readonly unit: number;
  readonly epoch: number;
  readonly primary: UnitOwner;
  readonly member: UnitOwner;
}

/** A frame from the primary. */
export type ReplicaFrame<P> =
  /**
   * The first one of an epoch and of a connection: everything up to `base` the member has, and from there on the
   * primary has placed these. What else the member has staged it drops.
   */
  | { readonly type: 'begin'; readonly base: number; readonly tail: readonly UpdateName[]; readonly committed: number }
  | { readonly type: 'stage'; readonly update: PlacedUpdate<P>; readonly committed: number }
  /** When no `stage` tells it. */
  | { readonly type: 'commit'; readonly committed: number };

/** From a member. Each `begin` has one answer, which may come later than those of the frames after it. */
export type ReplicaAnswer =
  /**
   * It has everything that the primary has placed, up to `through`, and nothing else. It has applied everything up to
   * `committed`: only what is above takes room there.
   */
  | { readonly type: 'staged'; readonly through: number; readonly committed: number }
  /** `old`: there is a newer epoch. `unfit`: its copy cannot follow this primary. */
  | { readonly type: 'refused'; readonly why: 'old' | 'unfit' };

export const isSameLink = (a: LinkName, b: LinkName): boolean =>
  a.unit === b.unit && a.epoch === b.epoch && isSameOwner(a.primary, b.primary) && isSameOwner(a.member, b.member);

export const isSameName = (a: UpdateName, b: UpdateName): boolean => a.position === b.position && a.epoch === b.epoch;

export const isIn = (owners: readonly UnitOwner[], one: UnitOwner): boolean =>
  owners.some((owner) => isSameOwner(owner, one));

/** Equal for the same process only. */
export const keyOfOwner = ({ index, token }: UnitOwner): string => `${index}/${token}`;

export const without = (owners: readonly UnitOwner[], one: UnitOwner): UnitOwner[] =>
  owners.filter((owner) => !isSameOwner(owner, one));
