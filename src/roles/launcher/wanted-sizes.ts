/**
 * How many pservers and trainers a run keeps: `/ps_desired` and `/trainers_desired`, which a resize changes. None when
 * there is a `/result`.
 */
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import { parseTrainersDesired } from '../../cluster/job/trainers-desired.ts';
import { parseDesired } from '../../cluster/placement/ps-desired.ts';
import { followKey } from '../../store/follow-key.ts';
import type { Keys } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { KeyValue, Store } from '../../store/store.ts';

export interface Sizes {
  readonly pservers: number;
  readonly trainers: number;
}

export interface SizesOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long a store that does not answer is asked whether a process is still wanted. */
const LOOK_WITHIN_MS = 2_000;

export class WantedSizes {
  readonly #options: SizesOptions;
  readonly #cancels: readonly Cancel[];
  #sizes: Sizes;
  #onChange: () => void = () => {};
  #onJobEnd: (result: KeyValue) => void = () => {};
  #result: KeyValue | undefined;

  /** `initial` holds for as long as the keys are missing: the job is not published yet. */
  constructor(options: SizesOptions, initial: Sizes) {
    this.#options = options;
    this.#sizes = initial;
    const { store, keys, clock } = options;
    const handlers = {
      onValue: (entry: KeyValue | undefined): void => this.#observe(entry),
      // The roles notice the same and end; so does the run.
      onEnd: () => {},
    };
    this.#cancels = [keys.psDesired, keys.trainersDesired, keys.result].map((key) =>
      followKey(store, key, handlers, clock),
    );
  }

  current(): Sizes {
    return this.#sizes;
  }

  /** `run` is called after each change. */
  onChange(run: () => void): void {
    this.#onChange = run;
  }

  /** `run` is called once, with the `/result`. */
  onJobEnd(run: (result: KeyValue) => void): void {
    this.#onJobEnd = run;
    if (this.#result !== undefined) run(this.#result);
  }

  /**
   * Brings `current` up to date. Returns whether the job has ended; undefined when the store does not answer soon, or
   * can no longer be used.
   */
  async look(): Promise<boolean | undefined> {
    const { store, keys, clock, log } = this.#options;
    const gets = [keys.psDesired, keys.trainersDesired, keys.result].map((get) => ({ get }));
    const asking = { clock, log, store, limitMs: LOOK_WITHIN_MS, signal: new AbortController().signal };
    try {
      const { results } = await retryUntilAnswered(asking, () => store.txn({ if: [], then: gets }));
      const [pservers, trainers, result] = results;
      this.#observe(pservers);
      this.#observe(trainers);
      this.#observe(result);
      return result !== undefined;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      return undefined;
    }
  }

  cancel(): void {
    for (const cancel of this.#cancels) cancel();
  }

  #observe(entry: KeyValue | undefined): void {
    if (entry === undefined) return;
    if (entry.key === this.#options.keys.result) {
      if (this.#result === undefined) this.#onJobEnd(entry);
      this.#result ??= entry;
      return;
    }
    const { pservers, trainers } = this.#sizes;
    if (entry.key === this.#options.keys.psDesired) this.#set({ pservers: parseDesired(entry), trainers });
    else this.#set({ pservers, trainers: parseTrainersDesired(entry).trainers });
  }

  #set(sizes: Sizes): void {
    const { pservers, trainers } = this.#sizes;
    if (sizes.pservers === pservers && sizes.trainers === trainers) return;
    this.#sizes = sizes;
    this.#onChange();
  }
}
