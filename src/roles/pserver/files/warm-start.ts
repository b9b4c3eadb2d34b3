/** Fills shards without a state from another job's checkpoint. */
import type { ExpectedJob } from '../../../checkpoint/load/load.ts';
import { loadWarmStart, type WarmLoaded } from '../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../checkpoint/load/warm-plan.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { Parameters } from '../../../tensor/parameters.ts';

export interface WarmStartOptions {
  readonly context: RoleContext;
  readonly expected: ExpectedJob;
  readonly into: Parameters;
  /** Undefined: shards without a state keep their initial values. */
  readonly warmStart: WarmPlan | undefined;
}

/**
 * In a job with a warm start, the values taken over from the other job are the initial ones: a shard that loses its
 * state later starts from them again. Returns what was taken over.
 */
export async function warmUp(options: WarmStartOptions, shards: readonly number[]): Promise<readonly WarmLoaded[]> {
  const { context, expected, into, warmStart } = options;
  if (warmStart === undefined || shards.length === 0) return [];
  const { disk, log, clock } = context.host;
  const { parameters: spec, shards: shardCount } = expected;
  const startedMs = clock.monotonicMs();
  const loaded = await loadWarmStart({ disk, plan: warmStart, spec, shardCount, shards, into });
  for (const { name, rows, bytes } of loaded) {
    log.info(`warm start: ${name}`, { rows, bytes, job: warmStart.job, from: warmStart.from });
  }
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  log.info(`warm start: ${shards.length} shards are filled`, { tookMs });
  return loaded;
}
