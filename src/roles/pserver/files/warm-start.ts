/**
 * Fills shards without a state from another job's checkpoint. It waits for missing files of that checkpoint, as for
 * files of the job itself: they may have been moved or not be mounted yet, and this job cannot continue without them.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { ExpectedJob } from '../../../checkpoint/load/load.ts';
import { loadWarmStart, type WarmLoaded } from '../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import type { ParameterMemory } from '../../../tensor/parameters.ts';
import { type FileWait, type Look, untilFound, type WaitedFor, whyIncomplete } from './wait-for-files.ts';

export interface WarmStartOptions extends FileWait {
  readonly expected: ExpectedJob;
  readonly into: ParameterMemory;
  /** Undefined: shards without a state keep their initial values. */
  readonly warmStart: WarmPlan | undefined;
}

/**
 * In a job with a warm start, the values from the other job are the initial values: a shard that later loses its state
 * starts from them again. Returns the loaded parameters and tables.
 */
export async function warmUp(options: WarmStartOptions, shards: readonly number[]): Promise<readonly WarmLoaded[]> {
  const { context, warmStart } = options;
  if (warmStart === undefined || shards.length === 0 || warmStart.loaded.length === 0) return [];
  const { log, clock } = context.host;
  const startedMs = clock.monotonicMs();
  const loaded = await loadOnceFound(options, warmStart, shards);
  for (const { name, kind, rows, bytes } of loaded) {
    const what = kind === 'candidates' ? `candidates of ${name}` : name;
    log.info(`warm start: ${what}`, { rows, bytes, fromJob: warmStart.job, from: warmStart.from });
  }
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  log.info(`warm start: ${shards.length} shards are filled`, { tookMs });
  return loaded;
}

async function loadOnceFound(
  options: WarmStartOptions,
  plan: WarmPlan,
  shards: readonly number[],
): Promise<readonly WarmLoaded[]> {
  const { context, expected, into } = options;
  const { storage } = context.host;
  const { parameters: spec, shards: shardCount } = expected;
  const look = async (): Promise<Look<'complete'>> => {
    const missing = await whyIncomplete(storage, plan.from, plan.files);
    return missing === undefined ? { answer: 'complete' } : { missing };
  };
  await untilFound(options, look, filesOf(plan));
  try {
    return await loadWarmStart({ storage, plan, spec, shardCount, shards, into });
  } catch (error) {
    // One vanished since it was seen; nothing is loaded yet.
    if (isPaddletError(error, 'CheckpointMissing')) return loadOnceFound(options, plan, shards);
    if (!isPaddletError(error, 'CheckpointCorrupt')) throw error;
    throw new PaddletError('CheckpointCorrupt', `the warm start from job ${plan.job}: ${error.message}`, {
      hint: `restore an undamaged copy of the file, and start this job over; ${KEEP}`,
      cause: error,
    });
  }
}

const KEEP = 'keep the files until every pserver has published its own checkpoint';

const filesOf = ({ job, from }: WarmPlan): WaitedFor => ({
  files: `the files of job ${job} for the warm start`,
  hint:
    `mount ${from}, or put its files back: ${KEEP}; if they are permanently lost, start this job over (--fresh) with ` +
    'another warmStart',
});
