/**
 * One connection between two simulated processes; each end may learn of its end at another time, or by silence only.
 */

import type { Cargo } from './parcel.ts';
import { Pipe, type Weather } from './pipe.ts';
import type { SimulatedProcess } from './process.ts';

export interface ConnectionEnd {
  /** Called once, in the process of this end. */
  ended(reason: string): void;
}

/**
 * When a peer that says nothing is considered dead: four intervals of three seconds
 * (src/protocol/websocket/liveness.ts).
 */
export const SILENCE_MS = [12_000, 15_000] as const;

export class Connection {
  readonly client: SimulatedProcess;
  readonly server: SimulatedProcess;
  readonly #up: Pipe;
  readonly #down: Pipe;
  readonly #weather: Weather;
  readonly #over: () => void;
  #clientEnd: ConnectionEnd | undefined;
  #serverEnd: ConnectionEnd | undefined;

  constructor(weather: Weather, client: SimulatedProcess, server: SimulatedProcess, over: () => void) {
    this.client = client;
    this.server = server;
    this.#weather = weather;
    this.#up = new Pipe(weather, client, server);
    this.#down = new Pipe(weather, server, client);
    this.#over = over;
  }

  joinClient(end: ConnectionEnd): void {
    this.#clientEnd = end;
  }

  joinServer(end: ConnectionEnd): void {
    this.#serverEnd = end;
  }

  toServer(arrive: () => void, cargo?: Cargo): void {
    this.#up.send(() => {
      if (this.#serverEnd !== undefined) arrive();
    }, cargo);
  }

  toClient(arrive: () => void, cargo?: Cargo): void {
    this.#down.send(arrive, cargo);
  }

  /** The client closes, or takes the connection for lost; the server hears of it if it can. */
  endClient(reason: string): void {
    const end = this.#clientEnd;
    if (end === undefined) return;
    this.#clientEnd = undefined;
    this.#up.send(() => this.endServer('the client closed'));
    end.ended(reason);
    this.#settle();
  }

  endServer(reason: string): void {
    const end = this.#serverEnd;
    if (end === undefined) return;
    this.#serverEnd = undefined;
    this.#down.send(() => this.endClient(reason));
    end.ended(reason);
    this.#settle();
  }

  #settle(): void {
    if (this.#clientEnd === undefined && this.#serverEnd === undefined) this.#over();
  }

  /** What is on its way is lost. An end that is not told finds out by silence. */
  sever(tellClient: boolean, tellServer: boolean): void {
    this.#up.cut();
    this.#down.cut();
    this.#tell(tellClient, this.client, () => this.endClient('connection reset'));
    this.#tell(tellServer, this.server, () => this.endServer('connection reset'));
  }

  /** The process is gone. Its kernel says so to the peer, unless the machine is gone as well. */
  died(process: SimulatedProcess, silently: boolean): void {
    const isClient = process === this.client;
    if (isClient) this.#clientEnd = undefined;
    else this.#serverEnd = undefined;
    const end = isClient ? () => this.endServer('the client died') : () => this.endClient('the server died');
    const out = isClient ? this.#up : this.#down;
    if (silently) {
      out.cut();
      this.#tell(false, isClient ? this.server : this.client, end);
    } else out.send(end);
    this.#settle();
  }

  /** The peers of a process that has stopped lose patience, if it does not run again before. */
  silent(process: SimulatedProcess, isStill: () => boolean): void {
    const { timeline, dice } = this.#weather;
    const isClient = process === this.client;
    timeline.after(dice.between(...SILENCE_MS), () => {
      if (!isStill()) return;
      if (isClient) this.server.deliver(() => this.endServer('peer is silent'));
      else this.client.deliver(() => this.endClient('peer is silent'));
    });
  }

  /** Either way is free again. */
  unblock(): void {
    this.#up.unblock();
    this.#down.unblock();
  }

  #tell(atOnce: boolean, process: SimulatedProcess, end: () => void): void {
    const { timeline, dice } = this.#weather;
    const afterMs = atOnce ? dice.between(0.1, 30) : dice.between(...SILENCE_MS);
    timeline.after(afterMs, () => process.deliver(end));
  }
}
