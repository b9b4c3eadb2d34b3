/**
 * Async mode: when a pserver saves. At intervals counted from the end of the save before, after so many passes or
 * mini-batches, on request, a first time after a warm start, and a last time. A request while a save is running is
 * ignored (seeds/checkpointing.zh.md). A save that the disk refused is tried again soon, while training continues.
 */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
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

export function createCheckpointing(options: CheckpointingOptions): Checkpointing {
  const { clock, log, when, snapshots, isEmpty } = options;
  let running: Promise<CheckpointFile> | undefined;
  let final: Promise<CheckpointFile> | undefined;
  let stopped = false;
  let cancelTimer: Cancel = () => {};
  let saved = options.start;
  /** Saves in a row that the disk refused. */
  let refused = 0;

  function arm(): void {
    cancelTimer();
    const { delayMs, why } = nextSave(when, refused);
    if (delayMs === Number.POSITIVE_INFINITY || stopped) return;
    cancelTimer = clock.after(delayMs, () => begin(why));
  }

  async function save(clean: boolean): Promise<CheckpointFile> {
    try {
      const file = await snapshots.save(clean);
      refused = 0;
      return file;
    } catch (error) {
      if (isPaddletError(error, 'CheckpointNotWritten')) refused += 1;
      throw error;
    } finally {
      running = undefined;
      arm();
    }
  }

  /** A save that no request waits for. A failure of the disk is logged; the next save may succeed. */
  function begin(why: string): void {
    if (stopped || running !== undefined) return;
    if (isEmpty()) return void arm();
    log.debug(`saving a checkpoint: ${why}`);
    running = save(false);
    running.catch((error: unknown) => tellFailure(options, stopped, error));
  }

  if (options.savesAtOnce) begin('the values of the warm start have none yet');
  else arm();
  return {
    saveAtOnce: begin,
    async request() {
      if (running !== undefined || stopped || isEmpty()) return undefined;
      running = save(false);
      return running;
    },
    last() {
      stopped = true;
      cancelTimer();
      snapshots.endRateLimit();
      final ??= settled(running)
        .then(() => save(true))
        .catch((error: unknown) => {
          final = undefined;
          throw error;
        });
      return final;
    },
    resume() {
      stopped = false;
      final = undefined;
      arm();
    },
    progressed(passes, batches) {
      const { everyPasses, everyBatches } = when;
      const passesDue = everyPasses !== undefined && passes - saved.passes >= everyPasses;
      const batchesDue = everyBatches !== undefined && batches - saved.batches >= everyBatches;
      if (!passesDue && !batchesDue) return;
      if (running !== undefined || stopped) return;
      saved = { passes, batches };
      begin(passesDue ? `${passes} passes are complete` : `${batches} mini-batches are applied`);
    },
    async stop() {
      stopped = true;
      cancelTimer();
      snapshots.abandon();
      await settled(running);
      await settled(final);
    },
  };
}

/** `refused`: saves in a row that the disk refused. Infinite when there is none. */
function nextSave({ intervalMs: interval }: Job['checkpoint'], refused: number) {
  const intervalMs = interval === 'off' ? Number.POSITIVE_INFINITY : interval;
  const againMs = refused === 0 ? Number.POSITIVE_INFINITY : backoffMs(refused - 1, TRY_AGAIN);
  return { delayMs: Math.min(intervalMs, againMs), why: againMs < intervalMs ? 'the last one failed' : 'the interval' };
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
