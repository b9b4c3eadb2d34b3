/** How many pulls a trainer makes ahead (async mode). */
import type * as z from 'zod';
import type { clusterCounts, trainingFields } from './fields.ts';

interface AheadOptions {
  readonly training: Pick<
    z.output<z.ZodObject<typeof trainingFields>>,
    'mode' | 'pushEvery' | 'pullEvery' | 'pullAhead' | 'staleness'
  >;
  readonly cluster: Pick<z.output<z.ZodObject<typeof clusterCounts>>, 'trainers'>;
}

const DEFAULT_AHEAD = 2;

/** What the job file says, or as many as its staleness bound leaves room for. */
export function pullAheadOf(file: AheadOptions): number {
  const { mode, pullAhead } = file.training;
  return pullAhead ?? (mode === 'sync' ? 0 : Math.min(DEFAULT_AHEAD, mostAhead(file)));
}

/**
 * The pushes that trainers make between a pull and its use make its values older: with a staleness bound, those of all
 * of them together are to stay within it. With policy `wait` each pull says that all pushes before it have arrived.
 */
export function mostAhead({ training, cluster }: AheadOptions): number {
  const { pushEvery, pullEvery, staleness } = training;
  if (staleness === undefined) return Number.POSITIVE_INFINITY;
  if (staleness.policy === 'wait') return 0;
  const pushes = Math.ceil(pullEvery / pushEvery);
  return Math.max(0, Math.floor((staleness.bound - (pushes - 1)) / (pushes * cluster.trainers)));
}
