/** Pservers with copies of each other's units on one store, over connections that break, at the times of a seed. */
import type { HeadProposal, UnitHead } from '../../../../src/core/replicas/events.ts';
import { isIn } from '../../../../src/core/replicas/messages.ts';
import { roomOfPart } from '../../../../src/core/replicas/peer-link.ts';
import { Replica } from '../../../../src/core/replicas/replica.ts';
import { isSameOwner, type UnitOwner } from '../../../../src/core/units/move-messages.ts';
import type { Cluster } from '../../../core/replicas/link-cluster.ts';
import { aliveHead, optionsOf, type Sizes } from '../../../core/replicas/link-pserver.ts';
import { createDice, type Dice } from '../../../sim/dice.ts';
import { SimulatedProcess } from '../../../sim/process.ts';
import { Timeline } from '../../../sim/timeline.ts';
import { HostedPserver, type PserverWorld } from './hosted-pserver.ts';
import { LinkNetwork } from './link-network.ts';

const SILENCE_MS = 2_000;
/** How long the answer of the store is under way, and what it tells of. */
const STORE_MS = [1, 40] as const;
const SEEN_MS = [1, 200] as const;
/** How often a pserver looks whether it is to join, or was left out. */
const REPAIR_MS = 500;
const LONG_MS = 120_000;

export class HostedCluster implements PserverWorld {
  readonly timeline = new Timeline();
  readonly dice: Dice;
  readonly network: LinkNetwork;
  readonly sizes: Sizes;
  readonly silenceMs = SILENCE_MS;
  readonly pservers: HostedPserver[];
  readonly heads: UnitHead[];
  readonly bugs: unknown[] = [];
  readonly #shape: Cluster;
  #pushes = 0;

  constructor(shape: Cluster, seed: number) {
    this.#shape = shape;
    this.dice = createDice(seed, 'links');
    this.network = new LinkNetwork(this.timeline, this.dice);
    const windowBytes = shape.windowPushes * roomOfPart(shape.pushBytes);
    const largestBytes = shape.copies.length * roomOfPart(shape.pushBytes);
    const lateBytes = (shape.pservers - 1) * Math.max(windowBytes, largestBytes);
    this.sizes = { windowBytes, lateBytes, largestBytes };
    this.pservers = Array.from({ length: shape.pservers }, (_, index) => {
      const identity = { name: `pserver ${index}`, role: 'pserver', life: 1 } as const;
      const process = new SimulatedProcess(identity, this.timeline, this.dice);
      return new HostedPserver({ index, token: '1' }, process, this);
    });
    for (const pserver of this.pservers) this.network.listeners.set(this.addressOf(pserver.me)!, pserver);
    this.heads = shape.copies.map(([first], unit) => {
      const { me } = this.pservers[first!]!;
      const head = { epoch: 1, primary: me, inSync: [me] };
      this.pservers[first!]!.addCopy(unit, Replica.taken(head, 0, optionsOf(unit, me)), []);
      return head;
    });
  }

  get pushes(): number {
    return this.#pushes;
  }

  // ---- what pservers ask of it

  addressOf({ index }: UnitOwner): string | undefined {
    return this.pservers?.[index]?.process.isDead === true ? undefined : `pserver:${index}`;
  }

  onFatal(error: unknown): void {
    this.bugs.push(error);
  }

  propose(pserver: HostedPserver, unit: number, proposal: HeadProposal): void {
    const { from, alive, gone } = proposal;
    this.#atStore(pserver, () => {
      const head = this.heads[unit]!;
      const holds = head.epoch === from && alive.every(this.isAlive) && !gone.some(this.isAlive);
      if (holds) this.#change(unit, proposal.head);
      if (this.dice.chance(0.1)) return () => pserver.step(unit, { type: 'decided', from, outcome: 'unknown' });
      const outcome = holds ? ({ outcome: 'succeeded' } as const) : ({ outcome: 'failed', head } as const);
      return () => pserver.step(unit, { type: 'decided', from, ...outcome });
    });
  }

  look(pserver: HostedPserver, unit: number): void {
    this.#atStore(pserver, () => {
      const head = this.heads[unit]!;
      const isPrimaryAlive = this.isAlive(head.primary);
      return () => pserver.step(unit, aliveHead(head, isPrimaryAlive));
    });
  }

  readonly isAlive = ({ index }: UnitOwner): boolean => !this.pservers[index]!.process.isDead;

  // ---- what may happen

  push(index: number, isOfOneUnit: boolean): void {
    const pserver = this.pservers[index]!;
    const led = this.heads.flatMap((_, unit) => (pserver.leads(unit) ? [unit] : []));
    if (pserver.process.isDead || led.length === 0) return;
    this.#pushes += 1;
    pserver.push(this.#pushes, isOfOneUnit ? [this.dice.pick(led)] : led, this.#shape.pushBytes);
  }

  /** Its trainer dies while it waits. */
  cancel(index: number): void {
    const { asked } = this.pservers[index]!;
    const id = this.dice.pick([...asked.keys(), 0]);
    asked.get(id)?.();
    asked.delete(id);
  }

  break(): void {
    const channels = [...this.network.channels];
    if (channels.length > 0) this.dice.pick(channels).break();
  }

  freeze(index: number, ms: number): void {
    const { process } = this.pservers[index]!;
    if (process.isDead || process.isStopped) return;
    process.stop();
    this.timeline.after(ms, () => {
      process.resume();
      process.deliver(() => this.pservers[index]!.all(() => ({ type: 'resumed' })));
    });
  }

  handOver(unit: number, to: number): void {
    const { primary, inSync } = this.heads[unit]!;
    const { me } = this.pservers[to]!;
    const leader = this.pservers[primary.index]!;
    if (!isIn(inSync, me)) return;
    leader.process.deliver(() => leader.step(unit, { type: 'handOver', to: me }));
  }

  kill(index: number): void {
    const dead = this.pservers[index]!;
    dead.process.die();
    dead.end();
    for (const channel of [...this.network.channels]) if (channel.process === dead.process) channel.close();
    for (const other of this.pservers) {
      if (other === dead) continue;
      this.network.later(...SEEN_MS, () => other.process.deliver(() => this.#reportGone(other, dead.me)));
    }
    this.heads.forEach((head, unit) => {
      if (isSameOwner(head.primary, dead.me)) this.#tell(unit);
    });
  }

  /** Copies that are missing are made, and those that have come to nothing are freed. */
  repair(): void {
    this.heads.forEach((_, unit) => {
      for (const to of this.#shape.copies[unit]!) {
        this.#abandon(unit, this.pservers[to]!);
        this.#join(unit, this.pservers[to]!);
      }
    });
  }

  // ---- time

  async pass(ms: number): Promise<void> {
    let isOver = false;
    this.timeline.after(ms, () => {
      isOver = true;
    });
    await this.timeline.run(() => isOver, Number.POSITIVE_INFINITY);
  }

  /** Gives false when there is something to do still after a long time. */
  async settle(isQuiet: () => boolean): Promise<boolean> {
    for (const untilMs = this.timeline.nowMs + LONG_MS; this.timeline.nowMs < untilMs; ) {
      this.repair();
      await this.pass(REPAIR_MS);
      if (isQuiet()) return true;
    }
    return false;
  }

  /** Gives false when something is still to come then. */
  async end(): Promise<boolean> {
    for (const pserver of this.pservers) pserver.end();
    return (await this.timeline.run(() => false, this.timeline.nowMs + LONG_MS)) === 'idle';
  }

  // ----

  #atStore(pserver: HostedPserver, ask: () => () => void): void {
    this.network.later(...STORE_MS, () => {
      const answer = ask();
      this.network.later(...STORE_MS, () => pserver.process.deliver(answer));
    });
  }

  #change(unit: number, head: UnitHead): void {
    this.heads[unit] = head;
    this.#tell(unit);
  }

  #tell(unit: number): void {
    const head = this.heads[unit]!;
    const isPrimaryAlive = this.isAlive(head.primary);
    for (const pserver of this.pservers)
      this.network.later(...SEEN_MS, () =>
        pserver.process.deliver(() => {
          pserver.step(unit, aliveHead(head, isPrimaryAlive));
          for (const other of this.pservers) if (other.process.isDead) this.#reportGone(pserver, other.me);
        }),
      );
  }

  #reportGone(pserver: HostedPserver, owner: UnitOwner): void {
    pserver.all(() => ({ type: 'gone', owner }));
    pserver.host.gone(owner);
  }

  #join(unit: number, joiner: HostedPserver): void {
    const head = this.heads[unit]!;
    const primary = this.pservers[head.primary.index]!;
    const led = primary.units.get(unit);
    if (isIn(head.inSync, joiner.me) || joiner.units.has(unit) || led?.replica.admits('read') !== true) return;
    if (joiner.process.isDead || joiner.process.isStopped || primary.process.isDead || primary.process.isStopped)
      return;
    if (isIn(led.replica.peers(), joiner.me)) return;
    joiner.addCopy(unit, Replica.copied(head, led.replica.state().log.committed), led.applied);
    primary.step(unit, { type: 'join', joiner: joiner.me });
  }

  /** The primary that copies a unit tells the joiner when that comes to nothing. */
  #abandon(unit: number, joiner: HostedPserver): void {
    const { me, process, units } = joiner;
    const { primary, inSync } = this.heads[unit]!;
    const role = units.get(unit)?.replica.state().role;
    if (process.isDead || role?.is !== 'backup' || role.madeBy === undefined || isIn(inSync, me)) return;
    const led = this.isAlive(primary) ? this.pservers[primary.index]!.units.get(unit)?.replica.peers() : [];
    if (!isIn(led ?? [], me)) joiner.free(unit);
  }
}
