/** A pserver with copies of units, as small as can be, around the real machines, host of links and connections. */

import { PaddletError } from '../../../../src/base/errors.ts';
import type { Cancel } from '../../../../src/base/seams.ts';
import type { HeadProposal, ReplicaEvent, ReplicaState } from '../../../../src/core/replicas/events.ts';
import { isSameName, keyOfOwner, type LinkName, type ReplicaAnswer } from '../../../../src/core/replicas/messages.ts';
import { PeerInbox } from '../../../../src/core/replicas/peer-inbox.ts';
import type { BatchAnswer, PeerBatch } from '../../../../src/core/replicas/peer-link.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { LinksHost } from '../../../../src/roles/pserver/replicas/links-host.ts';
import { connectPeer } from '../../../../src/roles/pserver/replicas/peer-connection.ts';
import { asReceived, optionsOf, type Push, type Sizes } from '../../../core/replicas/link-pserver.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import type { SimulatedProcess } from '../../../sim/process.ts';
import { UNTIMED } from '../untimed.ts';
import { type LinkNetwork, type Listener, protocolOf } from './link-network.ts';

export const BATCHES_IN_FLIGHT = 3;

export interface PserverWorld {
  readonly network: LinkNetwork;
  readonly sizes: Sizes;
  readonly silenceMs: number;
  addressOf(peer: UnitOwner): string | undefined;
  propose(pserver: HostedPserver, unit: number, proposal: HeadProposal): void;
  look(pserver: HostedPserver, unit: number): void;
  onFatal(error: unknown): void;
}

export interface HostedUnit {
  readonly replica: Replica<Push>;
  /** Pushes that it has applied, in order. */
  readonly applied: number[];
}

interface Session {
  readonly inbox: PeerInbox<Push>;
  /** Of the newest connection. */
  channel: object | undefined;
  /** The batches on it, in order. */
  waiting: PromiseWithResolvers<BatchAnswer>[];
}

export class HostedPserver implements Listener {
  readonly me: UnitOwner;
  readonly process: SimulatedProcess;
  readonly units = new Map<number, HostedUnit>();
  readonly host: LinksHost<Push>;
  /** By push: in which units it was placed. */
  readonly placed = new Map<number, number[]>();
  readonly dropped: { readonly unit: number; readonly push: number }[] = [];
  /** Pushes that wait for room. */
  readonly asked = new Map<number, () => void>();
  /** Batches that were sent on each connection and are not answered, the most at any time. */
  readonly sessions = new Map<string, Session>();
  readonly #world: PserverWorld;
  #orders = 0;
  #cancelTick: Cancel = () => {};

  constructor(me: UnitOwner, process: SimulatedProcess, world: PserverWorld) {
    this.me = me;
    this.process = process;
    this.#world = world;
    const { clock, random } = process;
    const { silenceMs, network, onFatal } = world;
    const log = new MemoryLog();
    const context = { host: { clock, random, log } as never, network: network.of(process) };
    const protocol = protocolOf(me);
    this.host = new LinksHost<Push>({
      ...{ clock, log, times: UNTIMED, silenceMs, maxInFlight: BATCHES_IN_FLIGHT, units: this, onFatal },
      addressOf: (peer) => world.addressOf(peer),
      connect: (options) => connectPeer({ context, protocol, silenceMs, onFatal, ...options }),
    });
  }

  addCopy(unit: number, state: ReplicaState<Push>, applied: readonly number[]): void {
    // The copy that was here before is of no use any more.
    this.free(unit);
    const options = { ...optionsOf(unit, this.me), silenceMs: this.#world.silenceMs };
    this.units.set(unit, { replica: new Replica(options, state), applied: [...applied] });
  }

  free(unit: number): void {
    this.#remove(unit);
    this.#giveAnswers();
  }

  leads(unit: number): boolean {
    return this.units.get(unit)?.replica.admits('update') === true;
  }

  end(): void {
    this.#cancelTick();
    this.host.close();
  }

  step(unit: number, event: ReplicaEvent<Push>): void {
    this.#take(unit, event);
    this.#giveAnswers();
  }

  all(make: (unit: number) => ReplicaEvent<Push>): void {
    for (const unit of [...this.units.keys()]) this.step(unit, make(unit));
  }

  #take(unit: number, event: ReplicaEvent<Push>): void {
    const held = this.units.get(unit);
    if (held === undefined) return;
    const before = held.replica.staged();
    const effects = held.replica.step(event, this.process.clock.monotonicMs());
    for (const effect of effects) {
      if (effect.type === 'commit') held.applied.push(effect.update.payload.id);
      else if (effect.type === 'propose') this.#world.propose(this, unit, effect.proposal);
      else if (effect.type === 'look') this.#world.look(this, unit);
      else if (effect.type === 'answer')
        this.sessions.get(keyOfOwner(effect.link.primary))?.inbox.answered(effect.link, effect.answer);
      else if (effect.type === 'drop')
        for (const name of effect.names) {
          const { payload } = before.find((update) => isSameName(update.name, name))!;
          this.dropped.push({ unit, push: payload.id });
        }
    }
    this.host.stepped(unit, effects, held.replica.peers());
    const staged = held.replica.staged();
    for (const session of this.sessions.values()) session.inbox.room.keep(unit, staged);
    if (effects.some(({ type }) => type === 'discard')) this.#remove(unit);
    this.#planTick();
  }

  #remove(unit: number): void {
    this.units.delete(unit);
    for (const { inbox } of this.sessions.values()) inbox.hasNone(unit);
  }

  #giveAnswers(): void {
    for (const { inbox, waiting } of this.sessions.values())
      for (const answer of inbox.answers()) waiting.shift()!.resolve(answer);
  }

  // ---- as a primary

  connected(peer: UnitOwner): void {
    this.all(() => ({ type: 'connected', to: peer }));
  }

  heard(peer: UnitOwner): void {
    this.all(() => ({ type: 'heard', from: peer }));
  }

  answered(link: LinkName, answer: ReplicaAnswer | undefined): void {
    if (answer === undefined) this.step(link.unit, { type: 'connected', to: link.member });
    else this.step(link.unit, { type: 'answer', link, answer });
  }

  /** An update of all these units that it leads when there is room. */
  push(id: number, units: readonly number[], bytes: number): void {
    const bytesByUnit = new Map(units.map((unit) => [unit, bytes]));
    const cancel = this.host.ask(bytesByUnit, (takeRoom) => {
      this.asked.delete(id);
      const led = units.filter((unit) => this.leads(unit));
      if (led.length === 0) return;
      this.#orders += 1;
      const payload = { order: this.#orders, bytesByUnit, id };
      takeRoom(
        payload,
        led.map((unit) => ({ unit, name: this.units.get(unit)!.replica.nextName() })),
      );
      this.placed.set(id, led);
      for (const unit of led) this.step(unit, { type: 'place', payload });
    });
    this.asked.set(id, cancel);
  }

  // ---- as a backup

  opened(primary: UnitOwner, channel: object): number {
    const session = this.#sessionOf(primary);
    session.inbox.opened();
    Object.assign(session, { channel, waiting: [] });
    return this.#world.sizes.windowBytes;
  }

  async received(primary: UnitOwner, channel: object, sent: PeerBatch<Push>): Promise<BatchAnswer> {
    const session = this.#sessionOf(primary);
    if (session.channel !== channel) throw new PaddletError('NotReady', 'another connection is open');
    this.#orders += 1;
    const batch = asReceived(sent, this.#orders);
    const frames = session.inbox.received(batch);
    if (frames === undefined) {
      this.#world.onFatal(new Error(`${keyOfOwner(primary)} goes beyond its window at ${this.me.index}`));
    }
    const answer = Promise.withResolvers<BatchAnswer>();
    session.waiting.push(answer);
    if (session.waiting.length > BATCHES_IN_FLIGHT) this.#world.onFatal(new Error('too many batches are under way'));
    for (const { link, frame } of frames ?? []) {
      if (this.units.has(link.unit)) this.#take(link.unit, { type: 'frame', link, frame });
      else session.inbox.hasNone(link.unit);
    }
    // A batch is answered as a whole: not before all its frames are submitted.
    this.#giveAnswers();
    return answer.promise;
  }

  #sessionOf(primary: UnitOwner): Session {
    const key = keyOfOwner(primary);
    let session = this.sessions.get(key);
    if (session === undefined) {
      session = { inbox: new PeerInbox<Push>(this.#world.sizes), channel: undefined, waiting: [] };
      this.sessions.set(key, session);
    }
    return session;
  }

  #planTick(): void {
    this.#cancelTick();
    const { clock } = this.process;
    const due = [...this.units.values()].flatMap(({ replica }) => replica.nextDeadline() ?? []);
    if (due.length === 0) return;
    this.#cancelTick = clock.after(Math.max(1, Math.min(...due) - clock.monotonicMs()), () => {
      this.all(() => ({ type: 'tick' }));
      this.#planTick();
    });
  }
}
