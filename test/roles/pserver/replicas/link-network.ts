/**
 * Connections between pservers with copies: what is asked on one arrives in order, later, until it breaks. What is on
 * its way then is lost, or arrives when there is another one.
 */
import { PaddletError } from '../../../../src/base/errors.ts';
import type { BatchAnswer, PeerBatch } from '../../../../src/core/replicas/peer-link.ts';
import type { UnitOwner } from '../../../../src/core/units/move-messages.ts';
import type { Channel, Network, RequestOptions } from '../../../../src/protocol/messages/channel.ts';
import type { PeerProtocol } from '../../../../src/roles/pserver/replicas/peer-connection.ts';
import type { Push } from '../../../core/replicas/link-pserver.ts';
import type { Dice } from '../../../sim/dice.ts';
import type { SimulatedProcess } from '../../../sim/process.ts';
import type { Timeline } from '../../../sim/timeline.ts';

/** What listens at an address. A session is told by its identity. */
export interface Listener {
  readonly process: SimulatedProcess;
  opened(primary: UnitOwner, session: object): number;
  received(primary: UnitOwner, session: object, batch: PeerBatch<Push>): Promise<BatchAnswer>;
}

const LATENCY_MS = [1, 15] as const;

const lost = (): PaddletError => new PaddletError('ConnectionLost', 'the connection was lost');

export class LinkNetwork {
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly listeners = new Map<string, Listener>();
  readonly channels = new Set<LinkChannel>();

  constructor(timeline: Timeline, dice: Dice) {
    this.timeline = timeline;
    this.dice = dice;
  }

  of(process: SimulatedProcess): Network {
    return {
      listen: () => Promise.reject(new Error('processes listen by themselves')),
      connect: (address) => {
        const channel = new LinkChannel(this, process, address);
        this.channels.add(channel);
        return channel;
      },
    };
  }

  later(low: number, high: number, run: () => void): void {
    this.timeline.after(this.dice.between(low, high), run);
  }
}

export class LinkChannel implements Channel {
  readonly address: string;
  readonly process: SimulatedProcess;
  readonly #network: LinkNetwork;
  readonly #pending = new Set<(error: PaddletError) => void>();
  #upMs = 0;
  #isBroken = false;
  isClosed = false;

  constructor(network: LinkNetwork, process: SimulatedProcess, address: string) {
    this.#network = network;
    this.process = process;
    this.address = address;
  }

  request(): never {
    throw new Error('the protocol of the test asks by itself');
  }

  sending(): undefined {
    return undefined;
  }

  /** The client hears of it soon. */
  break(): void {
    this.#isBroken = true;
    this.#network.later(1, 50, () => this.process.deliver(() => this.#fail()));
  }

  close(): void {
    this.isClosed = true;
    this.#network.channels.delete(this);
    this.#fail();
  }

  ask<T>({ timeoutMs }: RequestOptions, run: (listener: Listener) => Promise<T>): Promise<T> {
    const { timeline, dice, listeners } = this.#network;
    return new Promise((resolve, reject) => {
      const cancel = this.process.clock.after(timeoutMs, () => settle(new PaddletError('RequestTimeout', 'late')));
      const settle = (error: PaddletError): void => {
        cancel();
        this.#pending.delete(settle);
        reject(error);
      };
      this.#pending.add(settle);
      this.#upMs = Math.max(this.#upMs, timeline.nowMs + dice.between(...LATENCY_MS));
      timeline.at(this.#upMs, () => {
        const listener = listeners.get(this.address);
        if (this.#isBroken || listener === undefined || listener.process.isDead) return this.break();
        listener.process.deliver(() => {
          const back = (arrive: () => void): void =>
            this.#network.later(...LATENCY_MS, () => {
              if (!this.#isBroken) this.process.deliver(arrive);
            });
          run(listener).then(
            (value) =>
              back(() => {
                cancel();
                this.#pending.delete(settle);
                resolve(value);
              }),
            (error: PaddletError) => back(() => settle(error)),
          );
        });
      });
    });
  }

  #fail(): void {
    for (const settle of [...this.#pending]) settle(lost());
  }
}

export const protocolOf = (primary: UnitOwner): PeerProtocol<Push> => ({
  open: (channel, options) =>
    (channel as LinkChannel).ask(options, async (listener) => listener.opened(primary, channel)),
  send: (channel, batch, options) =>
    (channel as LinkChannel).ask(options, (listener) => listener.received(primary, channel, batch)),
});
