/**
 * What a process does, around the machines of the moves that make copies of unit 0 and of its replicas: what a shell
 * has to do for them, as small as can be. What a process does from one state is worked out once and remembered.
 */
import type { ReplicaEffect, ReplicaEvent } from '../../../src/core/replicas/events.ts';
import { isIn, type LinkName, type ReplicaAnswer, type ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import { isSameMove, isSameOwner, type MoveName, type UnitOwner } from '../../../src/core/units/move-messages.ts';
import { MoveSource } from '../../../src/core/units/move-source.ts';
import type { SourceEffect, SourceEvent } from '../../../src/core/units/move-source-events.ts';
import { MoveTarget, type TargetEffect, type TargetEvent } from '../../../src/core/units/move-target.ts';
import { type Content, meOf, messageOf, type NodeState, numberOf, one, replicaOf, type Sent } from './join-node.ts';

export type Event =
  | { readonly type: 'message'; readonly number: number }
  | { readonly type: 'replica'; readonly event: ReplicaEvent<Content>; readonly now?: number }
  | { readonly type: 'seen'; readonly event: Extract<ReplicaEvent<Content>, { type: 'seen' }> }
  | { readonly type: 'begin'; readonly target: UnitOwner }
  | { readonly type: 'seal' }
  | { readonly type: 'source'; readonly event: SourceEvent<Content>; readonly now?: number }
  | { readonly type: 'targetTick' };

/** Later than anything is waited for. */
export const LATE_MS = 1_000_000;
const SHARDS = [0];
export interface Reaction {
  readonly node: NodeState;
  /** Numbers of messages. */
  readonly sent: readonly number[];
}

const reactions = new Map<NodeState, Map<string, Reaction>>();

/** What the process does when this happens to it. */
export function react(node: NodeState, event: Event): Reaction {
  const what = JSON.stringify(event);
  const known = reactions.get(node) ?? new Map<string, Reaction>();
  reactions.set(node, known);
  let reaction = known.get(what);
  if (reaction === undefined) {
    const shell = new Shell(node);
    shell.handle(event);
    reaction = { node: one(shell.node), sent: shell.sent };
    known.set(what, reaction);
  }
  return reaction;
}

class Shell {
  node: NodeState;
  readonly sent: number[] = [];

  constructor(node: NodeState) {
    this.node = node;
  }

  handle(event: Event): void {
    switch (event.type) {
      case 'message':
        this.#received(messageOf(event.number));
        break;
      case 'replica':
        this.#replica(event.event, event.now);
        break;
      case 'seen':
        this.#target(event.event);
        this.#replica(event.event);
        break;
      case 'begin':
        this.#begin(event.target);
        break;
      case 'seal':
        this.#seal();
        break;
      case 'source':
        this.#source(event.event, event.now);
        break;
      case 'targetTick':
        this.#target({ type: 'tick' }, LATE_MS);
        break;
    }
  }

  #change(to: Partial<NodeState>): void {
    this.node = { ...this.node, ...to };
  }

  #received(sent: Sent): void {
    if ('moveAnswer' in sent) this.#source({ type: 'answer', answer: sent.moveAnswer });
    else if ('frame' in sent) this.#framed(sent.link, sent.frame, sent.join);
    else if ('answer' in sent) this.#answered(sent.link, sent.answer, sent.join);
    else if (sent.message.type === 'offer') this.#target({ ...sent.message, refusal: this.#refusal() });
    else this.#target(sent.message);
  }

  /** A copy that has not joined makes way. */
  #refusal(): string | undefined {
    const { replica } = this.node;
    const isInTheWay = replica !== undefined && !(replica.role.is === 'backup' && replica.role.madeBy !== undefined);
    return isInTheWay ? 'it has a copy of the unit' : undefined;
  }

  // ---- the copy of this process

  #framed(link: LinkName, frame: ReplicaFrame<Content>, join: number): void {
    if (frame.type === 'begin') this.#change({ follows: join });
    this.#replica({ type: 'frame', link, frame });
  }

  #answered(link: LinkName, answer: ReplicaAnswer, join: number): void {
    if (join === this.#joinOf(link.member)) this.#replica({ type: 'answer', link, answer });
  }

  #joinOf(member: UnitOwner): number {
    return this.node.joins[member.index] ?? 0;
  }

  #replica(event: ReplicaEvent<Content>, now = 0): void {
    const machine = replicaOf(this.node);
    if (machine === undefined) return;
    const effects = machine.step(event, now);
    const { proposed } = this.node;
    if (event.type === 'decided' && proposed?.from === event.from) this.#change({ proposed: undefined });
    const state = machine.state();
    this.#change({ replica: state.role.is === 'none' ? undefined : state });
    for (const effect of effects) this.#carryOut(effect);
    if (this.node.replica === undefined) this.#change({ applied: '', copiedBy: undefined });
    this.#releaseMember();
  }

  #carryOut(effect: ReplicaEffect<Content>): void {
    const { outgoing } = this.node;
    switch (effect.type) {
      case 'send': {
        const { link, frame } = effect;
        // It follows the link from when it has its copy on.
        const isWaiting = outgoing !== undefined && isSameOwner(outgoing.name.target, link.member);
        if (isWaiting && outgoing.machine.phase !== 'copied') break;
        this.sent.push(numberOf({ to: link.member.index, link, join: this.#joinOf(link.member), frame }));
        break;
      }
      case 'answer':
        this.sent.push(
          numberOf({
            to: effect.link.primary.index,
            link: effect.link,
            join: this.node.follows,
            answer: effect.answer,
          }),
        );
        break;
      case 'commit': {
        const { payload } = effect.update;
        this.#change({ applied: this.node.applied + payload });
        this.#source({ type: 'applied', payload, byteLength: 1, ticket: 0 });
        break;
      }
      case 'propose':
        this.#change({ proposed: effect.proposal });
        break;
      case 'joinFailed':
        if (outgoing !== undefined && isSameOwner(outgoing.name.target, effect.joiner))
          this.#source({ type: 'joinFailed' });
        break;
      case 'stepDown':
        this.#source({ type: 'release' });
        break;
      default:
        break;
    }
  }

  /** The joiner is in the head, as this process knows it. */
  #releaseMember(): void {
    const { replica, outgoing } = this.node;
    if (replica?.role.is !== 'primary' || outgoing === undefined) return;
    if (isIn(replica.role.head.inSync, outgoing.name.target)) this.#source({ type: 'release' });
  }

  // ---- a copy for another process

  #begin(target: UnitOwner): void {
    const { replica, attempts } = this.node;
    if (replica?.role.is !== 'primary') throw new Error('only the primary makes copies');
    const from = { epoch: replica.role.head.epoch, source: meOf(this.node), attempt: attempts + 1 };
    const name: MoveName = { purpose: 'copy', unit: 0, ...from, target };
    const machine = new MoveSource<Content>(this.#sourceOptions(name, replica.log.committed), 0).state();
    this.#change({ attempts: attempts + 1, outgoing: { name, machine, isCaughtUp: false } });
    this.#source({ type: 'connected' });
  }

  #sourceOptions = (name: MoveName, position: number) => ({
    ...{ name, shards: SHARDS, position, windowBytes: 1, silenceMs: 10, handOverMs: 10 },
  });

  /** With everything that is committed now; the same moment is that of `join`. */
  #seal(): void {
    const position = this.node.replica!.log.committed;
    this.#source({ type: 'seal', position });
    const { outgoing } = this.node;
    if (outgoing?.machine.phase !== 'sealing') return;
    const { target, attempt } = outgoing.name;
    const joins = [...this.node.joins];
    for (let index = joins.length; index < target.index; index++) joins.push(0);
    joins[target.index] = attempt;
    this.#change({ joins });
    this.#replica({ type: 'join', joiner: target });
  }

  #source(event: SourceEvent<Content>, now = 0): void {
    const { outgoing } = this.node;
    if (outgoing === undefined) return;
    const machine = new MoveSource<Content>(this.#sourceOptions(outgoing.name, 0), 0, outgoing.machine);
    const effects = machine.step(event, now);
    if (machine.phase === 'kept') this.#change({ kept: outgoing.name.attempt });
    this.#change({ outgoing: machine.isEnded ? undefined : { ...outgoing, machine: machine.state() } });
    for (const effect of effects) this.#carryOutForSource(effect, outgoing.name);
  }

  #carryOutForSource(effect: SourceEffect<Content>, { target }: MoveName): void {
    const { outgoing, applied } = this.node;
    switch (effect.type) {
      case 'send':
        this.sent.push(numberOf({ to: target.index, message: effect.message }));
        break;
      case 'capture': {
        if (outgoing!.machine.position !== applied.length) throw new Error('a move counts another position');
        this.#source({ type: 'captured', shard: effect.shard, pieces: [{ payload: applied, byteLength: 1 }] });
        break;
      }
      case 'caughtUp':
        this.#change({ outgoing: { ...outgoing!, isCaughtUp: true } });
        break;
      case 'copied':
        this.#replica({ type: 'connected', to: target });
        break;
      case 'unconfirmed':
        this.#replica({ type: 'giveUp', joiner: target });
        break;
      case 'propose':
      case 'moved':
        throw new Error('a copy is not handed over');
      default:
        break;
    }
  }

  // ---- a copy from another process

  #target(event: TargetEvent<Content>, now = 0): void {
    const options = { unit: 0, me: meOf(this.node), shards: SHARDS, silenceMs: 10 };
    const machine = new MoveTarget<Content>(options, this.node.target);
    const effects = machine.step(event, now);
    this.#change({ target: machine.state() });
    for (const effect of effects) this.#carryOutForTarget(effect);
  }

  #carryOutForTarget(effect: TargetEffect<Content>): void {
    const { coming, replica, copiedBy } = this.node;
    switch (effect.type) {
      case 'answer':
        this.sent.push(numberOf({ to: effect.answer.name.source.index, moveAnswer: effect.answer }));
        break;
      case 'put':
        this.#change({ coming: (effect.isFirst ? '' : coming) + effect.payload });
        break;
      case 'apply':
        this.#change({ coming: coming + effect.payload });
        break;
      case 'copied': {
        const { name, position } = effect;
        if (replica !== undefined) throw new Error('a second copy of the unit');
        if (coming.length !== position) throw new Error(`the copy is ${coming}, at position ${position}`);
        const made = Replica.copied<Content>({ epoch: name.epoch, primary: name.source }, position);
        this.#change({ replica: made, applied: coming, copiedBy: name, coming: '' });
        break;
      }
      case 'abandoned':
        if (copiedBy === undefined || !isSameMove(copiedBy, effect.name)) break;
        this.#change({ replica: undefined, applied: '', copiedBy: undefined, proposed: undefined });
        break;
      case 'discard':
        this.#change({ coming: '' });
        break;
      case 'lead':
      case 'lost':
        throw new Error('a copy is not led');
      case 'look':
        // It reads the store at any time.
        break;
    }
  }
}
