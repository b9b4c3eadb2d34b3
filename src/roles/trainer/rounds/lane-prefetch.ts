/** Prepares the batches of the next round while the pservers answer. */
import type { LaneBatches } from './lane-batches.ts';

type Prepare = (round: number, lanes: readonly number[]) => Promise<LaneBatches>;

interface Prefetched {
  readonly round: number;
  readonly lanes: readonly number[];
  readonly batches: Promise<LaneBatches>;
}

export class LanePrefetch {
  readonly #prepare: Prepare;
  #prefetched: Prefetched | undefined;

  constructor(prepare: Prepare) {
    this.#prepare = prepare;
  }

  start(round: number, lanes: readonly number[]): void {
    if (this.#prefetched?.round === round) return;
    const batches = this.#prepare(round, lanes);
    // A failure is seen by `take`.
    batches.catch(() => {});
    this.#prefetched = { round, lanes, batches };
  }

  /** The prefetched batches if they are of that round and those lanes; prepares them otherwise. */
  take(round: number, lanes: readonly number[]): Promise<LaneBatches> {
    const prefetched = this.#prefetched;
    this.#prefetched = undefined;
    if (prefetched?.round === round && areEqual(prefetched.lanes, lanes)) return prefetched.batches;
    return this.#prepare(round, lanes);
  }

  clear(): void {
    this.#prefetched = undefined;
  }
}

const areEqual = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i]);
