/**
 * A process with the machines of one copy of unit 0 and of the moves that make copies of it, and what it sends. It is
 * plain data, and each state of one is one object.
 */
import type { HeadProposal, ReplicaState } from '../../../src/core/replicas/events.ts';
import type { LinkName, ReplicaAnswer, ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { MoveAnswer, MoveMessage, MoveName, UnitOwner } from '../../../src/core/units/move-messages.ts';
import type { SourceState } from '../../../src/core/units/move-source-events.ts';
import type { TargetState } from '../../../src/core/units/move-target.ts';

/** An update is a digit; the state of the unit's shard is the text of those that were applied to it. */
export type Content = string;

/** The copy that this process makes for another one. */
export interface Outgoing {
  readonly name: MoveName;
  readonly machine: SourceState<Content>;
  readonly isCaughtUp: boolean;
}

export interface NodeState {
  readonly index: number;
  readonly token: number;
  readonly isUp: boolean;
  /** It has not renewed its lease, and does nothing until it knows that it has it still. */
  readonly isSuspended: boolean;
  readonly replica: ReplicaState<Content> | undefined;
  /** Updates that its copy has applied. */
  readonly applied: Content;
  /** By which its copy was made. */
  readonly copiedBy: MoveName | undefined;
  readonly proposed: HeadProposal | undefined;
  readonly outgoing: Outgoing | undefined;
  /** Moves that it has begun in its epochs. */
  readonly attempts: number;
  /** By index of the joiner: the attempt that it has joined with last. */
  readonly joins: readonly number[];
  /** Of the newest beginning that has come. */
  readonly follows: number;
  /** The attempt that was abandoned last, of which the target has nothing any more. */
  readonly kept: number;
  readonly target: TargetState;
  /** What the target has put in. */
  readonly coming: Content;
}

/** A message on its way to the process at that index. */
export type Sent = { readonly to: number } & (
  | { readonly message: MoveMessage<Content> }
  | { readonly moveAnswer: MoveAnswer }
  | { readonly link: LinkName; readonly join: number; readonly frame: ReplicaFrame<Content> }
  /** `join`: of the frame that it answers. A connection is in order, so its outbox knows that (peer-outbox.ts). */
  | { readonly link: LinkName; readonly join: number; readonly answer: ReplicaAnswer }
);

const UNSEEN: TargetState = { head: undefined, isPrimaryGone: false, attempt: 0, copy: undefined, copied: undefined };

export const ownerOf = (index: number, token: number): UnitOwner => ({ index, token: String(token) });
export const meOf = ({ index, token }: Pick<NodeState, 'index' | 'token'>): UnitOwner => ownerOf(index, token);

export const optionsOf = (node: Pick<NodeState, 'index' | 'token'>) => ({
  ...{ unit: 0, me: meOf(node), silenceMs: 10, minInSync: 1 },
});

export const started = (index: number, token: number): NodeState =>
  one({
    ...{ index, token, isUp: true, isSuspended: false, replica: undefined, applied: '', copiedBy: undefined },
    ...{
      proposed: undefined,
      outgoing: undefined,
      attempts: 0,
      joins: [],
      follows: 0,
      kept: 0,
      target: UNSEEN,
      coming: '',
    },
  });

// ---- one object for each state

const states = new Map<string, NodeState>();
const names = new Map<NodeState, number>();
const messages: Sent[] = [];
const numbers = new Map<string, number>();

export function one(state: NodeState): NodeState {
  const key = JSON.stringify(state);
  const known = states.get(key);
  if (known !== undefined) return known;
  states.set(key, state);
  names.set(state, names.size);
  return state;
}

export const nameOf = (state: NodeState): number => names.get(state)!;

/** Equal messages have one number. */
export function numberOf(message: Sent): number {
  const key = JSON.stringify(message);
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, messages.length);
  return messages.push(message) - 1;
}

export const messageOf = (number: number): Sent => messages[number]!;

export const replicaOf = (node: NodeState): Replica<Content> | undefined =>
  node.replica && new Replica(optionsOf(node), node.replica);

/** Whether requests of trainers are answered by this process. */
export function admits(node: NodeState, kind: 'read' | 'update'): boolean {
  return node.isUp && !node.isSuspended && replicaOf(node)?.admits(kind) === true;
}

export const has = ({ replica }: NodeState, update: Content): boolean =>
  replica?.log.updates.some(({ payload }) => payload === update) === true;
