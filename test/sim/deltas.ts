import { createDice } from './dice.ts';
import type { Workload } from './workload.ts';

/** A job of a simulated schedule that saves often, and rarely whole shards. */
export function withDeltas(workload: Workload, seed: number): Workload {
  const dice = createDice(seed, 'deltas');
  const delta = { intervalMs: dice.pick([100, 200, 500]), maxShare: dice.pick([0.5, 3, 10]) };
  const intervalMs = dice.pick(['off', 2_000, 10_000] as const);
  return { ...workload, job: { ...workload.job, checkpoint: { ...workload.job.checkpoint, intervalMs, delta } } };
}
