/**
 * Async mode: when a pserver saves. At intervals counted from the end of the save before, after so many passes or
 * mini-batches, on request, and a last time. A request while a save is running is ignored (seeds/checkpointing.zh.md).
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import type { Job } from '../../../job/schema.ts';
import type { Snapshots } from './snapshots.ts';

export interface Checkpointing {
  /** What was saved, or undefined when a save was running already. */
  request(): Promise<CheckpointFile | undefined>;
  /**
   * The last save; waits for a running one first. Called again, it gives the same file, or tries again after a failure.
   */
  last(): Promise<CheckpointFile>;
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
  /** The index is lost, or a bug. */
  readonly onFatal: (error: unknown) => void;
}

export function createCheckpointing(options: CheckpointingOptions): Checkpointing {
  const { clock, log, when, snapshots, onFatal } = options;
  let running: Promise<CheckpointFile> | undefined;
  let final: Promise<CheckpointFile> | undefined;
  let stopped = false;
  let cancelTimer: Cancel = () => {};
  let saved = options.start;

  function arm(): void {
    cancelTimer();
    if (when.intervalMs === 'off' || stopped) return;
    cancelTimer = clock.after(when.intervalMs, () => begin('the interval'));
  }

  async function save(clean: boolean): Promise<CheckpointFile> {
    try {
      return await snapshots.save(clean);
    } finally {
      running = undefined;
      arm();
    }
  }

  /** A save that no request waits for. A failure of the disk is logged; the next save may succeed. */
  function begin(why: string): void {
    if (stopped || running !== undefined) return;
    log.debug(`saving a checkpoint: ${why}`);
    running = save(false);
    running.catch((error: unknown) => {
      // Abandoned by `stop`.
      if (stopped && isPaddletError(error, 'Interrupted')) return;
      if (isPaddletError(error, 'CheckpointNotWritten')) log.error(error.message, { hint: error.hint });
      else onFatal(error);
    });
  }

  arm();
  return {
    async request() {
      if (running !== undefined || stopped) return undefined;
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

/** Resolves however the save ends: its own caller gets the error. */
const settled = async (running: Promise<unknown> | undefined): Promise<void> => {
  await Promise.allSettled(running === undefined ? [] : [running]);
};
