/**
 * Messages between a primary and a backup, for all units that they share (docs/copies.md). The primary makes the
 * connection, which keeps messages in order. The primary sends batches, and the backup answers each of them in order.
 * The frames and answers belong to the machines of the units (messages.ts).
 */
import type { LinkName, ReplicaAnswer, ReplicaFrame } from './messages.ts';

/**
 * The content of one update, for all units in which it was placed at once. It is one object, recognized by its
 * identity.
 */
export interface SharedPayload {
  /** Number of the update, from 1. It ascends in the order in which this process placed or received its updates. */
  readonly order: number;
  /** Size of the part of each unit, in bytes. */
  readonly bytesByUnit: ReadonlyMap<number, number>;
}

export interface LinkFrame<P> {
  readonly link: LinkName;
  readonly frame: ReplicaFrame<P>;
}

/** One request from a primary to a backup. */
export interface PeerBatch<P> {
  /**
   * Units whose copies at the peer no longer belong to this primary. The primary counts no room for them from this
   * batch on. The peer handles these units before the frames, which may begin with a new copy.
   */
  readonly left: readonly number[];
  /** Frames of different units. All stages belong to one update, whose payload is sent once. */
  readonly frames: readonly LinkFrame<P>[];
  /**
   * Number of the payload at the primary; 0 if the batch stages nothing. Parts for units that join the update later
   * have the same number.
   */
  readonly order: number;
  /**
   * The update was placed when it did not concern the peer: before the peer joined, or by a former primary. It takes no
   * room in the window (peer-room.ts).
   */
  readonly isLate: boolean;
}

/** Answers to the frames, in order. Undefined: the copy does not follow this primary yet, and did nothing. */
export type BatchAnswer = readonly (ReplicaAnswer | undefined)[];

/** Both sides add this to the size of each part, because an update without content takes room, too. */
const PART_OVERHEAD_BYTES = 256;

/** Bytes that the part of a unit takes at a peer. */
export const roomOfPart = (partBytes: number | undefined): number => PART_OVERHEAD_BYTES + (partBytes ?? 0);

/** Bytes that a payload takes at a peer that gets the parts of these units. */
export function roomOf({ bytesByUnit }: SharedPayload, units: readonly number[]): number {
  return units.reduce((sum, unit) => sum + roomOfPart(bytesByUnit.get(unit)), 0);
}
