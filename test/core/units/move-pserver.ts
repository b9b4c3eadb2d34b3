/**
 * A pserver around the two machines of a move of unit 0, as small as can be: what a shell has to do with their effects.
 * A pserver is plain data, and each state of one is one object: what it does is worked out once and remembered.
 */
import type { MoveAnswer, MoveMessage, MoveName, UnitOwner } from '../../../src/core/units/move-messages.ts';
import { MoveSource, type SourceEvent, type SourceState } from '../../../src/core/units/move-source.ts';
import type { HandOver } from '../../../src/core/units/move-source-events.ts';
import { MoveTarget, type TargetEvent, type TargetState } from '../../../src/core/units/move-target.ts';

/** An update is a digit; the state of a shard is the text of those that were applied to it. */
export type Content = string;

export interface Outgoing {
  readonly name: MoveName;
  readonly machine: SourceState<Content>;
  readonly isCaughtUp: boolean;
  /** A transaction was sent and its outcome has not come. */
  readonly proposed: HandOver | undefined;
}

export interface Owned {
  readonly epoch: number;
  /** By shard. */
  readonly logs: readonly Content[];
  /** Moves that were begun in this epoch. */
  readonly attempts: number;
}

export interface PserverState {
  readonly index: number;
  readonly token: number;
  readonly isUp: boolean;
  readonly owned: Owned | undefined;
  readonly outgoing: Outgoing | undefined;
  readonly target: TargetState;
  /** What the target has put in. */
  readonly copy: readonly Content[];
}

/** A message on its way to the pserver at that index. */
export type Sent = { readonly to: number } & (
  | { readonly message: MoveMessage<Content> }
  | { readonly answer: MoveAnswer }
);

/** What a pserver did: its next state, the numbers of the messages that it sent, and the updates that it answered. */
export interface Reaction {
  pserver: PserverState;
  readonly sent: number[];
  readonly acknowledged: string[];
}

/** Both shards of the unit. */
export const SHARDS = [0, 1];
/** Each piece and each update is a byte. */
const WINDOW_BYTES = 1;
/** Later than anything is waited for. */
const LATE_MS = 1_000_000;

export const ownerOf = (index: number, token: number): UnitOwner => ({ index, token: String(token) });

// ---- one object for each state

const states = new Map<string, PserverState>();
const names = new Map<PserverState, number>();
const reactions = new Map<PserverState, Map<string, Reaction>>();

/** Equal states give the same object. */
export function one(state: PserverState): PserverState {
  const key = JSON.stringify(state);
  const known = states.get(key);
  if (known !== undefined) return known;
  states.set(key, state);
  names.set(state, names.size);
  reactions.set(state, new Map());
  return state;
}

export const nameOf = (state: PserverState): number => names.get(state)!;

/** `what` names what happens to the pserver. */
export function react(pserver: PserverState, what: string, run: (reaction: Reaction) => void): Reaction {
  const known = reactions.get(pserver)!;
  let reaction = known.get(what);
  if (reaction === undefined) {
    reaction = { pserver, sent: [], acknowledged: [] };
    run(reaction);
    reaction.pserver = one(reaction.pserver);
    known.set(what, reaction);
  }
  return reaction;
}

const messages: Sent[] = [];
const numbers = new Map<string, number>();

function numberOf(message: Sent): number {
  const key = JSON.stringify(message);
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, messages.length);
  return messages.push(message) - 1;
}

export const messageOf = (number: number): Sent => messages[number]!;

const change = (reaction: Reaction, to: Partial<PserverState>): void => {
  reaction.pserver = { ...reaction.pserver, ...to };
};

export const started = (index: number, token: number): PserverState =>
  one({
    index,
    token,
    isUp: true,
    owned: undefined,
    outgoing: undefined,
    target: { head: undefined, isPrimaryGone: false, attempt: 0, copy: undefined, copied: undefined },
    copy: [],
  });

// ---- the source

const optionsOf = (name: MoveName) => ({
  name,
  shards: SHARDS,
  windowBytes: WINDOW_BYTES,
  silenceMs: 10,
  handOverMs: 10,
});

/** Begins to move the unit. */
export function begin(reaction: Reaction, target: UnitOwner): void {
  const { index, token, owned } = reaction.pserver;
  const attempts = owned!.attempts + 1;
  const from = { epoch: owned!.epoch, source: ownerOf(index, token), attempt: attempts };
  const name: MoveName = { purpose: 'lead', unit: 0, ...from, target };
  const machine = new MoveSource<Content>(optionsOf(name), 0).state();
  const outgoing = { name, machine, isCaughtUp: false, proposed: undefined };
  change(reaction, { owned: { ...owned!, attempts }, outgoing });
  submitToSource(reaction, { type: 'connected' });
}

export function submitToSource(reaction: Reaction, event: SourceEvent<Content>, now = 0): void {
  const { outgoing } = reaction.pserver;
  if (outgoing === undefined) return;
  const machine = new MoveSource(optionsOf(outgoing.name), 0, outgoing.machine);
  const effects = machine.step(event, now);
  change(reaction, { outgoing: { ...outgoing, machine: machine.state() } });
  const more: SourceEvent<Content>[] = [];
  for (const effect of effects) {
    const { owned, outgoing: own } = reaction.pserver;
    switch (effect.type) {
      case 'send':
        reaction.sent.push(numberOf({ to: outgoing.name.target.index, message: effect.message }));
        break;
      case 'capture': {
        const { shard } = effect;
        more.push({ type: 'captured', shard, pieces: [{ payload: owned!.logs[shard]!, byteLength: 1 }] });
        break;
      }
      case 'acknowledge':
        if (effect.ticket >= 0) reaction.acknowledged.push(String(effect.ticket));
        break;
      case 'caughtUp':
        change(reaction, { outgoing: { ...own!, isCaughtUp: true } });
        break;
      case 'propose':
        change(reaction, { outgoing: { ...own!, proposed: effect.handOver } });
        break;
      case 'moved':
        change(reaction, { owned: undefined });
        break;
      case 'abandoned':
        break;
    }
  }
  if (machine.isEnded) change(reaction, { outgoing: undefined });
  for (const next of more) submitToSource(reaction, next, now);
}

/** The outcome of the transaction comes. */
export function decided(reaction: Reaction, event: Extract<SourceEvent<Content>, { type: 'decided' }>): void {
  change(reaction, { outgoing: { ...reaction.pserver.outgoing!, proposed: undefined } });
  submitToSource(reaction, event);
}

/** Requests of trainers are judged by this alone. */
export function admits({ isUp, owned, outgoing }: PserverState, kind: 'read' | 'update'): boolean {
  if (!isUp || owned === undefined || outgoing === undefined) return isUp && owned !== undefined;
  return new MoveSource(optionsOf(outgoing.name), 0, outgoing.machine).admits(kind);
}

/** A trainer sends an update. Without `isAnswered` the answer does not arrive, so that it will be sent again. */
export function push(reaction: Reaction, update: string, isAnswered: boolean): void {
  const { owned, outgoing } = reaction.pserver;
  const isRepeat = owned!.logs[0]!.includes(update);
  if (isAnswered && (isRepeat || outgoing === undefined)) reaction.acknowledged.push(update);
  if (isRepeat) return;
  change(reaction, { owned: { ...owned!, logs: owned!.logs.map((log) => log + update) } });
  const ticket = isAnswered ? Number(update) : -1;
  submitToSource(reaction, { type: 'applied', payload: update, byteLength: 1, ticket });
}

// ---- the target

export function submitToTarget(reaction: Reaction, event: TargetEvent<Content>, now = 0): void {
  const { index, token, target } = reaction.pserver;
  const options = { unit: 0, me: ownerOf(index, token), shards: SHARDS, silenceMs: 10 };
  const machine = new MoveTarget<Content>(options, target);
  const effects = machine.step(event, now);
  change(reaction, { target: machine.state() });
  for (const effect of effects) {
    const { copy } = reaction.pserver;
    switch (effect.type) {
      case 'answer':
        reaction.sent.push(numberOf({ to: effect.answer.name.source.index, answer: effect.answer }));
        break;
      case 'put': {
        const { shard, isFirst, payload } = effect;
        const content = (isFirst ? '' : copy[shard]!) + payload;
        change(reaction, { copy: SHARDS.map((at) => (at === shard ? content : (copy[at] ?? ''))) });
        break;
      }
      case 'apply': {
        const logs = copy.map((log, shard) => (effect.shards.includes(shard) ? log + effect.payload : log));
        change(reaction, { copy: logs });
        break;
      }
      case 'lead':
        change(reaction, { owned: { epoch: effect.epoch, logs: copy, attempts: 0 }, copy: [] });
        break;
      case 'discard':
        change(reaction, { copy: [] });
        break;
      case 'look':
        // It reads the store at any time.
        break;
      case 'lost':
        throw new Error(`pserver ${index} has no sealed copy of the unit that it is to lead`);
    }
  }
}

// ---- both

export function deliver(reaction: Reaction, number: number): void {
  const sent = messageOf(number);
  if ('answer' in sent) {
    submitToSource(reaction, { type: 'answer', answer: sent.answer });
    return;
  }
  const { message } = sent;
  const refusal = reaction.pserver.owned === undefined ? undefined : 'it leads the unit';
  submitToTarget(reaction, message.type === 'offer' ? { ...message, refusal } : message);
}

/** Either side may lose patience at any time: the network may be slow, and clocks differ. */
export const sourceTick = (reaction: Reaction): void => submitToSource(reaction, { type: 'tick' }, LATE_MS);
export const targetTick = (reaction: Reaction): void => submitToTarget(reaction, { type: 'tick' }, LATE_MS);
