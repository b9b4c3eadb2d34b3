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

/** What is asked, until it is answered or fails. */
interface Asked<T> {
  readonly run: (listener: Listener) => Promise<T>;
  answered(value: T): void;
  failed(error: PaddletError): void;
}

export class LinkChannel implements Channel {
  readonly address: string;
  readonly process: SimulatedProcess;
  readonly #network: LinkNetwork;
  readonly #pending = new Set<(error: PaddletError) => void>();
  #upMs = 0;
  /** How much later the peer reads what was sent before the connection broke. Undefined: it has not broken. */
  #lateMs: number | undefined;

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

  /** No answer comes any more, which the client hears of soon. What was sent is lost, or read later. */
  break(): void {
    const { dice } = this.#network;
    this.#lateMs ??= dice.chance(0.5) ? Number.POSITIVE_INFINITY : dice.between(0, 500);
    this.#network.later(1, 50, () => this.process.deliver(() => this.#fail()));
  }

  close(): void {
    this.#network.channels.delete(this);
    this.#fail();
  }

  ask<T>({ timeoutMs }: RequestOptions, run: Asked<T>['run']): Promise<T> {
    return new Promise((resolve, reject) => {
      const failed = (error: PaddletError): void => {
        cancel();
        this.#pending.delete(failed);
        reject(error);
      };
      const cancel = this.process.clock.after(timeoutMs, () => failed(new PaddletError('RequestTimeout', 'late')));
      const answered = (value: T): void => {
        cancel();
        this.#pending.delete(failed);
        resolve(value);
      };
      this.#pending.add(failed);
      this.#send({ run, answered, failed });
    });
  }

  #send<T>(asked: Asked<T>): void {
    if (this.#lateMs !== undefined) {
      this.break();
      return;
    }
    const { timeline, dice } = this.#network;
    this.#upMs = Math.max(this.#upMs, timeline.nowMs + dice.between(...LATENCY_MS));
    timeline.at(this.#upMs, () => {
      if (this.#lateMs === undefined) this.#arrive(asked);
      else if (this.#lateMs < Number.POSITIVE_INFINITY) timeline.after(this.#lateMs, () => this.#arrive(asked));
    });
  }

  #arrive<T>({ run, answered, failed }: Asked<T>): void {
    const listener = this.#network.listeners.get(this.address);
    if (listener === undefined || listener.process.isDead) {
      this.break();
      return;
    }
    const back = (answer: () => void): void =>
      this.#network.later(...LATENCY_MS, () => {
        if (this.#lateMs === undefined) this.process.deliver(answer);
      });
    listener.process.deliver(() => {
      run(listener).then(
        (value) => back(() => answered(value)),
        (error: PaddletError) => back(() => failed(error)),
      );
    });
  }

  #fail(): void {
    for (const failed of [...this.#pending]) failed(new PaddletError('ConnectionLost', 'the connection was lost'));
  }
}

export const protocolOf = (primary: UnitOwner): PeerProtocol<Push> => ({
  open: (channel, options) =>
    (channel as LinkChannel).ask(options, async (listener) => listener.opened(primary, channel)),
  send: (channel, batch, options) =>
    (channel as LinkChannel).ask(options, (listener) => listener.received(primary, channel, batch)),
});
