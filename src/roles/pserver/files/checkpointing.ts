/**
 * Async mode: when a pserver saves. At intervals counted from the end of the save before, after so many passes or
 * mini-batches, on request, a first time after a warm start, and a last time. A request while a save is running is
 * ignored (seeds/checkpointing.zh.md). A save that the disk refused is tried again soon, while training continues.
 */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { createSignal, unlessStopped } from '../../../cluster/waiting.ts';
import type { Job } from '../../../job/schema.ts';
import type { Snapshots } from './snapshots.ts';

/** Pauses before a save that the disk refused is tried again, at the latest when the next one is due. */
const TRY_AGAIN: Backoff = { firstMs: 1_000, capMs: 30_000 };

export interface Checkpointing {
  /** A save that no request waits for, unless one is running already; `why` is for the log. */
  saveAtOnce(why: string): void;
  /** What was saved, or undefined when a save was running already. */
  request(): Promise<CheckpointFile | undefined>;
  /**
   * The last save; waits for a running one first. Called again, it gives the same file, or tries again after a failure.
   */
  last(): Promise<CheckpointFile>;
  /** After `last`: there is more to save, at intervals and a last time again. */
  resume(): void;
  /** Resolves when no save is running. None begins until the function given is called: what was asked for waits. */
  hold(): Promise<() => void>;
  /** To be called with what has been done so far: saves when it is time to. */
  progressed(passes: number, batches: number): void;
  /** No more saves begin, and none waits for an unreachable store; resolves when none is running. */
  stop(): Promise<void>;
}

export interface CheckpointingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly when: Job['checkpoint'];
  readonly snapshots: Pick<Snapshots, 'save' | 'endRateLimit' | 'abandon'>;
  readonly start: { readonly passes: number; readonly batches: number };
  /** Whatever `when` says: what the shards hold is in no checkpoint of this job yet. */
  readonly savesAtOnce: boolean;
  /** There is nothing to save. */
  readonly isEmpty: () => boolean;
  /** The index is lost, or a bug. */
  readonly onFatal: (error: unknown) => void;
}

export const createCheckpointing = (options: CheckpointingOptions): Checkpointing => new PacedSaves(options);

class PacedSaves implements Checkpointing {
  readonly #options: CheckpointingOptions;
  readonly #holds = new SaveHolds();
  readonly #abandoned = new AbortController();
  #running: Promise<CheckpointFile> | undefined;
  #final: Promise<CheckpointFile> | undefined;
  #isStopped = false;
  /** One waits until nothing holds it back. */
  #isWaiting = false;
  #cancelTimer: Cancel = () => {};
  #saved: CheckpointingOptions['start'];
  /** Saves in a row that the disk refused. */
  #refused = 0;

  constructor(options: CheckpointingOptions) {
    this.#options = options;
    this.#saved = options.start;
    if (options.savesAtOnce) this.saveAtOnce('the values of the warm start have no checkpoint yet');
    else this.#arm();
  }

  /** A failure of the disk is logged; the next save may succeed. */
  saveAtOnce(why: string): void {
    const { isEmpty, log } = this.#options;
    if (this.#isStopped || this.#running !== undefined) return;
    if (isEmpty()) this.#arm();
    else if (this.#holds.isHeld) this.#saveLater(why);
    else {
      log.debug(`saving a checkpoint: ${why}`);
      this.#running = this.#save(false);
      this.#running.catch((error: unknown) => tellFailure(this.#options, this.#isStopped, error));
    }
  }

  async request(): Promise<CheckpointFile | undefined> {
    // Without a wait when there is none, so that a second request finds the save running. The next hold may begin
    // before this one hears of the end of the last.
    while (this.#holds.isHeld) await this.#holds.released(this.#abandoned.signal);
    if (this.#running !== undefined || this.#isStopped || this.#options.isEmpty()) return undefined;
    this.#running = this.#save(false);
    return this.#running;
  }

  last(): Promise<CheckpointFile> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#options.snapshots.endRateLimit();
    this.#final ??= this.#saveLast().catch((error: unknown) => {
      this.#final = undefined;
      throw error;
    });
    return this.#final;
  }

  resume(): void {
    this.#isStopped = false;
    this.#final = undefined;
    this.#arm();
  }

  async hold(): Promise<() => void> {
    const release = this.#holds.hold();
    await settled(this.#running);
    return release;
  }

  progressed(passes: number, batches: number): void {
    const { everyPasses, everyBatches } = this.#options.when;
    const passesDue = everyPasses !== undefined && passes - this.#saved.passes >= everyPasses;
    const batchesDue = everyBatches !== undefined && batches - this.#saved.batches >= everyBatches;
    if (!passesDue && !batchesDue) return;
    if (this.#running !== undefined || this.#isStopped) return;
    this.#saved = { passes, batches };
    this.saveAtOnce(passesDue ? `${passes} passes are complete` : `${batches} mini-batches are applied`);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#options.snapshots.abandon();
    this.#abandoned.abort();
    await Promise.all([settled(this.#running), settled(this.#final)]);
  }

  #arm(): void {
    this.#cancelTimer();
    const { delayMs, why } = nextSave(this.#options.when, this.#refused);
    if (delayMs === Number.POSITIVE_INFINITY || this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.saveAtOnce(why));
  }

  async #save(clean: boolean): Promise<CheckpointFile> {
    try {
      const file = await this.#options.snapshots.save(clean);
      this.#refused = 0;
      return file;
    } catch (error) {
      if (isPaddletError(error, 'CheckpointNotWritten')) this.#refused += 1;
      throw error;
    } finally {
      this.#running = undefined;
      this.#arm();
    }
  }

  #saveLater(why: string): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const wait = async (): Promise<void> => {
      await this.#holds.released(this.#abandoned.signal).finally(() => {
        this.#isWaiting = false;
      });
      this.saveAtOnce(why);
    };
    wait().catch(unlessStopped(this.#abandoned.signal, this.#options.onFatal));
  }

  /** A running save is waited for first, and what holds saves back. */
  async #saveLast(): Promise<CheckpointFile> {
    await settled(this.#running);
    while (this.#holds.isHeld) await this.#holds.released(this.#abandoned.signal);
    this.#running = this.#save(true);
    return this.#running;
  }
}

/** `refused`: saves in a row that the disk refused. Infinite when there is none. */
function nextSave({ intervalMs: interval }: Job['checkpoint'], refused: number) {
  const intervalMs = interval === 'off' ? Number.POSITIVE_INFINITY : interval;
  const againMs = refused === 0 ? Number.POSITIVE_INFINITY : backoffMs(refused - 1, TRY_AGAIN);
  return {
    delayMs: Math.min(intervalMs, againMs),
    why: againMs < intervalMs ? 'the last checkpoint failed' : 'the interval',
  };
}

/** Of a save that no request waits for. */
function tellFailure({ log, onFatal }: CheckpointingOptions, isStopped: boolean, error: unknown): void {
  // Abandoned by `stop`.
  if (isStopped && isPaddletError(error, 'Interrupted')) return;
  if (isPaddletError(error, 'CheckpointNotWritten')) log.error(error.message, { hint: error.hint });
  else onFatal(error);
}

/** Resolves however the save ends: its own caller gets the error. */
const settled = async (running: Promise<unknown> | undefined): Promise<void> => {
  await Promise.allSettled(running === undefined ? [] : [running]);
};

/** Holds saves back while a unit is handed over, so that a file has each unit as its leader has it. */
class SaveHolds {
  readonly #released = createSignal();
  #holds = 0;

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Until the function returned is called; calling it again does nothing. */
  hold(): () => void {
    let isReleased = false;
    this.#holds += 1;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#holds -= 1;
      this.#released.notify();
    };
  }

  /** Resolves when nothing holds saves back. Throws `Interrupted`. */
  async released(signal: AbortSignal): Promise<void> {
    await this.#released.until(() => !this.isHeld || undefined, signal);
  }
}
