/** One direction of a connection: what is sent arrives in order, later, unless it is held up or cut. */
import type { Dice } from './dice.ts';
import type { Cargo } from './parcel.ts';
import type { SimulatedProcess } from './process.ts';
import type { Timeline } from './timeline.ts';

/** A network whose links have a bandwidth, between processes that take time for what they send and receive. */
export interface Carrier {
  /** When it has arrived at the other machine. */
  arrivesAtMs(from: SimulatedProcess, to: SimulatedProcess, cargo: Cargo | undefined): number;
  /** It has: `take` runs when the process has taken it in. */
  arrived(to: SimulatedProcess, cargo: Cargo | undefined, take: () => void): void;
}

/** What may come between two machines. */
export interface Weather {
  /** Undefined: whatever is sent takes a drawn time. */
  readonly carrier?: Carrier | undefined;
  readonly timeline: Timeline;
  readonly dice: Dice;
  /** Nothing gets through from one process to the other at present. */
  isBlocked(from: string, to: string): boolean;
  /** How many times longer than usual what one sends to the other is under way. */
  slowness(from: SimulatedProcess, to: SimulatedProcess): number;
}

const LATENCY_MS = [1, 15] as const;

interface Sent {
  readonly arrive: () => void;
  /** Undefined for what the kernels of two machines say to each other. */
  readonly cargo: Cargo | undefined;
}

export class Pipe {
  readonly from: SimulatedProcess;
  readonly to: SimulatedProcess;
  readonly #weather: Weather;
  #lastArrivalMs = 0;
  readonly #queue: Sent[] = [];
  /** Arrivals that were held up. */
  #held = 0;
  #isCut = false;

  constructor(weather: Weather, from: SimulatedProcess, to: SimulatedProcess) {
    this.#weather = weather;
    this.from = from;
    this.to = to;
  }

  /** `arrive` runs in the receiving process. */
  send(arrive: () => void, cargo?: Cargo): void {
    if (this.#isCut) return;
    this.#queue.push({ arrive, cargo });
    this.#travel(cargo);
  }

  /** What is on its way, and what is sent later, gets lost. */
  cut(): void {
    this.#isCut = true;
  }

  /** Sends on what was held up. */
  unblock(): void {
    const held = this.#held;
    this.#held = 0;
    for (let i = 0; i < held; i++) this.#travel(undefined);
  }

  #travel(cargo: Cargo | undefined): void {
    const { timeline } = this.#weather;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, this.#arrivesAtMs(cargo));
    timeline.at(this.#lastArrivalMs, () => this.#arrive());
  }

  #arrivesAtMs(cargo: Cargo | undefined): number {
    const { timeline, dice, carrier } = this.#weather;
    if (carrier !== undefined) return carrier.arrivesAtMs(this.from, this.to, cargo);
    return timeline.nowMs + dice.between(...LATENCY_MS) * this.#weather.slowness(this.from, this.to);
  }

  /** Whatever event this is, what arrives is the oldest that has not. */
  #arrive(): void {
    if (this.#isCut) return;
    if (this.#held > 0 || this.#weather.isBlocked(this.from.name, this.to.name)) {
      this.#held += 1;
      return;
    }
    const { arrive, cargo } = this.#queue.shift()!;
    const { carrier } = this.#weather;
    if (carrier === undefined) this.to.deliver(arrive);
    else carrier.arrived(this.to, cargo, () => this.to.deliver(arrive));
  }
}
