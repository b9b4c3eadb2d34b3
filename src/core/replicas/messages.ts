/**
 * Messages between the copies of one unit (docs/copies.md). Every frame and every answer names the unit, the epoch and
 * both processes. A connection may be replaced by another one, and messages of the earlier connection may arrive late.
 */
import { isSameOwner, type UnitOwner } from '../units/move-messages.ts';

/**
 * Name of an update. A name is never reused: if an update is dropped, the next update at its position has another
 * epoch.
 */
export interface UpdateName {
  /** Position in the sequence of the unit, from 1. Positions start again when a pserver loads the unit from a file. */
  readonly position: number;
  /** Epoch in which the update was placed. */
  readonly epoch: number;
}

/** `P`: the payload, which the shells put into frames. The machines do not look into it. */
export interface PlacedUpdate<P> {
  readonly name: UpdateName;
  readonly payload: P;
}

/** A link goes from the primary of an epoch to one of the other copies. */
export interface LinkName {
  readonly unit: number;
  readonly epoch: number;
  readonly primary: UnitOwner;
  readonly member: UnitOwner;
}

/** A frame from the primary. */
export type ReplicaFrame<P> =
  /**
   * The first frame of an epoch and of a connection. The member has every update up to `base`, and the primary has
   * placed the updates of `tail` above it. The member drops its other staged updates.
   */
  | { readonly type: 'begin'; readonly base: number; readonly tail: readonly UpdateName[]; readonly committed: number }
  | { readonly type: 'stage'; readonly update: PlacedUpdate<P>; readonly committed: number }
  /** Sent if no `stage` carries the commit position. */
  | { readonly type: 'commit'; readonly committed: number };

/** An answer from a member. Each `begin` gets one answer, which may come after the answers to later frames. */
export type ReplicaAnswer =
  /**
   * The member has exactly the updates that the primary has placed, up to `through`. It has applied those up to
   * `committed`: only the updates above take room at the member.
   */
  | { readonly type: 'staged'; readonly through: number; readonly committed: number }
  /** `old`: a newer epoch exists. `unfit`: the copy cannot follow this primary. */
  | { readonly type: 'refused'; readonly why: 'old' | 'unfit' };

export const isSameLink = (a: LinkName, b: LinkName): boolean =>
  a.unit === b.unit && a.epoch === b.epoch && isSameOwner(a.primary, b.primary) && isSameOwner(a.member, b.member);

export const isSameName = (a: UpdateName, b: UpdateName): boolean => a.position === b.position && a.epoch === b.epoch;

export const isIn = (owners: readonly UnitOwner[], one: UnitOwner): boolean =>
  owners.some((owner) => isSameOwner(owner, one));

/** Returns equal keys only for the same process. */
export const keyOfOwner = ({ index, token }: UnitOwner): string => `${index}/${token}`;

export const without = (owners: readonly UnitOwner[], one: UnitOwner): UnitOwner[] =>
  owners.filter((owner) => !isSameOwner(owner, one));
