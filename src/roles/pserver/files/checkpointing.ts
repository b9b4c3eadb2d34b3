/**
 * Async mode: decides when a pserver saves a checkpoint:
 * - at intervals, counted from the end of the last save
 * - after a number of passes or mini-batches
 * - on request, unless a save is running (seeds/checkpointing.zh.md)
 * - after a warm start, and when the pserver stops
 * It soon retries a save that the disk refused, while training continues.
 */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { createSignal, unlessStopped } from '../../../cluster/waiting.ts';
import { saveIntervalMs } from '../../../job/save-interval.ts';
import type { Job } from '../../../job/schema.ts';
import type { SaveKind, Snapshots } from './snapshots.ts';

/** Pauses before it retries a save that the disk refused. A retry comes no later than the next regular save. */
const TRY_AGAIN: Backoff = { firstMs: 1_000, capMs: 30_000 };

export interface Checkpointing {
  /** Starts a save in the background, unless one is running. `why` is for the log. */
  saveAtOnce(why: string): void;
  /** Saves, and returns the file; undefined if nothing was saved, for example because a save was running. */
  request(kind: SaveKind): Promise<CheckpointFile | undefined>;
  /**
   * The last save. It first waits for a running save. Called again, it returns the same file, or retries after a
   * failure.
   */
  last(): Promise<CheckpointFile>;
  /** After `last`, allows saves again: at intervals, and another last one. */
  resume(): void;
  /** Resolves when no save is running. Requested saves then wait until the caller calls the resolved function. */
  hold(): Promise<() => void>;
  /** The caller reports the passes and mini-batches done so far. Starts a save if one is due. */
  progressed(passes: number, batches: number): void;
  /** Starts no further saves, and no longer waits for an unreachable store. Resolves when no save is running. */
  stop(): Promise<void>;
}

export interface CheckpointingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly when: Job['checkpoint'];
  readonly snapshots: Pick<Snapshots, 'save' | 'endRateLimit' | 'abandon'>;
  readonly start: { readonly passes: number; readonly batches: number };
  /** Saves at the start regardless of `when`, because no checkpoint of this job has the state of the shards yet. */
  readonly savesAtOnce: boolean;
  /** Whether this pserver has nothing to save. */
  readonly isEmpty: () => boolean;
  /** Called if this pserver has lost its index, or has found a bug. */
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
  /** Whether a background save waits for the end of all holds. */
  #isWaiting = false;
  #cancelTimer: Cancel = () => {};
  #saved: CheckpointingOptions['start'];
  /** Number of consecutive saves that the disk refused. */
  #refused = 0;

  constructor(options: CheckpointingOptions) {
    this.#options = options;
    this.#saved = options.start;
    if (options.savesAtOnce) this.saveAtOnce('the values of the warm start have no checkpoint yet');
    else this.#arm();
  }

  /** Logs a failure of the disk, since the next save may succeed. */
  saveAtOnce(why: string): void {
    const { isEmpty, log } = this.#options;
    if (this.#isStopped || this.#running !== undefined) return;
    if (isEmpty()) this.#arm();
    else if (this.#holds.isHeld) this.#saveLater(why);
    else {
      log.debug(`saving a checkpoint: ${why}`);
      this.#running = this.#save('due');
      this.#running.catch((error: unknown) => reportFailure(this.#options, this.#isStopped, error));
    }
  }

  async request(kind: SaveKind): Promise<CheckpointFile | undefined> {
    // Does not wait unless saves are held, so that a second request finds the save running. Loops because another hold
    // may start before this code resumes.
    while (this.#holds.isHeld) await this.#holds.released(this.#abandoned.signal);
    if (this.#running !== undefined || this.#isStopped || this.#options.isEmpty()) return undefined;
    this.#running = this.#save(kind);
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

  async #save(kind: SaveKind): Promise<CheckpointFile> {
    try {
      const file = await this.#options.snapshots.save(kind);
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

  /** First waits for a running save, and for the end of all holds. */
  async #saveLast(): Promise<CheckpointFile> {
    await settled(this.#running);
    while (this.#holds.isHeld) await this.#holds.released(this.#abandoned.signal);
    this.#running = this.#save('last');
    return this.#running;
  }
}

/** `refused`: number of consecutive saves that the disk refused. `delayMs` is infinite if no save is due. */
function nextSave(when: Job['checkpoint'], refused: number) {
  const intervalMs = saveIntervalMs(when) ?? Number.POSITIVE_INFINITY;
  const againMs = refused === 0 ? Number.POSITIVE_INFINITY : backoffMs(refused - 1, TRY_AGAIN);
  return {
    delayMs: Math.min(intervalMs, againMs),
    why: againMs < intervalMs ? 'the last checkpoint failed' : 'the interval',
  };
}

/** Reports the failure of a save in the background. */
function reportFailure({ log, onFatal }: CheckpointingOptions, isStopped: boolean, error: unknown): void {
  // `stop` has abandoned the save.
  if (isStopped && isPaddletError(error, 'Interrupted')) return;
  if (isPaddletError(error, 'CheckpointNotWritten')) log.error(error.message, { hint: error.hint });
  else onFatal(error);
}

/** Resolves even if the save fails: the caller of the save gets the error. */
const settled = async (running: Promise<unknown> | undefined): Promise<void> => {
  await Promise.allSettled(running === undefined ? [] : [running]);
};

/** Holds saves back while a unit is handed over, so that a file has each unit in the state of its primary. */
class SaveHolds {
  readonly #released = createSignal();
  #holds = 0;

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Holds saves until the returned function is called. Further calls of that function do nothing. */
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
