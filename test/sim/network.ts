/** The network between simulated processes: who listens where, what is connected, and what comes in between. */
import { PaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import type { Channel, ListenOptions, Network, RequestHandler, Server } from '../../src/protocol/messages/channel.ts';
import { SimulatedChannel } from './channel.ts';
import { Connection } from './connection.ts';
import type { Dice } from './dice.ts';
import type { Carrier, Weather } from './pipe.ts';
import { never, type SimulatedProcess } from './process.ts';
import { type SessionHooks, SimulatedSession } from './session.ts';
import type { Timeline } from './timeline.ts';

/** Ports beside one for each process: in few, an address is soon taken again by another process. */
const SPARE_PORTS = [2, 5, 53] as const;
const FIRST_PORT = 40_000;
const DIAL_MS = [0.5, 10] as const;

export interface NetworkOptions extends SessionHooks {
  /** That listen at one time. */
  readonly processes: number;
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly carrier?: Carrier | undefined;
  /** Stands between the wire and a role's handler: for tests that switch a check off. */
  readonly wrapHandler?: (server: SimulatedProcess, handler: RequestHandler) => RequestHandler;
}

interface Listener {
  readonly process: SimulatedProcess;
  readonly handler: RequestHandler;
  readonly sessions: Set<SimulatedSession>;
  isClosing: boolean;
  onEmpty: () => void;
}

interface Swapped {
  readonly client: string;
  readonly servers: readonly [string, string];
}

export class SimulatedNetwork implements Weather {
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly carrier: Carrier | undefined;
  readonly connections = new Set<Connection>();
  readonly #options: NetworkOptions;
  readonly #listeners = new Map<number, Listener>();
  readonly #swapped = new Set<Swapped>();
  readonly #blocked = new Map<string, number>();
  readonly #ports: number;
  readonly #slowPeers = new Set<{ readonly factor: number }>();

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.timeline = options.timeline;
    this.dice = options.dice;
    this.carrier = options.carrier;
    this.#ports = options.processes + options.dice.pick(SPARE_PORTS);
  }

  /** The network as one process has it. */
  of(process: SimulatedProcess): Network {
    return {
      listen: (options) => this.#listen(process, options),
      connect: (address): Channel => new SimulatedChannel(process, this, address),
    };
  }

  isBlocked(from: string, to: string): boolean {
    return (this.#blocked.get(`${from}>${to}`) ?? 0) > 0;
  }

  /** Nothing gets from one to the other until the cancel; a connection that is held up for long is considered dead. */
  block(from: string, to: string): Cancel {
    const way = `${from}>${to}`;
    this.#blocked.set(way, (this.#blocked.get(way) ?? 0) + 1);
    let isOver = false;
    for (const connection of this.connections) {
      if (connection.client.name === from && connection.server.name === to) {
        connection.silent(connection.client, () => !isOver);
      } else if (connection.server.name === from && connection.client.name === to) {
        connection.silent(connection.server, () => !isOver);
      }
    }
    return () => {
      if (isOver) return;
      isOver = true;
      this.#blocked.set(way, this.#blocked.get(way)! - 1);
      if (!this.isBlocked(from, to)) for (const connection of this.connections) connection.unblock();
    };
  }

  /** Until the cancel, what pservers say to each other is so many times longer under way. */
  slowPeers(factor: number): Cancel {
    const slow = { factor };
    this.#slowPeers.add(slow);
    return () => void this.#slowPeers.delete(slow);
  }

  slowness(from: SimulatedProcess, to: SimulatedProcess): number {
    const slowness = Math.max(from.slowness, to.slowness);
    if (this.#slowPeers.size === 0 || from.role !== 'pserver' || to.role !== 'pserver') return slowness;
    return Math.max(slowness, ...[...this.#slowPeers].map(({ factor }) => factor));
  }

  /**
   * Until the cancel the client reaches one server where it looks for the other, as when both have changed addresses
   * and it has not heard of that. What is connected breaks now and at the end.
   */
  swap(client: string, servers: readonly [string, string]): Cancel {
    const swapped: Swapped = { client, servers };
    const breakAll = (): void => {
      for (const connection of [...this.connections]) {
        if (connection.client.name === client && servers.includes(connection.server.name)) connection.sever(true, true);
      }
    };
    this.#swapped.add(swapped);
    breakAll();
    return () => {
      this.#swapped.delete(swapped);
      breakAll();
    };
  }

  /** The process has stopped; its peers notice in time. */
  stopped(process: SimulatedProcess, isStill: () => boolean): void {
    for (const connection of this.#connectionsOf(process)) connection.silent(process, isStill);
  }

  died(process: SimulatedProcess, silently: boolean): void {
    for (const [port, listener] of this.#listeners) if (listener.process === process) this.#listeners.delete(port);
    for (const connection of this.#connectionsOf(process)) connection.died(process, silently);
  }

  dial(
    client: SimulatedProcess,
    address: string,
    events: { opened(connection: Connection, session: SimulatedSession): boolean; failed(reason: string): void },
  ): void {
    const port = Number(address.slice(address.lastIndexOf(':') + 1));
    const { timeline, dice } = this;
    const travelMs = (): number => dice.between(...DIAL_MS) * client.slowness;
    timeline.after(travelMs(), () => {
      const listener = this.#reached(client, port);
      if (listener === undefined) {
        timeline.after(travelMs(), () => client.deliver(() => events.failed('connection refused')));
        return;
      }
      const server = listener.process;
      if (client.isDead || this.isBlocked(client.name, server.name) || this.isBlocked(server.name, client.name)) return;
      server.deliver(() => {
        if (!client.isDead) this.#accept(client, listener, events);
      });
    });
  }

  #accept(client: SimulatedProcess, listener: Listener, events: Parameters<SimulatedNetwork['dial']>[2]): void {
    const connection: Connection = new Connection(this, client, listener.process, () => {
      this.connections.delete(connection);
    });
    if (listener.isClosing) {
      connection.toClient(() => events.failed('the server is closing'));
      return;
    }
    this.connections.add(connection);
    const session = new SimulatedSession(connection, listener.handler, this.#options);
    listener.sessions.add(session);
    session.onClosed(() => {
      listener.sessions.delete(session);
      if (listener.isClosing && listener.sessions.size === 0) listener.onEmpty();
    });
    connection.toClient(() => {
      // The client has given up in the meantime: the server hears of it.
      if (!events.opened(connection, session)) {
        connection.joinClient({ ended: () => {} });
        connection.endClient('given up');
      }
    });
  }

  #listen(process: SimulatedProcess, options: ListenOptions): Promise<Server> {
    if (!process.operate()) return never();
    const port = this.#freePort();
    const { wrapHandler } = this.#options;
    const listener: Listener = {
      process,
      handler: wrapHandler === undefined ? options.handler : wrapHandler(process, options.handler),
      sessions: new Set(),
      isClosing: false,
      onEmpty: () => {},
    };
    this.#listeners.set(port, listener);
    return Promise.resolve({ port, close: () => this.#close(port, listener) });
  }

  #close(port: number, listener: Listener): Promise<void> {
    if (!listener.process.operate()) return never();
    return new Promise((resolve) => {
      listener.isClosing = true;
      this.#listeners.delete(port);
      listener.onEmpty = resolve;
      for (const session of [...listener.sessions]) session.drain();
      if (listener.sessions.size === 0) resolve();
    });
  }

  #reached(client: SimulatedProcess, port: number): Listener | undefined {
    const listener = this.#listeners.get(port);
    const name = listener?.process.name ?? '';
    for (const swapped of this.#swapped) {
      if (swapped.client !== client.name || !swapped.servers.includes(name)) continue;
      const other = swapped.servers.find((server) => server !== name);
      return [...this.#listeners.values()].find(({ process }) => process.name === other);
    }
    return listener;
  }

  #freePort(): number {
    const all = Array.from({ length: this.#ports }, (_, port) => FIRST_PORT + port);
    const free = all.filter((port) => !this.#listeners.has(port));
    if (free.length === 0) throw new PaddletError('PortInUse', 'all simulated ports are in use');
    return this.dice.pick(free);
  }

  #connectionsOf(process: SimulatedProcess): Connection[] {
    return [...this.connections].filter(({ client, server }) => client === process || server === process);
  }
}
