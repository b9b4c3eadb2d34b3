/**
 * What a pserver and one of those that have copies of its units say to each other, for all these units together
 * (docs/copies.md). It is a connection in order, made by the primary: batches go out, and each has one answer, in
 * the same order. Frames and answers are those of the machines of the units (messages.ts).
 */
import type { LinkName, ReplicaAnswer, ReplicaFrame } from './messages.ts';

/** What one update carries, for all units that it was placed in at once: one object, recognized by its identity. */
export interface SharedPayload {
  /** From 1, ascending in the order in which updates came into being in this process: placed here, or received. */
  readonly order: number;
  /** How large the part of each unit is. */
  readonly bytesByUnit: ReadonlyMap<number, number>;
}

export interface LinkFrame<P> {
  readonly link: LinkName;
  readonly frame: ReplicaFrame<P>;
}

/** One request. */
export interface PeerBatch<P> {
  /**
   * Units whose copies at the peer no longer belong to this primary, which counts no room for them from here on. They
   * come before the frames, which may begin with a new copy.
   */
  readonly left: readonly number[];
  /** Each unit at most once. What is staged is one update: its payload goes once. */
  readonly frames: readonly LinkFrame<P>[];
  /**
   * Number of the payload at the primary; 0: nothing is staged. Parts for units that join the update later have the
   * same number.
   */
  readonly order: number;
  /**
   * What is staged was placed when the peer was not concerned: before it joined, or by a former primary. It takes no
   * room of the window (peer-room.ts).
   */
  readonly isLate: boolean;
}

/** An answer to each frame, in order. Undefined: the copy does not follow this primary yet, and did nothing. */
export type BatchAnswer = readonly (ReplicaAnswer | undefined)[];

/** Both sides count this for each part on top of its size: an update without content takes room, too. */
const PART_OVERHEAD_BYTES = 256;

/** The room that the part of a unit takes at a peer. */
export const roomOfPart = (partBytes: number | undefined): number => PART_OVERHEAD_BYTES + (partBytes ?? 0);

/** The room that a payload takes at a peer which gets the parts of these units. */
export function roomOf({ bytesByUnit }: SharedPayload, units: readonly number[]): number {
  return units.reduce((sum, unit) => sum + roomOfPart(bytesByUnit.get(unit)), 0);
}
