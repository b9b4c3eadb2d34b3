/** One direction of a connection: what is sent arrives in order, later, unless it is held up or cut. */
import type { Dice } from './dice.ts';
import type { SimulatedProcess } from './process.ts';
import type { Timeline } from './timeline.ts';

/** What may come between two machines. */
export interface Weather {
  readonly timeline: Timeline;
  readonly dice: Dice;
  /** Nothing gets through from one process to the other at present. */
  isBlocked(from: string, to: string): boolean;
  /** How many times longer than usual what one sends to the other is under way. */
  slowness(from: SimulatedProcess, to: SimulatedProcess): number;
}

const LATENCY_MS = [1, 15] as const;

export class Pipe {
  readonly from: SimulatedProcess;
  readonly to: SimulatedProcess;
  readonly #weather: Weather;
  #lastArrivalMs = 0;
  readonly #queue: (() => void)[] = [];
  /** Arrivals that were held up. */
  #held = 0;
  #isCut = false;

  constructor(weather: Weather, from: SimulatedProcess, to: SimulatedProcess) {
    this.#weather = weather;
    this.from = from;
    this.to = to;
  }

  /** `arrive` runs in the receiving process. */
  send(arrive: () => void): void {
    if (this.#isCut) return;
    this.#queue.push(arrive);
    this.#travel();
  }

  /** What is on its way, and what is sent later, gets lost. */
  cut(): void {
    this.#isCut = true;
  }

  /** Sends on what was held up. */
  unblock(): void {
    const held = this.#held;
    this.#held = 0;
    for (let i = 0; i < held; i++) this.#travel();
  }

  #travel(): void {
    const { timeline, dice } = this.#weather;
    const latencyMs = dice.between(...LATENCY_MS) * this.#weather.slowness(this.from, this.to);
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, timeline.nowMs + latencyMs);
    timeline.at(this.#lastArrivalMs, () => this.#arrive());
  }

  /** Whatever event this is, what arrives is the oldest that has not. */
  #arrive(): void {
    if (this.#isCut) return;
    if (this.#held > 0 || this.#weather.isBlocked(this.from.name, this.to.name)) this.#held += 1;
    else this.to.deliver(this.#queue.shift()!);
  }
}
