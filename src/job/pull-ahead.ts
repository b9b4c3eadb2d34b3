/** How many pulls a trainer makes ahead (async mode). */
import type * as z from 'zod';
import { hasLayers } from '../model/registry.ts';
import type { clusterCounts, ModelSpec, trainingFields } from './fields.ts';

interface AheadOptions {
  readonly training: Pick<
    z.output<z.ZodObject<typeof trainingFields>>,
    'mode' | 'pushEvery' | 'pullEvery' | 'pullAhead' | 'staleness'
  >;
  readonly model: Pick<ModelSpec, 'type'>;
  readonly cluster: Pick<z.output<z.ZodObject<typeof clusterCounts>>, 'trainers'>;
}

const DEFAULT_AHEAD = 2;

/**
 * What the job file says, or a default. Trainers of sparse models mostly wait for values, so they pull ahead as far as
 * the staleness bound leaves room. Trainers of layers mostly compute: pulling ahead would only make gradients older.
 */
export function pullAheadOf(file: AheadOptions): number {
  const { mode, pullAhead } = file.training;
  if (pullAhead !== undefined) return pullAhead;
  return mode === 'sync' || hasLayers(file.model) ? 0 : Math.min(DEFAULT_AHEAD, mostAhead(file));
}

/**
 * The pushes that trainers make between a pull and its use make its values older: with a staleness bound, those of all
 * of them together are to stay within it. With policy `wait` each pull says that all pushes before it have arrived.
 */
export function mostAhead({ training, cluster }: Pick<AheadOptions, 'training' | 'cluster'>): number {
  const { pushEvery, pullEvery, staleness } = training;
  if (staleness === undefined) return Number.POSITIVE_INFINITY;
  if (staleness.policy === 'wait') return 0;
  const pushes = Math.ceil(pullEvery / pushEvery);
  return Math.max(0, Math.floor((staleness.bound - (pushes - 1)) / (pushes * cluster.trainers)));
}
