import type { Job } from './schema.ts';

/** Time between checkpoints, bases or deltas, in milliseconds; undefined if the job does not save by time. */
export function saveIntervalMs({ intervalMs, delta }: Job['checkpoint']): number | undefined {
  if (delta !== undefined) return delta.intervalMs;
  return intervalMs === 'off' ? undefined : intervalMs;
}
