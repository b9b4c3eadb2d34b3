/** The series about checkpoints on /metrics. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../base/seams.ts';

export interface SaveMetrics {
  saved(tookMs: number): void;
  /** The disk refused it. */
  failed(): void;
}

/** Seconds: from a small model to one that fills a disk. */
const SAVE_BUCKETS = [0.1, 0.5, 2, 10, 60, 300];

/** `isServing`: until then nothing can be saved, and a checkpoint has no age. */
export function registerSaveMetrics(
  registry: Registry,
  clock: Pick<Clock, 'monotonicMs'>,
  isServing: () => boolean,
): SaveMetrics {
  const outcomes = new Counter({
    name: 'paddlet_pserver_checkpoints_total',
    help: 'Checkpoints by outcome: saved, or failed as the disk refused them',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['saved', 'failed']) outcomes.inc({ outcome }, 0);
  const seconds = new Histogram({
    name: 'paddlet_pserver_checkpoint_seconds',
    help: 'Of each checkpoint that was saved: from its begin until it was published',
    buckets: SAVE_BUCKETS,
    registers: [registry],
  });
  let sinceMs: number | undefined;
  new Gauge({
    name: 'paddlet_pserver_checkpoint_age_seconds',
    help: 'Since this process saved a checkpoint, or else since it was first asked and had something to save',
    registers: [registry],
    collect() {
      if (!isServing()) return;
      sinceMs ??= clock.monotonicMs();
      this.set((clock.monotonicMs() - sinceMs) / 1000);
    },
  });
  return {
    saved: (tookMs) => {
      outcomes.inc({ outcome: 'saved' });
      seconds.observe(tookMs / 1000);
      sinceMs = clock.monotonicMs();
    },
    failed: () => outcomes.inc({ outcome: 'failed' }),
  };
}
