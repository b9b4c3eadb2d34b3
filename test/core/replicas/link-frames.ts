/** Frames of one primary to a peer, for tests of what is sent and what is received. */
import type { LinkName, ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { roomOfPart, type SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { A, B } from './copies.ts';

export const PART = roomOfPart(100);

export const linkTo = (unit: number, member = B, epoch = 1): LinkName => ({ unit, epoch, primary: A, member });
export const staged = (through: number, committed: number) => ({ type: 'staged', through, committed }) as const;

export function payload(order: number, ...units: number[]): SharedPayload {
  return { order, bytesByUnit: new Map(units.map((unit) => [unit, 100])) };
}

export const begin: ReplicaFrame<SharedPayload> = { type: 'begin', base: 0, tail: [], committed: 0 };
export const stage = (update: SharedPayload, position: number, committed = 0): ReplicaFrame<SharedPayload> => ({
  type: 'stage',
  update: { name: { position, epoch: 1 }, payload: update },
  committed,
});
