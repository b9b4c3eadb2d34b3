/** Keeps saved models under names, whatever the pservers keep of their files, and scores them. */
import { type Backoff, backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Host } from '../../../base/seams.ts';
import type { KeptFile } from '../../../checkpoint/registry/kept-key.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { Metrics } from '../../../cluster/job/job-result.ts';
import { pauseOrAborted } from '../../../cluster/waiting.ts';
import type { Fence } from '../../../store/fence.ts';

export interface KeptJob {
  readonly context: RoleContext;
  /** Of the master's lock. */
  readonly fence: Fence;
  readonly record: JobRecord;
  readonly checkpointFolder: string;
}

export interface ModelKeeper {
  /** Gives the files that name. `CheckpointMissing` when one is missing, or the errors of the storage. */
  keep(name: string, files: readonly KeptFile[]): Promise<void>;
  /** Names of all models of the job that are kept. First deletes what a master before had not deleted. */
  names(): Promise<readonly string[]>;
  remove(name: string): Promise<void>;
  score(name: string, signal: AbortSignal): Promise<Metrics>;
  /** Path of the manifest of the model. */
  pathOf(name: string): string;
}

export interface KeepOptions {
  readonly keeper: Pick<ModelKeeper, 'keep'>;
  readonly host: Pick<Host, 'clock' | 'log'>;
  readonly name: string;
  readonly save: () => Promise<readonly KeptFile[]>;
  readonly signal: AbortSignal;
}

/** Files that newer ones have replaced are saved again; files that are somewhere else are never found. */
const MISSING_TRIES = 8;
const BETWEEN_TRIES: Backoff = { firstMs: 100, capMs: 10_000 };

/** Saves and keeps, until the disks take it. Throws `CheckpointMissing` when files are not found, `Interrupted`. */
export async function keepModel({ keeper, host, name, save, signal }: KeepOptions): Promise<void> {
  let missing = 0;
  for (let tries = 0; ; tries++) {
    try {
      await keeper.keep(name, await save());
      return;
    } catch (error) {
      const isMissing = isPaddletError(error, 'CheckpointMissing');
      // The error is of the disk, which may have room again later.
      const isOfDisk = isPaddletError(error, 'CheckpointNotWritten') || (!isPaddletError(error) && hasCode(error));
      if (isMissing) missing += 1;
      if (!isOfDisk && !(isMissing && missing < MISSING_TRIES)) throw error;
      host.log.error(`${name} is not kept yet: ${(error as Error).message}`);
      await pauseOrAborted(host.clock, backoffMs(tries, BETWEEN_TRIES), signal);
    }
  }
}

const hasCode = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException).code === 'string';
