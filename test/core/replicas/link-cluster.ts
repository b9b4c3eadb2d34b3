/**
 * Pservers that have copies of each other's units, a store and connections in order until they are cut. One thing
 * happens at a time, as a test says.
 */
import type { Outcome, UnitHead } from '../../../src/core/replicas/events.ts';
import { isIn, keyOfOwner } from '../../../src/core/replicas/messages.ts';
import { type BatchAnswer, type PeerBatch, roomOfPart } from '../../../src/core/replicas/peer-link.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';
import { aliveHead, BATCHES_IN_FLIGHT, LinkPserver, optionsOf, type Push, SILENCE_MS } from './link-pserver.ts';

export interface Connection {
  readonly from: number;
  readonly to: number;
  number: number;
  isOpen: boolean;
  requests: PeerBatch<Push>[];
  replies: BatchAnswer[];
  /** Batches that were sent and whose answer has not arrived. */
  inFlight: number;
}

export interface Cluster {
  readonly pservers: number;
  /** By unit: where its copies are, the primary first. */
  readonly copies: readonly (readonly number[])[];
  readonly pushBytes: number;
  /** How many pushes of one unit a window takes. */
  readonly windowPushes: number;
}

export class LinkCluster {
  readonly pservers: LinkPserver[];
  readonly heads: UnitHead[];
  readonly connections: Connection[] = [];
  readonly up: boolean[];
  /** Payload bytes that went over connections. */
  sentBatches: PeerBatch<Push>[] = [];
  readonly #shape: Cluster;
  #pushes = 0;

  constructor(shape: Cluster) {
    this.#shape = shape;
    const windowBytes = shape.windowPushes * roomOfPart(shape.pushBytes);
    // All units may be led by one pserver.
    const largestBytes = shape.copies.length * roomOfPart(shape.pushBytes);
    const lateBytes = (shape.pservers - 1) * Math.max(windowBytes, largestBytes);
    const sizes = { windowBytes, lateBytes, largestBytes };
    const indices = Array.from({ length: shape.pservers }, (_, index) => index);
    this.up = indices.map(() => true);
    this.pservers = indices.map((index) => new LinkPserver({ index, token: '1' }, sizes));
    for (const from of indices)
      for (const to of indices)
        if (from !== to)
          this.connections.push({ from, to, number: 0, isOpen: false, requests: [], replies: [], inFlight: 0 });
    this.heads = shape.copies.map(([first]) => {
      const me = this.pservers[first!]!.me;
      return { epoch: 1, primary: me, inSync: [me] };
    });
    shape.copies.forEach(([first], unit) => {
      const primary = this.pservers[first!]!;
      primary.addCopy(unit, Replica.taken(this.heads[unit]!, 0, optionsOf(unit, primary.me)), []);
    });
    for (const connection of this.connections) this.connect(connection);
    shape.copies.forEach(([, ...others], unit) => {
      for (const other of others) {
        this.join(unit, other);
        this.settle();
      }
    });
    this.sentBatches = [];
  }

  get windowBytes(): number {
    return this.#shape.windowPushes * roomOfPart(this.#shape.pushBytes);
  }

  // ---- what may happen

  /** Gives the number of the push, or undefined when no unit is led there. */
  push(index: number, pick: (unit: number) => boolean = () => true): number | undefined {
    const pserver = this.pservers[index]!;
    const units = this.heads.flatMap((_, unit) => (pserver.leads(unit) && pick(unit) ? [unit] : []));
    if (!this.up[index] || units.length === 0) return undefined;
    this.#pushes += 1;
    pserver.ask(this.#pushes, units, this.#shape.pushBytes);
    this.#turn(index);
    return this.#pushes;
  }

  cancel(index: number, id: number): void {
    this.pservers[index]!.links.queue.cancel(id);
    this.#turn(index);
  }

  deliver(connection: Connection): boolean {
    const batch = connection.requests.shift();
    if (batch === undefined) return false;
    this.pservers[connection.to]!.received(this.pservers[connection.from]!.me, batch);
    this.#after(connection.to);
    return true;
  }

  reply(connection: Connection): boolean {
    const answers = connection.replies.shift();
    if (answers === undefined) return false;
    const primary = this.pservers[connection.from]!;
    connection.inFlight -= 1;
    if (!primary.answered(this.pservers[connection.to]!.me, connection.number, answers))
      throw new Error('a peer answers what was not asked');
    this.#after(connection.from);
    return true;
  }

  cut(connection: Connection): void {
    if (!connection.isOpen) return;
    this.pservers[connection.from]!.links.closed(this.pservers[connection.to]!.me, connection.number);
    Object.assign(connection, { isOpen: false, requests: [], replies: [], inFlight: 0 });
  }

  connect(connection: Connection): boolean {
    const { from, to } = connection;
    if (connection.isOpen || !this.up[from] || !this.up[to]) return false;
    const primary = this.pservers[from]!;
    const peer = this.pservers[to]!;
    peer.inboxOf(primary.me).opened();
    connection.isOpen = true;
    connection.number = primary.links.opened(peer.me, this.windowBytes);
    primary.all(() => ({ type: 'connected', to: peer.me }));
    this.#after(from);
    return true;
  }

  /** The store answers about a proposal, of which it may have lost the first outcome. */
  decide(unit: number, index: number): boolean {
    const pserver = this.pservers[index]!;
    const proposal = pserver.units.get(unit)?.proposed;
    if (!this.up[index] || proposal === undefined) return false;
    const head = this.heads[unit]!;
    const { from, alive, gone } = proposal;
    const holds = head.epoch === from && alive.every(this.#isAlive) && !gone.some(this.#isAlive);
    if (holds) this.heads[unit] = proposal.head;
    const outcome: Outcome = holds ? { outcome: 'succeeded' } : { outcome: 'failed', head };
    pserver.step(unit, { type: 'decided', from, ...outcome });
    this.#after(index);
    return true;
  }

  see(unit: number, index: number): void {
    const head = this.heads[unit]!;
    if (!this.up[index]) return;
    this.pservers[index]!.step(unit, aliveHead(head, this.#isAlive(head.primary)));
    this.#after(index);
  }

  /** Those that owe an answer have owed it for too long. */
  silence(index: number): void {
    if (!this.up[index]) return;
    const pserver = this.pservers[index]!;
    pserver.nowMs += SILENCE_MS;
    pserver.all(() => ({ type: 'tick' }));
    this.#after(index);
  }

  handOver(unit: number, to: number): void {
    const { primary, inSync } = this.heads[unit]!;
    if (!this.up[primary.index] || !isIn(inSync, this.pservers[to]!.me)) return;
    this.pservers[primary.index]!.step(unit, { type: 'handOver', to: this.pservers[to]!.me });
    this.#after(primary.index);
  }

  /** The primary copies what is committed. */
  join(unit: number, to: number): void {
    const head = this.heads[unit]!;
    const primary = this.pservers[head.primary.index]!;
    const joiner = this.pservers[to]!;
    const led = primary.units.get(unit);
    const isNeeded = joiner.units.has(unit) || isIn(head.inSync, joiner.me);
    if (!this.up[to] || !this.up[head.primary.index] || isNeeded || led?.replica.admits('read') !== true) return;
    if (isIn(led.replica.peers(), joiner.me)) return;
    const { log } = led.replica.state();
    joiner.addCopy(unit, Replica.copied(head, log.committed), led.applied);
    primary.step(unit, { type: 'join', joiner: joiner.me });
    this.#after(head.primary.index);
  }

  kill(index: number): void {
    this.up[index] = false;
    for (const connection of this.connections)
      if (connection.from === index || connection.to === index) this.cut(connection);
    const owner = this.pservers[index]!.me;
    this.pservers.forEach((pserver, other) => {
      if (!this.up[other]) return;
      pserver.all(() => ({ type: 'gone', owner }));
      pserver.links.gone(owner);
      this.#after(other);
    });
  }

  /** Everything that is on its way arrives, and nothing fails. */
  settle(): void {
    let steps = 0;
    const isStillMoving = (): true => {
      steps += 1;
      if (steps > 10_000) throw new Error('it is never quiet');
      return true;
    };
    for (let isMoving = true; isMoving; isStillMoving()) {
      isMoving = false;
      for (const connection of this.connections) {
        if (this.connect(connection)) isMoving = true;
        while (this.deliver(connection) || this.reply(connection)) isMoving = isStillMoving();
      }
      if (this.#abandonJoins() || this.#reportGone()) isMoving = true;
      this.heads.forEach((head, unit) => {
        this.pservers.forEach((pserver, index) => {
          if (this.decide(unit, index)) isMoving = true;
          const seen = pserver.units.get(unit)?.replica.state().head;
          const isBehind = seen?.epoch !== head.epoch || !this.#isAlive(head.primary);
          if (this.up[index] && pserver.units.has(unit) && isBehind && this.#seesNew(unit, index)) isMoving = true;
        });
      });
    }
  }

  /** The primary that copies a unit tells the joiner when that comes to nothing. */
  #abandonJoins(): boolean {
    let isNew = false;
    for (const pserver of this.pservers) {
      const { me } = pserver;
      for (const [unit, { replica }] of pserver.units) {
        const { role } = replica.state();
        const { primary, inSync } = this.heads[unit]!;
        const led = this.up[primary.index] ? this.pservers[primary.index]!.units.get(unit)?.replica.peers() : [];
        if (role.is !== 'backup' || role.madeBy === undefined || isIn(inSync, me) || isIn(led ?? [], me)) continue;
        pserver.free(unit);
        this.#after(me.index);
        isNew = true;
      }
    }
    return isNew;
  }

  /** A process that leads a unit since its peer has died is told, too. */
  #reportGone(): boolean {
    let isNew = false;
    for (const pserver of this.pservers) {
      if (!this.up[pserver.me.index]) continue;
      for (const [unit, { replica, proposed }] of pserver.units) {
        const owner = replica.peers().find((peer) => !this.#isAlive(peer));
        if (owner === undefined || proposed !== undefined) continue;
        pserver.step(unit, { type: 'gone', owner });
        this.#after(pserver.me.index);
        isNew = true;
      }
    }
    return isNew;
  }

  #seesNew(unit: number, index: number): boolean {
    const state = (): string => JSON.stringify(this.pservers[index]!.units.get(unit)?.replica.state());
    const before = state();
    this.see(unit, index);
    return state() !== before;
  }

  readonly #isAlive = (owner: UnitOwner): boolean =>
    this.up[owner.index] === true && this.pservers[owner.index]!.me.token === owner.token;

  #after(index: number): void {
    for (const connection of this.connections) {
      if (connection.to !== index || !connection.isOpen) continue;
      const inbox = this.pservers[index]!.inboxes.get(keyOfOwner(this.pservers[connection.from]!.me));
      connection.replies.push(...(inbox?.answers() ?? []));
    }
    this.#turn(index);
  }

  #turn(index: number): void {
    for (const { peer, connection: number, batch } of this.pservers[index]!.turn()) {
      const connection = this.connections.find((one) => one.from === index && one.to === peer.index)!;
      if (!connection.isOpen || connection.number !== number) throw new Error('a batch goes out without connection');
      connection.requests.push(batch);
      connection.inFlight += 1;
      this.sentBatches.push(batch);
      inspectBatch(batch);
      if (connection.inFlight > BATCHES_IN_FLIGHT) throw new Error('too many batches are under way');
    }
  }
}

function inspectBatch({ frames }: PeerBatch<Push>): void {
  const units = frames.map(({ link }) => link.unit);
  if (new Set(units).size !== units.length) throw new Error('a unit is in a batch twice');
  const payloads = frames.flatMap(({ frame }) => (frame.type === 'stage' ? [frame.update.payload] : []));
  if (new Set(payloads).size > 1) throw new Error('a batch has two updates');
}
