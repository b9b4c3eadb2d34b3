/**
 * A process around the machine of one copy of unit 0, as small as can be. It is plain data, and each state of one is
 * one object: what it does is worked out once and remembered.
 */
import type {
  HeadProposal,
  ReplicaEvent,
  ReplicaOptions,
  ReplicaState,
  UnitHead,
} from '../../../src/core/replicas/events.ts';
import type { LinkName, ReplicaAnswer, ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';

/** An update is a digit. */
export type Content = string;

export interface NodeState {
  readonly index: number;
  readonly token: number;
  readonly isUp: boolean;
  /** It has not renewed its lease, and does nothing until it knows that it has it still. */
  readonly isSuspended: boolean;
  /** Undefined: it has no copy. */
  readonly replica: ReplicaState<Content> | undefined;
  /** Updates that its copy has applied. */
  readonly applied: Content;
  /** Was sent to the store and has no outcome yet. */
  readonly proposed: HeadProposal | undefined;
}

/** A message on its way to the process at that index. */
export type Sent = { readonly to: number; readonly link: LinkName } & (
  | { readonly frame: ReplicaFrame<Content> }
  | { readonly answer: ReplicaAnswer }
);

export interface Reaction {
  readonly node: NodeState;
  /** Numbers of messages. */
  readonly sent: readonly number[];
}

/** Later than anything is waited for. */
export const LATE_MS = 1_000_000;

export const ownerOf = (index: number, token: number): UnitOwner => ({ index, token: String(token) });

export const optionsOf = ({ index, token }: Pick<NodeState, 'index' | 'token'>): ReplicaOptions => ({
  unit: 0,
  me: ownerOf(index, token),
  silenceMs: 10,
  minInSync: 1,
});

export const started = (index: number, token: number): NodeState =>
  one({ index, token, isUp: true, isSuspended: false, replica: undefined, applied: '', proposed: undefined });

// ---- one object for each state

const states = new Map<string, NodeState>();
const names = new Map<NodeState, number>();
const reactions = new Map<NodeState, Map<string, Reaction>>();
const messages: Sent[] = [];
const numbers = new Map<string, number>();

export function one(state: NodeState): NodeState {
  const key = JSON.stringify(state);
  const known = states.get(key);
  if (known !== undefined) return known;
  states.set(key, state);
  names.set(state, names.size);
  reactions.set(state, new Map());
  return state;
}

export const nameOf = (state: NodeState): number => names.get(state)!;

function numberOf(message: Sent): number {
  const key = JSON.stringify(message);
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, messages.length);
  return messages.push(message) - 1;
}

export const messageOf = (number: number): Sent => messages[number]!;

/** Whether requests of trainers are answered by this process. */
export function admits(node: NodeState, kind: 'read' | 'update'): boolean {
  const { isUp, isSuspended, replica } = node;
  return isUp && !isSuspended && replica !== undefined && new Replica(optionsOf(node), replica).admits(kind);
}

export const has = ({ replica }: NodeState, update: Content): boolean =>
  replica?.log.updates.some(({ payload }) => payload === update) === true;

/** What the process does when this happens to it. */
export function react(node: NodeState, event: ReplicaEvent<Content>, now = 0): Reaction {
  const what = `${now} ${JSON.stringify(event)}`;
  const known = reactions.get(node)!;
  let reaction = known.get(what);
  if (reaction === undefined) {
    reaction = node.replica === undefined ? { node, sent: [] } : step(node, event, now);
    known.set(what, reaction);
  }
  return reaction;
}

function step(node: NodeState, event: ReplicaEvent<Content>, now: number): Reaction {
  const machine = new Replica(optionsOf(node), node.replica!);
  const sent: number[] = [];
  let { applied, proposed } = node;
  if (event.type === 'decided' && proposed?.from === event.from) proposed = undefined;
  for (const effect of machine.step(event, now)) {
    switch (effect.type) {
      case 'send':
        sent.push(numberOf({ to: effect.link.member.index, link: effect.link, frame: effect.frame }));
        break;
      case 'answer':
        sent.push(numberOf({ to: effect.link.primary.index, link: effect.link, answer: effect.answer }));
        break;
      case 'commit':
        applied += effect.update.payload;
        break;
      case 'propose':
        proposed = effect.proposal;
        break;
      default:
        break;
    }
  }
  const state = machine.state();
  const replica = state.role.is === 'none' ? undefined : state;
  return { node: one({ ...node, replica, applied: replica === undefined ? '' : applied, proposed }), sent };
}

/** The head as the process with a copy sees it. */
export const seen = (head: UnitHead, isPrimaryAlive: boolean): ReplicaEvent<Content> => ({
  type: 'seen',
  ...{ head, isPrimaryAlive },
});
