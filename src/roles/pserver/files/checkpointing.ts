/**
 * When a pserver saves: at intervals counted from the end of the save before, after so many passes or mini-batches, when
 * asked, and a last time. A request while a save is running is ignored (seeds/checkpointing.zh.md).
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/capture.ts';
import type { Job } from '../../../job/schema.ts';
import type { Snapshots } from './snapshots.ts';

export interface Checkpointing {
  /** What was saved, or undefined when a save was running already. */
  request(): Promise<CheckpointFile | undefined>;
  /** The last one: waits for a running save first. Asked again, answers the same. */
  last(): Promise<CheckpointFile>;
  /** So much has been done so far: may be time to save. */
  progressed(passes: number, batches: number): void;
  /** No more saves begin, and none waits for a store that is away; resolves when none is running. */
  stop(): Promise<void>;
}

export interface CheckpointingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly when: Job['checkpoint'];
  readonly snapshots: Pick<Snapshots, 'save' | 'hurry' | 'end'>;
  readonly start: { readonly passes: number; readonly batches: number };
  /** The ownership is gone, or a bug. */
  readonly onEnd: (error: unknown) => void;
}

export function createCheckpointing(options: CheckpointingOptions): Checkpointing {
  const { clock, log, when, snapshots, onEnd } = options;
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

  /** A save that nobody waits for. A disk that does not take it is reported; the next time may be better. */
  function begin(why: string): void {
    if (stopped || running !== undefined) return;
    log.debug(`saving a checkpoint: ${why}`);
    running = save(false);
    running.catch((error: unknown) => {
      // Given up on purpose.
      if (stopped && isPaddletError(error, 'Interrupted')) return;
      if (isPaddletError(error, 'CheckpointNotWritten')) log.error(error.message, { hint: error.hint });
      else onEnd(error);
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
      snapshots.hurry();
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
      snapshots.end();
      await settled(running);
      await settled(final);
    },
  };
}

/** However it ends: whoever began it hears of a failure. */
const settled = async (running: Promise<unknown> | undefined): Promise<void> => {
  await Promise.allSettled(running === undefined ? [] : [running]);
};
